"""`dither simulate` over HTTP, in new collections and in those that are there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither_client import Admin, Analyst
from dither_client.commands import run
from testing.servers.process import RunningServer, forked
from tests.server.simulate.test_simulate_command import KEYS, PEOPLE, TOKEN, report


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('server') / 'dither.sqlite'}") as [server]:
        yield server


def test_a_server_checks_for_misfit(server: RunningServer, checked: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, *PEOPLE, "--spec", checked, "--url", server.url, "--token", TOKEN)
    assert found["answers"] == 200
    assert abs(found["misfit"]["check_answers"] - 100) < 5 * 50**0.5
    assert found["misfit"]["looks"]


def test_values_that_devices_would_refuse_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, server: RunningServer
) -> None:
    """In process, and of a collection that is there already; nobody is asked."""
    bounds = {"name": "Spending", "family": "normal", "epsilon": 1, "minimum": 0, "maximum": 100}
    (tmp_path / "spec.json").write_text(json.dumps(bounds))
    (tmp_path / "spending.csv").write_text("spent\n-5\n0\n100\n1000000000\n")
    data = ["--data", str(tmp_path / "spending.csv"), "--column", "spent"]
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(bounds)["id"])
    there = ["--url", server.url, "--token", TOKEN, "--collection", collection]
    for where in (["--in-process", "--spec", str(tmp_path / "spec.json")], there):
        assert run(["simulate", *data, *where]) == 2
        assert capsys.readouterr().err == (
            "dither: 2 of the 4 values lie outside the collection's bounds, and devices would refuse them: "
            "values must be from 0 to 100\n"
        )


def test_categories_may_be_named_for_a_collection_that_has_them(
    capsys: pytest.CaptureFixture[str], server: RunningServer
) -> None:
    fields = {"name": "Cycling", "family": "categorical", "categories": ["never", "daily"], "epsilon": 1}
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(fields)["id"])
    there = ["--url", server.url, "--token", TOKEN, "--collection", collection, "--respondents", "20"]
    found = report(capsys, *there, "--categories", "daily, never", "--truth", "never=3,daily=1")
    assert set(found["truth"]) == {"never", "daily"}
    assert run(["simulate", *there, "--categories", "never,monthly"]) == 2
    assert "--categories must be those of --collection, or be left out" in capsys.readouterr().err


def test_people_of_a_collection_with_several_numbers_or_groups_that_is_there(
    capsys: pytest.CaptureFixture[str], server: RunningServer
) -> None:
    """Their names and kinds are those of its terms: no file of its specification is needed."""
    wage = {"name": "wage", "family": "normal", "transform": "log", "range": [100, 2000]}
    several = {"name": "Two", "epsilon": 1, "components": [wage, {"name": "age", "minimum": 0, "maximum": 120}]}
    labels = ["north", "south"]
    grouped = {"name": "x", "family": "normal", "epsilon": 1, "groups": {"name": "region", "labels": labels}}
    with Admin(server.url, TOKEN) as admin:
        two, regions = (str(admin.create_collection(fields)["id"]) for fields in (several, grouped))
    people = ["--url", server.url, "--token", TOKEN, "--respondents", "30", "--truth", "mu=6,sigma=0.5; mu=40,sigma=5"]
    found = report(capsys, *people, "--collection", two, "--correlation", "0.5")
    assert found["answers"] == 30
    assert found["truth"] == {
        "wage": {"mu": 6.0, "sigma": 0.5}, "age": {"mu": 40.0, "sigma": 5.0}, "correlation": 0.5
    }  # fmt: skip
    assert found["load"]["failures"] == {}
    found = report(capsys, *people, "--collection", regions)
    assert set(found["truth"]) == set(labels)
    assert found["load"]["failures"] == {}


NUMBERS = {"components": [{"name": "wage", "minimum": 0}, {"name": "age", "minimum": 0, "maximum": 120}]}
GROUPS = {"minimum": 0, "groups": {"name": "region", "labels": ["north", "south"]}}
GAMMA = {"shape": 2.0, "scale": 290.0}
NORMAL = {"mu": 40.0, "sigma": 5.0}


@pytest.fixture(scope="module")
def without_family(server: RunningServer) -> dict[str, list[str]]:
    """The options that name collections without a family: of one number, of two, and of groups."""
    kinds: dict[str, dict[str, Any]] = {"one": {"minimum": 0}, "numbers": NUMBERS, "groups": GROUPS}
    with Admin(server.url, TOKEN) as admin:
        made = {kind: str(admin.create_collection({"name": "x", "epsilon": 2, **kinds[kind]})["id"]) for kind in kinds}
    return {kind: ["--url", server.url, "--token", TOKEN, "--collection", made[kind]] for kind in made}


@pytest.mark.parametrize(
    ("kind", "given", "truth"),
    [
        ("numbers", ["--family", "gamma,normal"], {"wage": GAMMA, "age": NORMAL, "correlation": 0.0}),
        ("groups", ["--family", "gamma, normal"], {"north": GAMMA, "south": NORMAL}),
    ],
)
def test_numbers_and_groups_without_a_family_are_drawn_from_one_each(
    kind: str,
    given: list[str],
    truth: dict[str, object],
    without_family: dict[str, list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    people = ["--truth", "shape=2,scale=290; mu=40,sigma=5", "--respondents", "30"]
    found = report(capsys, *without_family[kind], *people, *given)
    assert found["truth"] == truth
    assert found["answers"] == 30


@pytest.mark.parametrize("kind", ["one", "groups"])
def test_people_without_a_family_are_drawn_from_the_normal_one(
    kind: str, without_family: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """As numbers without one are: none has to be named for a collection that has none."""
    found = report(capsys, *without_family[kind], "--truth", "mu=500,sigma=50", "--respondents", "30")
    assert 400 < found["truth"]["0.5"] < 600
    assert found["load"]["failures"] == {}


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        ("numbers", ["--truth", "mu=6,sigma=1; shape=2,scale=9"], "age: the truth of the family normal must be"),
        ("numbers", ["--truth", "mu=0,sigma=9; mu=40,sigma=5"], "change --truth, or name another family with --family"),
        ("numbers", ["--family", "normal,gamma,beta", "--truth", "mu=6,sigma=1; mu=4,sigma=1"], "one for each number"),
        ("groups", ["--family", "normal,gamma,beta", "--truth", "mu=6,sigma=1"], "one for each group"),
        ("numbers", ["--family", "categorical", "--truth", "mu=6,sigma=1; mu=4,sigma=1"], "a family of numbers"),
        ("one", ["--truth", "shape=2,scale=9"], "or --family must name another family"),
    ],
)
def test_a_population_of_another_family_is_refused_before_anybody_answers(
    kind: str,
    given: list[str],
    sentence: str,
    without_family: dict[str, list[str]],
    server: RunningServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Analyst(server.url, TOKEN) as analyst:
        before = analyst.terms(without_family[kind][-1])["answers"]
        assert run(["simulate", *without_family[kind], "--respondents", "30", *given]) == 2
        assert analyst.terms(without_family[kind][-1])["answers"] == before
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_new_collection_over_http(capsys: pytest.CaptureFixture[str], server: RunningServer) -> None:
    found = report(capsys, *PEOPLE, "--url", server.url, "--token", TOKEN, "--retry", "0.2", "--concurrency", "8")
    load = found.pop("load")
    assert set(found) == KEYS
    assert found["answers"] == found["respondents"] == 200
    assert found["estimator_seconds"] is None
    counted = {"requests", "late", "poisoned", "retried", "mismatches", "failures"}
    assert set(load) == {"collection", "ticket_seconds", *counted}
    assert 0 < load["ticket_seconds"]["median"] <= load["ticket_seconds"]["q99"]
    assert load["mismatches"] == 0
    assert load["failures"] == {}


def test_a_choice_of_epsilon_over_http(capsys: pytest.CaptureFixture[str], server: RunningServer) -> None:
    found = report(capsys, *PEOPLE, "--url", server.url, "--token", TOKEN, "--epsilon-choices", "0.5,2")
    assert set(found["answers_by_epsilon"]) == {"0.5", "2"}
    assert min(found["answers_by_epsilon"].values()) > 0
    assert sum(found["answers_by_epsilon"].values()) == found["answers"] == 200
    again = ["--url", server.url, "--token", TOKEN, "--collection", found["load"]["collection"]]
    twice = report(capsys, *PEOPLE, *again, "--choose-by", "value")
    assert "warning" in twice
    assert sum(twice["answers_by_epsilon"].values()) == 400


def test_an_existing_collection_over_http(
    capsys: pytest.CaptureFixture[str], server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"name": "x", "family": "normal", "epsilon": 2, "transform": "log", "visibility": "public"}
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(spec)["id"])
    monkeypatch.setenv("DITHER_URL", server.url)
    people = ["--truth", "mu=6,sigma=1", "--respondents", "50", "--collection", collection]
    assert report(capsys, *people)["answers"] == 50
    found = report(capsys, *people)
    assert found["answers"] == 50
    assert found["load"]["collection"] == collection
    assert run(["simulate", *people[:-1], "no-such"]) == 2
    assert "no collection with this id" in capsys.readouterr().err.lower()


def test_a_closed_collection_is_a_failure(capsys: pytest.CaptureFixture[str], server: RunningServer) -> None:
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection({"name": "x", "family": "normal", "epsilon": 1})["id"])
        admin.set_state(collection, "closed")
    arguments = [*PEOPLE, "--url", server.url, "--token", TOKEN, "--collection", collection]
    assert report(capsys, *arguments, status=1)["load"]["failures"] == {"collection-closed": 200}
