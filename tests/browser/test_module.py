"""The browser's client against the Python client's vectors, and its noise against the exact channel."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from make_vectors import FOLDER
from playwright.sync_api import Browser, Page, Route

from dither_client import Query, parse_query
from dither_client.client import _SETTLE
from dither_client.protocol.respondent import SETTLE_CELLS
from testing.browser.site import WebSite
from tests.client.mechanisms.test_sampling import p_value

FAMILY = 1e-6
"""The chance that a correct sampler is rejected anywhere here."""
DRAWS = 4_000
QUERIES = [
    {"mechanism": "laplace", "low": 0.0, "high": 1.0, "levels": 1, "epsilon": 1},
    {"mechanism": "laplace", "low": 0.0, "high": 1.0, "levels": 6, "epsilon": 2},
    {"mechanism": "randomized_response", "cuts": [0.0, 1.0, 2.0, 3.0], "epsilon": 0.75},
    {"mechanism": "staircase", "cuts": [0.0, 1.0], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 1},
    {"mechanism": "gaussian", "low": 0.0, "high": 1.0, "levels": 4, "rho": 0.25, "epsilon": 0.75},
]
ROWS = [(text, cell) for text in QUERIES for cell in (0, 1)]
LEVEL = FAMILY / len(ROWS)

DRAW = """
async ([text, cell, draws, source]) => {
  const { decodeJson, parseQuery, systemRandbelow, uniform } = await import("/web/dither.js");
  const biased = (n) => {  // without rejection: what is left of a byte when it is divided
    const byte = crypto.getRandomValues(new Uint8Array(1))[0];
    return n <= 256n ? BigInt(byte) % n : uniform((bytes) => crypto.getRandomValues(bytes))(n);
  };
  const query = parseQuery(decodeJson(text));
  const sources = { system: systemRandbelow, biased };
  return Array.from({ length: draws }, () => query.sample(cell, sources[source]));
}
"""

UNIFORM = """
async () => {
  const { uniform } = await import("/web/dither.js");
  const counts = (n, size) => {
    // Every string of bytes is offered once, first of all; what is refused asks again, and is told 0.
    const found = {};
    for (let string = 0; string < 256 ** size; string += 1) {
      let asked = 0;
      const drawn = uniform((bytes) => {
        for (let i = 0; i < size; i += 1) bytes[i] = asked ? 0 : (string >> (8 * (size - 1 - i))) & 255;
        asked += 1;
      })(BigInt(n));
      const key = asked === 1 ? String(drawn) : "refused";
      found[key] = (found[key] ?? 0) + 1;
    }
    return found;
  };
  return { 1: counts(1, 1), 5: counts(5, 1), 256: counts(256, 2), 300: counts(300, 2) };
}
"""


@pytest.fixture(scope="module")
def module(browser: Browser, site: WebSite) -> Iterator[Page]:
    """A page whose policy lets the module in."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.page(site.create()))
    yield page
    context.close()


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for file in sorted(FOLDER.glob("*.json")):
        merged |= json.loads(file.read_text(encoding="utf-8"))
    return merged


@pytest.fixture(scope="module")
def failures(module: Page) -> Callable[[dict[str, Any]], list[str]]:
    script = Path(__file__).parent / "check_vectors.js"
    module.route("**/tests/check_vectors.js", lambda route: route.fulfill(path=script, content_type="text/javascript"))
    check = "async (vectors) => (await import('/tests/check_vectors.js')).check(vectors)"
    return lambda vectors: module.evaluate(check, vectors)


def test_the_browser_does_what_the_python_client_does(
    failures: Callable[[dict[str, Any]], list[str]], vectors: dict[str, Any]
) -> None:
    assert failures(vectors) == []


def test_a_client_that_differs_fails_every_list(
    failures: Callable[[dict[str, Any]], list[str]], vectors: dict[str, Any]
) -> None:
    """The last case of each list is made wrong; each must be noticed."""
    broken = json.loads(json.dumps(vectors))
    broken["cells"][-1]["cells"][0] += 1
    broken["channels"][-1]["channel"][0][0] *= 1 + 1e-9
    broken["samples"][-1]["answer"] += 1
    broken["tickets"][-1]["error"] = "InvalidQuery"
    broken["addresses"][0]["server"] += "x"
    broken["prices"][0]["error"] = "OverCap"
    broken["raised"][-1]["reason"] = "other"
    broken["values"][-1]["reason"] = None
    broken["typed"][0]["value"] += 1
    broken["written"][-1]["text"] += "1"
    broken["epsilons"][0]["micro"] += 1
    broken["texts"][-1]["read"] = False
    broken["uniform"][-1]["drawn"][-1] += "1"
    broken["answers"][-1]["answer"] += 1
    broken["terms"][-1]["micro"] = 1
    broken["receipts"][0]["receipt"] = "other"
    broken["problems"][-1]["name"] = "other"
    next(flow for flow in reversed(broken["flows"]) if flow["ledger"])["ledger"]["state"] = "drawn"
    broken["gaussian"][-1]["epsilon"] += "1"
    broken["ledgers"] = [{**ledger, "max_epsilon": "0.05"} for ledger in broken["ledgers"][-1:]]
    found = failures(broken)
    starts = {
        *(
            "cells",
            "channel",
            "sample",
            "refusal",
            "price",
            "address",
            "raised",
            "value",
            "typed",
            "written",
            "epsilon",
            "reading",
            "gaussian",
            "charge",
        ),
        *("address", "uniform", "drawn", "terms", "receipt", "problem", "flow"),
    }
    assert {start for start in starts if any(line.startswith(start) for line in found)} == starts


@pytest.mark.parametrize(("text", "cell"), ROWS)
def test_noise_has_the_law_of_the_channel(module: Page, text: dict[str, Any], cell: int) -> None:
    assert row_p_value(module, text, cell, "system") > LEVEL


def test_a_biased_source_is_noticed(module: Page) -> None:
    """The same test, with as many draws, of bytes reduced without rejection: 85 of 171 cells come twice as often."""
    cuts = [float(cut) for cut in range(170)]
    many = {"mechanism": "randomized_response", "cuts": cuts, "epsilon": 0.000001}
    assert row_p_value(module, many, 0, "biased") < LEVEL
    assert row_p_value(module, many, 0, "system") > LEVEL


def test_uniform_integers_are_exactly_uniform(module: Page) -> None:
    """Over every string of bytes, each integer below n comes equally often; the rest is refused."""
    found = module.evaluate(UNIFORM)
    assert found["1"] == {"0": 128, "refused": 128}
    assert found["5"] == {**{str(k): 32 for k in range(5)}, "refused": 96}
    assert found["256"] == {**{str(k): 128 for k in range(256)}, "refused": 32_768}
    assert found["300"] == {**{str(k): 128 for k in range(300)}, "refused": 65_536 - 128 * 300}


def row_p_value(module: Page, text: dict[str, Any], cell: int, source: str) -> float:
    query: Query = parse_query(text)
    answers = module.evaluate(DRAW, [json.dumps(text), cell, DRAWS, source])
    return p_value(query.channel()[cell], answers)


def test_the_types_declare_what_the_module_exports(module: Page) -> None:
    types = (FOLDER.parent / "dither_client" / "web" / "dither.d.ts").read_text(encoding="utf-8")
    declared = re.findall(r"^export (?:class|function|const) (\w+)", types, flags=re.MULTILINE)
    assert sorted(declared) == module.evaluate("async () => Object.keys(await import('/web/dither.js')).sort()")


WAITS = """
async (query) => {
  const { Client, decodeJson, parseQuery } = await import("/web/dither.js");
  const charged = { server: location.origin, collection: "c", state: "charged", query: parseQuery(decodeJson(query)) };
  const drawn = new Error("drawn");
  const ledger = { find: async () => charged, price: async () => null, draw: async () => { throw drawn; } };
  const waits = [];
  const [ownTimeout, ownNow] = [window.setTimeout, performance.now];
  window.setTimeout = (resume, milliseconds) => { waits.push(milliseconds); resume(); };
  performance.now = () => 0;
  try {
    await new Client(location.origin, { ledger }).answer("c", 0.5);
  } catch (error) {
    if (error !== drawn) throw error;
  } finally {
    window.setTimeout = ownTimeout;
    performance.now = ownNow;
  }
  return waits;
}
"""


@pytest.mark.parametrize("cells", [2, 8, 9, 64, 1024])
def test_an_answer_waits_as_long_as_the_python_clients(module: Page, cells: int) -> None:
    """One wait before the answer is stored, of a length that depends on the number of cells alone."""
    query = {"mechanism": "randomized_response", "cuts": list(range(cells - 1)), "epsilon": 1}
    assert module.evaluate(WAITS, json.dumps(query)) == [pytest.approx(1000 * _SETTLE * max(1, cells / SETTLE_CELLS))]


UPGRADE = """
async (version) => {
  const { Ledger } = await import("/web/dither.js");
  const name = `of version ${version}`;
  const query = '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 1, "epsilon": 1, "transform": "identity"}';
  const old = { server: "https://a.example", micro_epsilon: 1000000, micro_rho: null, ticket: "t", query };
  await new Promise((resolve) => {
    const opening = indexedDB.open(name, version);
    opening.onupgradeneeded = () => {
      const entries = opening.result.createObjectStore("entries", { keyPath: "id", autoIncrement: true });
      entries.createIndex("one_entry_for_a_collection", ["server", "collection"], { unique: true });
      opening.result.createObjectStore("retry_keys", { keyPath: ["server", "collection"] });
      if (version > 1) opening.result.createObjectStore("prices", { keyPath: ["server", "collection"] });
      entries.add({ ...old, collection: "charged", state: "charged", answer: null, receipt: null });
      const key = version > 2 ? { retry_key: "k".repeat(32) } : {};
      entries.add({ ...old, ...key, collection: "drawn", state: "drawn", answer: 1, receipt: null });
      entries.add({ ...old, collection: "sent", state: "sent", answer: 0, receipt: "r" });
    };
    opening.onsuccess = () => resolve(opening.result.close());
  });
  const found = [];
  for (let turn = 0; turn < 2; turn += 1) {
    const ledger = new Ledger({ name });
    for (const collection of ["charged", "drawn", "sent"]) {
      found.push(await ledger.find(old.server, collection));
    }
    await ledger.close();
  }
  const ledger = new Ledger({ name });
  found.push(await ledger.draw(old.server, "charged", 1), await ledger.draw(old.server, "charged", 0));
  await ledger.join(old.server, "charged", [3, 7], 1000000);
  found.push(await ledger.turns(old.server, "charged"));
  found.push(await ledger.price(old.server, "charged"), await ledger.spent());
  await ledger.close();
  return found;
}
"""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_ledger_of_an_earlier_version_is_upgraded(module: Page, version: int) -> None:
    *entries, turns, price, spent = module.evaluate(UPGRADE, version)
    charged, drawn, sent = entries[:3]
    assert entries[3:6] == [charged, drawn, sent]
    assert [entry["state"] for entry in entries[:3]] == ["charged", "drawn", "sent"]
    assert (charged["retryKey"], sent["retryKey"], sent["receipt"]) == (None, None, "r")
    assert re.fullmatch(r"[\w-]{32}", drawn["retryKey"])  # what waits to be sent has one now
    assert entries[6] == entries[7]
    assert entries[6]["answer"] == 1
    assert re.fullmatch(r"[\w-]{32}", entries[6]["retryKey"])
    assert entries[6]["retryKey"] != drawn["retryKey"]
    assert (turns, price, spent) == ([3, 7], None, "5")


def test_a_redirect_is_a_refusal(module: Page) -> None:
    """It once was a failed connection, tried six times over 15 seconds."""
    asked: list[str] = []

    def redirect(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=302, headers={"location": "/elsewhere"})

    module.route("**/v1/collections/moved", redirect)
    found = module.evaluate("""async () => {
      const { Client } = await import("/web/dither.js");
      return new Client(location.origin).terms("moved").catch((error) => [error.name, error.status]);
    }""")
    assert found == ["Problem", 300]
    assert len(asked) == 1
