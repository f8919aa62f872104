"""Staircase questions through the whole service: a real server over HTTP, simulations, the count table and back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_client import Admin, Analyst, Client, MemoryLedger, Query, RandomizedResponse, Staircase, parse_query
from dither_client.commands import run
from dither_client.errors import Problem
from dither_client.tables.counts import read_table
from dither_client.transport.json_api import Api
from dither_estimator.families import FloatArray
from dither_server.simulate.behaviours import Behaviours, draw_roles, poisoned_answer
from dither_server.simulate.best_fit import answer_law
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.servers.defaults import ADMIN_TOKEN as TOKEN
from testing.servers.process import ForkedServer, forked

SPEC = {"name": "Test", "family": "normal", "epsilon": "0.5", "mechanism": "staircase", "policy": "thompson"} | {
    "range": [-5, 5],
    "particles": 200,
}
SIDES = Staircase([-1, 0, 1], [[0, 1], [0, 3], [1, 2], [2, 3]], [3, 2, 2, 3], 1)
OUTSIDE = Staircase([-1, 1], [[0, 2], [1]], [1, 1], 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('server') / 'test.sqlite'}") as [process]:
        yield process


def create(server: ForkedServer, **fields: Any) -> str:
    with Admin(server.url, TOKEN) as admin:
        return str(admin.create_collection(SPEC | fields)["id"])


def test_an_answer_over_http(server: ForkedServer) -> None:
    """The client charges ε, draws an answer to the question of its ticket, and the server counts it."""
    collection = create(server)
    ledger = MemoryLedger()
    with Client(server.url, ledger) as client:
        assert (
            client.terms(collection).advice
            == "randomized_response would need 3% more respondents for the same precision"
        )
        receipt = client.answer(collection, 0.3)
    query = receipt.query
    assert isinstance(query, Staircase)
    assert 0 <= receipt.answer < query.n_answers == 7
    assert query.n_cells == 6
    assert float(ledger.spent()) == 0.5
    with Analyst(server.url, TOKEN) as analyst:
        [answered] = analyst.queries(collection)
    assert answered.query == query
    assert list(answered.counts or ()) == [int(answer == receipt.answer) for answer in range(7)]


def test_an_answer_that_the_question_has_not_is_refused(server: ForkedServer) -> None:
    collection = create(server)
    with Api(server.url, None) as api:
        ticket = api.post(f"/v1/collections/{collection}/tickets", b"{}")
        assert isinstance(parse_query(ticket["query"]), Staircase)
        body = json.dumps({"ticket": ticket["ticket"], "answer": 7}).encode()
        with pytest.raises(Problem, match="must be from 0 to 6"):
            api.post(f"/v1/collections/{collection}/responses", body)


@pytest.mark.parametrize("policy", ["thompson", "adaptive"])
def test_a_simulation_and_its_count_table(
    server: ForkedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """Export and estimate give the server's posterior again, within Monte Carlo error (seeded)."""
    collection = create(server, policy=policy, epsilon=2)
    values = np.random.default_rng(3).normal(size=600)
    roles = draw_roles(np.random.default_rng(4), Behaviours(), len(values))
    outcome = simulate_over_http(server.url, TOKEN, collection, Respondents(values, roles, 1), 16)
    assert outcome.sound
    assert outcome.answers == 600
    counts, spec = tmp_path / "counts.parquet", tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC | {"policy": policy, "epsilon": 2, "particles": 2_000}))
    served = ["--url", server.url, "--token", TOKEN]
    assert run(["export", collection, *served, "--counts", str(counts)]) == 0
    table = read_table(counts).queries
    assert sum(map(sum, table.values())) == 600
    assert Staircase in {type(query) for query in table}
    capsys.readouterr()
    assert run(["estimate", "--spec", str(spec), "--counts", str(counts), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name, summary in outcome.posterior.posterior.items():
        assert found["posterior"][name]["mean"] == pytest.approx(summary.mean, abs=0.5 * summary.sd)


def test_a_simulation_within_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--truth", "mu=5,sigma=2", "--respondents", "1500", "--epsilon", "2", "--seed", "1", "--json"]
    assert run(["simulate", "--in-process", "--mechanism", "staircase", "--particles", "300", *options]) == 0
    found = json.loads(capsys.readouterr().out)["posterior"]
    for name, truth in (("mu", 5), ("sigma", 2)):
        assert abs(found[name]["mean"] - truth) < 5 * found[name]["sd"]


def test_high_answers_are_those_with_high_cells() -> None:
    certain = Behaviours(drop_out=1.0, drop_out_by="answer")
    roles = draw_roles(np.random.default_rng(0), certain, 1)
    assert [roles.drops_out(0, SIDES, 0, answer) for answer in range(4)] == [False, False, False, True]
    assert [roles.drops_out(0, OUTSIDE, 0, answer) for answer in range(2)] == [False, False]
    assert (poisoned_answer(SIDES), poisoned_answer(OUTSIDE)) == (3, 1)
    late = Staircase([0, 1], [[0, 1], [0, 2], [1], [2]], [1, 1, 1, 1], 1)
    assert poisoned_answer(late) == 3


def test_high_cells_are_the_upper_half() -> None:
    certain = Behaviours(drop_out=1.0, drop_out_by="value")
    roles = draw_roles(np.random.default_rng(0), certain, 1)
    assert [roles.drops_out(0, SIDES, cell, 0) for cell in range(4)] == [False, False, True, True]
    assert [roles.drops_out(0, OUTSIDE, cell, 1) for cell in range(3)] == [False, False, True]


@pytest.mark.parametrize("query", [SIDES, OUTSIDE, RandomizedResponse([-1, 1], 1)])
def test_the_law_of_an_answer(query: Query) -> None:
    """Cell by cell from the channel; with fewer answers than cells, as many, and one cell of each value."""
    values: FloatArray = np.array([-3.0, -1.0, 0.5, 2.0, 7.0])
    rows = [query.channel()[query.cell(value)] for value in values.tolist()]
    assert answer_law(query, values) == pytest.approx(np.mean(rows, axis=0))
