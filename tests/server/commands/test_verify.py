"""`dither verify`: what a server shows holds for every kind of collection, and what was changed behind it is found."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither_client.analyst import _PASSING, Analyst, specification_of
from dither_client.commands import run
from dither_client.posterior.wire import ParameterSummary, to_json
from dither_estimator.commands.verify import _posterior_check
from dither_estimator.specification.specification import _FIELDS, SERVICE_FIELDS, Specification
from dither_server.api.messages.collections import TermsReply
from dither_server.collections.specification import CollectionSpec
from dither_server.collections.terms import statistical_terms
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.served import serving

PEOPLE = 150
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "family": ({"family": "normal", "range": [0, 100], "misfit_check": 0.2}, "mu=50,sigma=3"),
    "no family": ({"minimum": 0, "atoms": [0]}, "mu=50,sigma=3"),
    "choice of epsilon": ({"family": "normal", "range": [0, 100], "epsilon_choices": [0.5, 1]}, "mu=50,sigma=3"),
    "groups": (
        {"family": "normal", "range": [0, 100], "groups": {"name": "region", "labels": ["north", "south"]}},
        "mu=50,sigma=3",
    ),
    "groups of categories": (
        {
            "family": "categorical",
            "categories": ["yes", "no"],
            "groups": {"name": "region", "labels": ["north", "south"]},
        },
        "yes=1,no=2; yes=2,no=1",
    ),
    "components": (
        {"components": [{"name": name, "family": "normal", "range": [0, 100]} for name in ("wage", "age")]},
        "mu=50,sigma=3; mu=40,sigma=9",
    ),
    "gaussian": ({"family": "normal", "range": [0, 100], "mechanism": "gaussian"}, "mu=50,sigma=3"),
    "gaussian by rho": (
        {"family": "normal", "range": [0, 100], "mechanism": "gaussian", "epsilon": None, "rho": 0.3},
        "mu=50,sigma=3",
    ),
    "families and institutions": (
        {
            "families": [{"family": "normal", "transform": "log"}, {"family": "gamma"}],
            "range": [1, 20],
            "member_cuts": [0.5, 4],
        },
        "mu=1.5,sigma=.5",
    ),
    "counts alone": ({"family": "normal", "range": [0, 100], "keep_answers": False}, "mu=50,sigma=3"),
    "periods": ({"family": "normal", "range": [0, 100], "period": "week", "drift": True}, "mu=50,sigma=3"),
}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("DITHER_TOKEN", ADMIN_TOKEN)
    with serving(database(tmp_path)) as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        yield url


def database(folder: Path) -> str:
    return f"sqlite:///{folder / 'dither.sqlite'}"


def created(folder: Path, spec: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    file = folder / "spec.json"
    file.write_text(json.dumps({"name": "Wages", "epsilon": 1} | spec))
    assert run(["collection", "create", str(file), "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["id"])


def answered(
    folder: Path, spec: dict[str, Any], truth: str, capsys: pytest.CaptureFixture[str], people: int = PEOPLE
) -> str:
    """The id of a collection that people answered through the server that the environment names."""
    collection = created(folder, spec, capsys)
    given = ["--truth", truth, "--respondents", str(people), "--seed", "1", "--json"]
    family = [] if {"family", "components"} & set(spec) else ["--family", "normal"]
    assert run(["simulate", "--collection", collection, *family, *given]) == 0
    capsys.readouterr()
    return collection


def verified(collection: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, bool]]:
    status = run(["verify", collection, "--json"])
    out, err = capsys.readouterr()
    assert all("has not answered yet" in line for line in err.splitlines())  # a busy machine is slow
    found = json.loads(out)
    assert found["verified"] is (status == 0)
    assert found["collection"] == collection
    return status, {check["name"]: check["passed"] for check in found["checks"]}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_shows_is_verified(
    kind: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = answered(tmp_path, *KINDS[kind], capsys)
    assert verified(collection, capsys) == (0, dict.fromkeys(("questions", "answers", "posterior"), True))
    assert run(["verify", collection]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("Verified after ")


def test_a_single_answer_is_told_as_one(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", answered(tmp_path, *KINDS["no family"], capsys, people=1)]) == 0
    questions, answers, _, verdict = capsys.readouterr().out.splitlines()
    assert questions == "questions: the only one costs and asks what the terms say."
    assert answers == "answers: the only one that is kept is in the counts."
    assert verdict == "Verified after 1 answer."


def test_every_field_of_the_terms_is_one_of_the_specification_or_left_out_of_it() -> None:
    assert set(TermsReply.model_fields) <= {*_FIELDS, *SERVICE_FIELDS, *_PASSING}


@pytest.mark.parametrize("given", [{"epsilon": 2}, {"rho": 0.3}, {"rho": 0.001}, {"epsilon": 50}, {"epsilon": 0.3}])
@pytest.mark.parametrize(
    "more", [{}, {"levels": 1}, {"levels": 16}, {"policy": "fixed:0:1"}, {"family": "nonparametric"}]
)
def test_terms_of_gaussian_say_whether_epsilon_or_rho_was_given(given: dict[str, Any], more: dict[str, Any]) -> None:
    fields = {"name": "Noise", "family": "normal", "mechanism": "gaussian", **given, **more}
    spec, service = Specification.from_json(fields), CollectionSpec.model_validate(fields)
    again = specification_of(json.loads(json.dumps(statistical_terms(service, spec))))
    found = Specification.from_json(again)
    assert (found.epsilon, found.largest_rho) == (spec.epsilon, spec.largest_rho)
    assert (found.rho == spec.rho and set(given) <= set(again)) or more == {"levels": 1}  # where both say the same


@pytest.mark.parametrize("family", ["normal", "nonparametric", "categorical"])
def test_a_collection_without_answers_is_verified(
    family: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"family": family} | ({"categories": ["yes", "no"]} if family == "categorical" else {})
    collection = created(tmp_path, spec, capsys)
    assert verified(collection, capsys)[0] == 0


def test_answers_that_were_dropped_when_their_time_was_over_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DITHER_TOKEN", ADMIN_TOKEN)
    with serving(database(tmp_path)) as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        collection = answered(tmp_path, KINDS["family"][0] | {"keep_answers_days": 30}, "mu=50,sigma=3", capsys)
    with sqlite3.connect(tmp_path / "dither.sqlite") as connection:
        connection.execute("DELETE FROM answers WHERE ticket = (SELECT max(ticket) FROM answers)")
    with serving(database(tmp_path)) as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        assert run(["verify", collection]) == 0
    assert "; 1 more were counted, and dropped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("statement", "failing"),
    [
        ("DELETE FROM answers WHERE ticket = (SELECT max(ticket) FROM answers)", "answers"),
        (
            """UPDATE collections SET specification = replace(specification, '"epsilon": 1', '"epsilon": 0.5')""",
            "questions",
        ),
    ],
)
def test_what_was_changed_in_the_database_is_found(
    statement: str, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DITHER_TOKEN", ADMIN_TOKEN)
    with serving(database(tmp_path)) as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        collection = answered(tmp_path, *KINDS["family"], capsys)
    with sqlite3.connect(tmp_path / "dither.sqlite") as connection:
        assert connection.execute(statement).rowcount == 1
    with serving(database(tmp_path)) as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        status, passed = verified(collection, capsys)
    assert (status, passed[failing]) == (1, False)


def test_a_posterior_that_is_a_standard_deviation_off_is_found(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = answered(tmp_path, *KINDS["family"], capsys, 1_500)
    with Analyst(url, ADMIN_TOKEN) as analyst:
        shown, table = analyst.posterior(collection), analyst.count_table(collection)
        fields = specification_of(analyst.terms(collection))
    assert _posterior_check(shown, fields, table, 0).passed
    mu = ParameterSummary(**shown.summaries["mu"])
    moved = {name: value + mu.sd for name, value in to_json(mu).items() if name != "sd"} | {"sd": mu.sd}
    off = replace(shown, summaries=shown.summaries | {"mu": moved})
    check = _posterior_check(off, fields, table, 0)
    assert not check.passed
    assert "(mu)" in check.found


def test_whoever_may_not_read_the_counts_is_told_so(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = answered(tmp_path, KINDS["family"][0] | {"visibility": "public"}, "mu=50,sigma=3", capsys)
    monkeypatch.delenv("DITHER_TOKEN")
    assert run(["verify", collection]) == 2
    assert capsys.readouterr().err.startswith("dither: this needs a valid token")
