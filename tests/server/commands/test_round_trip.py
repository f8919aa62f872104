"""From a server to a file and back: what `dither export` writes gives `dither estimate` the same posterior."""

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dither_client import Laplace, RandomizedResponse, parse_query
from dither_client.commands import run
from dither_client.tables.counts import counts_rows, read_table, write_table
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, ADMIN_TOKEN
from testing.servers.served import serving

ROUNDS, PEOPLE = 3, 100
"""The tickets are asked for in rounds, for questions that follow from what was learnt."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('server') / 'dither.sqlite'}") as (url, _):
        yield url


@pytest.mark.parametrize(("mechanism", "kind"), [("laplace", Laplace), ("randomized_response", RandomizedResponse)])
def test_the_table_of_a_collection_gives_its_posterior(
    mechanism: str, kind: type, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In both formats; and a table whose answers are the other way round does not.

    4,000 particles on both sides: means within 0.15 sd and sds within 12%, more than 5 Monte Carlo standard errors.
    """
    spec = {"name": "Wages", "family": "normal", "epsilon": 1, "range": [0, 100], "particles": 4_000}
    spec |= {"mechanism": mechanism} if mechanism != "laplace" else {}  # which is the default
    collection, server = _asked_and_learnt(url, spec)
    (tmp_path / "spec.json").write_text(json.dumps(spec))

    def estimated(table: Path) -> Any:
        capsys.readouterr()
        assert run(["estimate", "--spec", str(tmp_path / "spec.json"), "--counts", str(table), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    tables = [tmp_path / f"counts.{ending}" for ending in ("csv", "parquet")]
    for table in tables:
        assert run(["export", collection, "--counts", str(table), "--url", url, "--token", ADMIN_TOKEN]) == 0
        assert {type(query) for query in read_table(table).queries} == {kind}
        found = estimated(table)
        assert (found["answers"], found["queries"]) == (ROUNDS * PEOPLE, server["queries"])
        assert _same(found, server)
    first, second = (read_table(table).queries for table in tables)
    assert first == second
    write_table(tables[0], counts_rows({query: row[::-1] for query, row in first.items()}))
    assert not _same(estimated(tables[0]), server)


def test_the_distribution_of_values_from_0_on_is_exported_from_0_on(url: str, tmp_path: Path) -> None:
    """Its first row has the share of those who have exactly 0."""
    spec = {"name": "Wages", "epsilon": 1, "minimum": 0, "atoms": [0], "particles": 100}
    collection, server = _asked_and_learnt(url, spec)
    file = tmp_path / "curve.csv"
    assert run(["export", collection, "--distribution", str(file), "--url", url, "--token", ADMIN_TOKEN]) == 0
    found = server["distribution"]
    assert found["x"][:2] == [-5e-324, 0.0]
    with file.open(newline="") as rows:
        points = list(csv.DictReader(rows))
    assert float(points[0]["x"]) == 0
    assert float(points[0]["cdf_mean"]) == found["cdf"]["mean"][1] > 0
    assert float(points[0]["cdf_mean"]) == pytest.approx(server["atoms"]["0"]["mean"], rel=1e-6)
    assert len(points) == len(found["x"]) - 1


def _asked_and_learnt(url: str, spec: dict[str, Any]) -> tuple[str, Any]:
    """A collection that people with values N(60, 8²) have answered, and its posterior once all is learnt. Seeded."""
    generator = random.Random(spec.get("mechanism"))
    with httpx2.Client(base_url=url, headers=ADMIN, timeout=PATIENCE) as admin:
        collection = str(admin.post("/v1/collections", json=spec).json()["id"])
        path = f"/v1/collections/{collection}"
        for turn in range(ROUNDS):
            tickets = admin.post(f"{path}/tickets", json={"count": PEOPLE}).json()["tickets"]
            responses = [
                {
                    "ticket": one["ticket"],
                    "answer": parse_query(one["query"]).answer(generator.gauss(60, 8), generator.randrange),
                }
                for one in tickets
            ]
            admin.post(f"{path}/responses/batch", json={"responses": responses}).raise_for_status()
            learnt = (turn + 1) * PEOPLE
            until(lambda learnt=learnt: admin.get(f"{path}/posterior").json()["answers"] >= learnt)  # type: ignore[misc]
        posterior = admin.get(f"{path}/posterior").json()
    return collection, posterior


def _same(found: Any, server: Any) -> bool:
    """Whether all means and sds agree but for Monte Carlo errors."""
    pairs = [(found["posterior"][name], summary) for name, summary in server["posterior"].items()]
    return all(
        abs(ours["mean"] - theirs["mean"]) < 0.15 * theirs["sd"] and abs(ours["sd"] / theirs["sd"] - 1) < 0.12
        for ours, theirs in pairs
    )
