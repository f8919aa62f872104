"""The browser answers no question that costs more than the terms say, or that is malformed."""

import json

import pytest
from playwright.sync_api import Route, expect

from testing.browser.answering import (
    LAPLACE,
    STORED,
    agree_and_send,
    sent_to,
    visit,
)
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

ANSWER = """
async ([collection, first]) => {
  const { Client, Ledger } = await import("/web/dither.js");
  const ledger = new Ledger({ name: `price ${first}`, maxEpsilon: 50 });
  const client = new Client(location.origin, { ledger });
  try {
    if (first) await client.terms(collection);
    await client.answer(collection, 540);
    return "answered";
  } catch (error) {
    return [error.name, error.message, (await ledger.entries()).length];
  }
}
"""


@pytest.mark.parametrize("first", [False, True])
def test_the_terms_are_the_price(open_page: OpenPage, site: WebSite, first: bool) -> None:
    """The server says 0.1 and asks 1,000 cuts at ε = 10; the module is told nothing else."""
    collection = site.create(mechanism="randomized_response", epsilon=0.1)
    page = open_page()
    responses = sent_to(page, "/responses")
    query = {"mechanism": "randomized_response", "cuts": list(range(1000)), "epsilon": 10, "transform": "identity"}
    ticket = {"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": query}
    page.route("**/tickets", lambda route: route.fulfill(status=201, json=ticket))
    page.goto(site.page(collection))
    says = "this question costs ε = 10, more than the ε = 0.1 that the collection's terms say"
    assert page.evaluate(ANSWER, [collection, first]) == ["OverCap", says, 0]
    assert responses == []


@pytest.mark.parametrize("first", [False, True])
def test_a_price_that_rises_is_refused(open_page: OpenPage, site: WebSite, first: bool) -> None:
    """What was told first is kept; without that, the terms that rose are the first ones."""
    collection = site.create(epsilon=0.1)
    page = open_page()
    page.goto(site.page(collection))
    asked = []

    def raise_it(route: Route) -> None:
        terms = route.fetch().json()
        asked.append(route.request.url)
        route.fulfill(json={**terms, "epsilon": 0.1 if first and len(asked) == 1 else 10})

    page.route(f"**/v1/collections/{collection}", raise_it)
    outcomes = page.evaluate(TWICE, collection)
    raised = ["BadResponse", "the server has raised the price of this collection, which never changes: its terms said "]
    assert outcomes == (["0.1", raised] if first else ["10", "10"])


TWICE = """
async (collection) => {
  const { Client, Ledger, epsilonText } = await import("/web/dither.js");
  const outcomes = [];
  for (const _ of [1, 2]) {
    try {
      const client = new Client(location.origin, { ledger: new Ledger({ name: "twice" }) });
      outcomes.push(epsilonText((await client.terms(collection)).microEpsilon));
    } catch (error) {
      outcomes.push([error.name, error.message.split("ε")[0]]);
    }
  }
  return outcomes;
}
"""


MALICIOUS = [
    (json.dumps(LAPLACE | {"low": "@"}).replace('"@"', "NaN"), "not strict JSON"),
    (json.dumps(LAPLACE | {"low": 501, "high": 499}), "low must be below high"),
    (json.dumps(LAPLACE | {"epsilon": 1.5}), "more than the ε = 1 that the collection's terms say"),
    (json.dumps(LAPLACE | {"epsilon": 60}), "epsilon must be at most 50"),
    (
        '{"mechanism": "randomized_response", "cuts": [2, 1], "epsilon": 1, "transform": "identity"}',
        "cuts must increase strictly",
    ),
    (
        '{"mechanism": "staircase", "cuts": [0, 1], "sets": [[0], [1]], "weights": [1, 1], "epsilon": 1}',
        "must have the same sum for every cell",
    ),
    (
        '{"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 0.25, "epsilon": 0.5}',
        "epsilon must be at least 0.692573",
    ),
]


@pytest.mark.console_errors("status of 403 .*/responses")
def test_malicious_questions_are_refused_with_the_reason(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    asked: list[str] = []
    responses = sent_to(page, "/responses")

    def ask(route: Route) -> None:
        body = f'{{"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": {asked[-1]}}}'
        route.fulfill(status=201, content_type="application/json", body=body)

    page.route("**/tickets", ask)
    visit(page, site, site.create())
    for question, reason in MALICIOUS:
        asked.append(question)
        agree_and_send(page)
        expect(page.get_by_role("alert")).to_contain_text(reason)
        expect(page.locator("#working")).to_be_empty()
    assert responses == []
    assert page.evaluate(STORED) == []
    asked.append(json.dumps(LAPLACE))  # a proper question passes: the refusals were of what was asked
    agree_and_send(page)
    expect(page.locator("#working")).to_be_empty()
    assert len(responses) == 1
