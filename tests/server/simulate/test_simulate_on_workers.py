"""Simulations whose respondents, or repetitions, the workers of a Dask scheduler have: the same numbers."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from dither_client import Admin, Analyst
from dither_client.commands import run
from dither_server.simulate import over_http
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.outcome import Outcome, Tally
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.servers.process import RunningServer, forked

pytestmark = pytest.mark.slow

TOKEN = "the-admin-token"
SPEC = {"name": "Test", "family": "normal", "epsilon": "1", "range": [-5, 5], "policy": "fixed:-1:1", "levels": 8}
BEHAVIOURS = Behaviours(drop_out=0.1, retry=0.2, late=0.2, poison=0.1)
SIZE = 450


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('server') / 'dither.sqlite'}") as [server]:
        yield server


def simulate(server: RunningServer, seed: int, scheduler: str | None) -> tuple[Outcome, list[Any]]:
    """What came of it, and the counts of the answers."""
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(SPEC)["id"])
    values = np.random.default_rng(3).normal(size=SIZE)
    roles = draw_roles(np.random.default_rng(4), BEHAVIOURS, SIZE)
    people = Respondents(values, roles, seed)
    outcome = simulate_over_http(server.url, TOKEN, collection, people, 4, scheduler=scheduler)
    with Analyst(server.url, TOKEN) as analyst:
        return outcome, [query.counts for query in analyst.queries(collection)]


def test_respondents_on_workers_give_the_same_answers(
    server: RunningServer, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is decided by the seed, the value and the question, wherever its respondent is."""
    monkeypatch.setattr(over_http, "_PART", 100)
    alone, counts = simulate(server, 5, None)
    spread, on_workers = simulate(server, 5, cluster.scheduler_address)
    with Client(cluster) as client:
        took_part = client.run(lambda: "dither_server.simulate.crowd" in sys.modules)
    assert list(took_part.values()) == [True, True]
    assert counts == on_workers
    assert counts != simulate(server, 6, None)[1]
    assert spread.sound
    assert spread.load is not None
    assert alone.load is not None
    for name in ("requests", "late", "poisoned", "retried", "mismatches", "failures"):
        assert getattr(spread.load, name) == getattr(alone.load, name), name
    assert (spread.answers, spread.dropped_out) == (alone.answers, alone.dropped_out)
    assert spread.answers + spread.dropped_out == SIZE
    assert spread.load.ticket_seconds["median"] > 0


def test_the_command_hands_its_respondents_to_workers(
    server: RunningServer, cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--truth", "mu=50,sigma=10", "--respondents", "60", "--epsilon", "1", "--seed", "2", "--json"]
    reached = ["--url", server.url, "--token", TOKEN, "--scheduler", cluster.scheduler_address]
    assert run(["simulate", *options, *reached]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == 60
    assert run(["simulate", *options, "--in-process", *reached[-2:]]) == 2
    assert "--in-process cannot go with --scheduler" in capsys.readouterr().err


def test_repetitions_on_workers_find_the_same(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spec.json").write_text('{"range": [0, 100], "particles": 100}')
    options = ["--truth", "mu=50,sigma=10", "--respondents", "60", "--repeats", "3", "--seed", "3"]
    command = ["compare", *options, "--spec", str(tmp_path / "spec.json"), "--json"]
    found = []
    for where in ([], ["--scheduler", cluster.scheduler_address]):
        assert run([*command, *where]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


def test_tallies_add_up() -> None:
    total = Tally(answered=2, requests=5, waits=[0.5])
    total.failures["full"] = 1
    other = Tally(answered=1, dropped_out=1, waits=[0.25])
    other.failures.update({"full": 2, "unreachable": 1})
    total.add(other)
    assert (total.answered, total.dropped_out, total.requests, total.done) == (3, 1, 5, 8)
    assert total.load("abc").failures == {"full": 3, "unreachable": 1}
    assert total.load("abc").ticket_seconds["longest"] == 0.5
