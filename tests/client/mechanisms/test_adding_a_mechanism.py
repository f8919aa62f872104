"""The example of docs/adding-a-mechanism.md: private, drawn as its channel says, learnt from, and asked by a server.

It is added as the page says to a copy of the client and the estimator; the server is as it is.
"""

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import httpx2
import pytest
from scipy.stats import chisquare

from dither_client import InvalidQuery, Query, parse_query
from dither_client.mechanisms import registry
from dither_client.mechanisms.sampling import RandBelow
from testing.reader import Shell, blocks, reading
from testing.repository import ROOT
from testing.servers.defaults import ADMIN_TOKEN

MODULE, TRIAL, DESIGN = blocks("docs/adding-a-mechanism.md", "python")
ENTRIES = dict(
    zip(
        ["client/dither_client/mechanisms/ordinary.py", "estimator/dither_estimator/design/registry.py"],
        blocks("docs/adding-a-mechanism.md", "diff"),
        strict=True,
    )
)
MODULES = {
    "client/dither_client/mechanisms/silence.py": MODULE,
    "estimator/dither_estimator/design/silence.py": DESIGN,
}

ROUND_TRIP = """
from dither_client.mechanisms.silence import Silence
from dither_client.tables.counts import counts_rows, read_table, write_table

counts = {Silence(0.25, "0.5"): [3, 4, 5], Silence(-1, 1, "log"): [0, 1, 2]}
for name in ("counts.csv", "counts.parquet"):
    rows = counts_rows(counts)
    write_table(name, rows, tuple(rows[0]))
    assert read_table(name).queries == counts
"""


def patched(text: str, diff: str) -> str:
    """The text with a diff applied whose places are found by what is there."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(old) == 1
        text = text.replace(old, "".join(line[1:] for line in lines if line[0] in " +"))
    return text


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """Whoever has added the mechanism, beside a server that was started then."""
    for package in ("client/dither_client", "estimator/dither_estimator"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, module in MODULES.items():
        (tmp_path / name).write_text(module, encoding="utf-8")
    for name, diff in ENTRIES.items():
        file = tmp_path / name
        file.write_text(patched(file.read_text(encoding="utf-8"), diff), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'client'}:{tmp_path / 'estimator'}")
    with reading(tmp_path, started_anew=True) as shell:
        yield shell


@pytest.fixture
def silence() -> Iterator[Any]:
    """The class, in the client's table."""
    defined: dict[str, Any] = {"__name__": "silence"}
    exec(compile(MODULE, "silence.py", "exec"), defined)
    [name] = defined["__all__"]
    kind = defined[name]
    known = registry.QUERY_TYPES
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(registry, "QUERY_TYPES", MappingProxyType({**known, kind.mechanism: kind}))
        yield kind


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_it_is_as_private_as_it_says(silence: Any, epsilon: str) -> None:
    channel = silence(0.0, Fraction(epsilon)).channel()
    for row in channel:
        assert math.fsum(row) == pytest.approx(1, rel=1e-12)
    ratios = [max(column) / min(column) for column in zip(*channel, strict=True)]
    assert max(ratios) == pytest.approx(math.exp(float(epsilon)), rel=1e-12)


def p_value(query: Query, sample: Any, cell: int) -> float:
    rng = Random(5)
    seen = Counter(sample(query, cell, rng.randrange) for _ in range(40_000))
    expected = [40_000 * chance for chance in query.channel()[cell]]
    return float(chisquare([seen[answer] for answer in range(query.n_answers)], expected).pvalue)


@pytest.mark.parametrize("cell", [0, 1])
def test_it_draws_what_its_channel_says(silence: Any, cell: int) -> None:
    """Seeded; of other seeds one in a million would fail. A sampler that is silent a third of the time does."""

    def too_loud(query: Any, cell: int, randbelow: RandBelow) -> int:
        return 2 if randbelow(3) == 0 else query.sample(cell, lambda n: 0 if n == 2 else randbelow(n))

    query = silence(0.0, 1)
    assert p_value(query, silence.sample, cell) > 1e-6
    assert p_value(query, too_loud, cell) < 1e-6


def test_it_goes_over_the_wire(silence: Any) -> None:
    query = silence(6.25, Fraction("0.5"), "log")
    assert parse_query(query.to_json()) == query
    assert silence.unpack(query.pack(), query.n_answers, query.epsilon, query.transform) == query
    with pytest.raises(InvalidQuery, match="exactly the fields cut, epsilon, transform"):
        parse_query({"mechanism": "silence", "epsilon": 1})


def got(shell: Shell) -> Callable[[str], Any]:
    """The JSON of the server at a path, as the admin sees it."""

    def get(path: str) -> Any:
        reply = httpx2.get(f"{shell.url}{path}", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
        assert reply.status_code == 200, reply.text
        return reply.json()

    return get


def test_a_server_asks_it_and_everything_knows_it(reader: Shell) -> None:
    """Statistics at five standard deviations: one run in a million fails. Its answers are drawn without a seed.

    While it is still sought where the people are, as after 200 answers, the posterior is far from normal.
    """
    mean, sd = map(float, reader.run_python(TRIAL).split(" ± "))
    assert abs(mean - 50) < 5 * sd + 0.1
    assert 0.2 < sd < 3
    reader.run_python(ROUND_TRIP)

    [commands] = blocks("docs/adding-a-mechanism.md", "bash")
    design, simulate = commands.strip().splitlines()
    assert "no mixture of silence queries is better" in reader.run(design)
    outcome = json.loads(reader.run(simulate))
    assert outcome["answers"] == 1_500

    get = got(reader)
    [terms] = get("/v1/collections")["collections"]
    assert terms["mechanism"] == "silence"
    posterior = get(f"/v1/collections/{terms['id']}/posterior")
    mu = posterior["posterior"]["mu"]
    assert posterior["answers"] == 1_500
    assert abs(mu["mean"] - 50) < 5 * mu["sd"]
    asked = get(f"/v1/collections/{terms['id']}/queries")["queries"]
    assert {item["query"]["mechanism"] for item in asked} == {"silence"}
    assert get("/openapi.json")["components"]["schemas"]["SilenceQuery"]["properties"]["cut"]["type"] == "number"


def test_a_part_that_is_forgotten_is_missed(reader: Shell) -> None:
    """Without its entry in the estimator's table nobody can make a collection that asks it."""
    file = reader.folder / "estimator/dither_estimator/design/registry.py"
    file.write_text((ROOT / "estimator/dither_estimator/design/registry.py").read_text(encoding="utf-8"))
    with pytest.raises(AssertionError, match="'silence' is not one of"):
        reader.run("dither design --epsilon 1 --mechanism silence")
