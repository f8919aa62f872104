"""`dither simulate` with several numbers a person: in this process, over HTTP, with a server that is killed."""

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_client import Admin, Analyst, ComponentQuery, Laplace
from dither_client.commands import run
from dither_client.tables.counts import counts_rows, write_table
from dither_client.transport.json_api import Api
from dither_estimator.specification.specification import Specification
from dither_server.database.engine import make_engine
from dither_server.simulate import over_http
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.by_component import draw_people_of_components
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.population import InvalidPopulation
from dither_server.simulate.respondents import Respondents
from testing.databases import check_counts
from testing.patience import PATIENT, until
from testing.servers.process import forked

TOKEN = "the-admin-token"
SPEC: dict[str, Any] = {
    "epsilon": "5", "particles": 300,
    "components": [
        {"name": "wage", "family": "normal", "transform": "log", "range": [150, 2000]},
        {"name": "age", "family": "normal", "range": [15, 90]},
    ],
}  # fmt: skip
TRUTH = "mu=6,sigma=.5; mu=45,sigma=10"
SIZE = 60


@pytest.fixture
def spec(tmp_path: Path) -> str:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(SPEC))
    return str(file)


def check(found: dict[str, Any], answers: int) -> None:
    """Within five posterior sds: five numbers, so three false alarms in a million, had the seeds not been fixed."""
    assert found["answers"] == answers
    truth = found["truth"]
    for name in ("wage", "age"):
        for parameter, value in truth[name].items():
            summary = found["components"][name]["posterior"][parameter]
            assert abs(summary["mean"] - value) < 5 * summary["sd"]
    correlation = found["correlations"]["wage,age"]
    assert abs(correlation["mean"] - truth["correlation"]) < 5 * correlation["sd"] < 0.5


def test_a_correlated_population_in_this_process(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    people = ["--truth", TRUTH, "--correlation", "0.7", "--respondents", "1500", "--seed", "3", "--in-process"]
    assert run(["simulate", "--spec", spec, *people, "--json"]) == 0
    check(json.loads(capsys.readouterr().out), 1500)
    assert run(["simulate", "--spec", spec, *people]) == 0
    shown = capsys.readouterr().out
    assert "correlation of wage and age: 0." in shown
    assert "posterior mean" not in shown  # the head of a table without rows


def test_a_correlated_population_over_http(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the server says, and what is computed from its count table and from its archive's, agree."""
    counts = str(tmp_path / "counts.csv")
    with forked(f"sqlite:///{tmp_path / 'dither.sqlite'}") as [server]:
        people = ["--truth", TRUTH, "--correlation", "-0.6", "--respondents", "600", "--seed", "4"]
        at = ["--url", server.url, "--token", TOKEN]
        assert run(["simulate", "--spec", spec, *people, *at, "--concurrency", "16", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        check(found, 600)
        collection = found["load"]["collection"]
        assert run(["export", collection, "--counts", counts, *at]) == 0
        assert run(["posterior", collection, *at]) == 0
        assert "correlation of wage and age: -0." in capsys.readouterr().out
    assert run(["estimate", "--spec", spec, "--counts", counts, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["answers"] == 600
    for part in ("mean", "sd"):
        there, here = (each["correlations"]["wage,age"][part] for each in (found, again))
        assert abs(there - here) < 0.05


@pytest.mark.slow
def test_a_server_that_is_killed_forgets_no_answer(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every receipt is one count after `kill -9`, in the database and in what the next process says."""
    monkeypatch.setattr(over_http, "Retry", PATIENT)
    monkeypatch.setattr(over_http, "Api", partial(Api, retry=PATIENT()))
    with forked(database_url) as [server]:
        with Admin(server.url, TOKEN) as admin:
            collection = str(admin.create_collection({"name": "Test", **SPEC})["id"])
        outcomes = []
        people = draw_people_of_components(
            np.random.default_rng(1), Specification.from_json(SPEC), [], TRUTH, 0.5, SIZE
        )

        def load() -> None:
            roles = draw_roles(np.random.default_rng(1), Behaviours(retry=0.1), SIZE)
            outcomes.append(simulate_over_http(server.url, TOKEN, collection, Respondents(people.values, roles, 1), 8))

        thread = threading.Thread(target=load)
        thread.start()
        with Analyst(server.url, TOKEN) as analyst:
            until(lambda: analyst.terms(collection)["answers"] >= SIZE // 4)
            server.kill()
            server.start()
            server.wait_ready()
            thread.join()
            [outcome] = outcomes
            assert outcome.answers == SIZE
            until(lambda: analyst.posterior(collection).answers == SIZE)
            assert sum(item.answers for item in analyst.queries(collection)) == SIZE
            until(lambda: bool(analyst.posterior(collection).correlations))
            assert analyst.posterior(collection).component("age").quantile(0.5).sd > 0
        server.terminate()
        assert server.wait() == 0
    engine = make_engine(database_url)
    check_counts(engine)
    engine.dispose()


def test_the_population_is_what_was_asked_for() -> None:
    """Correlations of normal scores within four standard errors, `(1 - ρ²) / √n`."""
    people = draw_people_of_components(np.random.default_rng(2), Specification.from_json(SPEC), [], TRUTH, 0.5, 20_000)
    found = float(np.corrcoef(np.log(people.values[:, 0]), people.values[:, 1])[0, 1])
    assert abs(found - 0.5) < 4 * 0.75 / np.sqrt(20_000)
    assert np.log(people.values[:, 0]).mean() == pytest.approx(6, abs=0.02)
    with pytest.raises(InvalidPopulation, match="above -1 and below 1"):
        draw_people_of_components(np.random.default_rng(2), Specification.from_json(SPEC), [], TRUTH, 1.0, 20)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--truth", "mu=6,sigma=1"], "of each of wage, age, separated by semicolons"),
        ([], "give --truth, with the parameters of each of wage, age, separated by semicolons"),
        (["--data", "pilot.csv"], "in place of --data give --truth, with the parameters of each of wage, age,"),
        (["--truth", TRUTH, "--family", "gamma"], "each of wage, age has a family of its own: leave --family out"),
        (["--truth", "mu=6,sigma=.5; rate=3"], "age: the truth of the family normal must be mu=NUMBER,sigma=NUMBER\n"),
    ],
)
def test_what_is_no_population_is_refused(
    given: list[str], sentence: str, spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "--spec", spec, *given, "--respondents", "20", "--in-process"]) == 2
    assert sentence in capsys.readouterr().err


def test_a_correlation_is_of_components(capsys: pytest.CaptureFixture[str]) -> None:
    people = ["--truth", "mu=1,sigma=1", "--respondents", "20", "--in-process"]
    assert run(["simulate", *people, "--correlation", "0.5"]) == 2
    assert "name one that has some with --spec or --collection" in " ".join(capsys.readouterr().err.split())


def test_a_table_about_other_components_is_refused(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    rows = counts_rows({ComponentQuery(0, Laplace(0, 1, 1, 1)): [3, 4]})
    write_table(tmp_path / "counts.csv", rows, tuple(rows[0]))
    assert run(["estimate", "--spec", spec, "--counts", str(tmp_path / "counts.csv")]) != 0
    assert "not about the specification's components" in " ".join(capsys.readouterr().err.split())
