"""`dither simulate` with public groups, in this process."""

import json
import re
from pathlib import Path

import pytest

from dither_client.commands import run

PEOPLE = ["--respondents", "240", "--epsilon", "4", "--in-process", "--seed", "1"]


def test_each_group_has_a_truth_and_a_posterior(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a range. Five posterior sds in six numbers: a false alarm in about 4e-6 of seeds."""
    truth = "mu=50,sigma=10; mu=70,sigma=10;mu=60,sigma=5"
    given = ["--groups", "north,south,west", "--truth", truth, "--particles", "200"]
    assert run(["simulate", *given, *PEOPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["truth"]["west"] == {"mu": 60, "sigma": 5}
    assert sum(group["answers"] for group in found["groups"].values()) == found["answers"] == 240
    for label, parameters in found["truth"].items():
        for name, value in parameters.items():
            summary = found["groups"][label]["posterior"][name]
            assert abs(summary["mean"] - value) < 5 * summary["sd"] < 25
    assert set(found["between_groups"]) == {"mu", "log sigma"}


def test_groups_have_shares_of_categories(capsys: pytest.CaptureFixture[str]) -> None:
    """Four posterior sds in four numbers: a false alarm in about 3e-4 of seeds."""
    given = ["--categories", "yes,no", "--groups", "north,south", "--truth", "yes=3,no=1; yes=1,no=3"]
    assert run(["simulate", *given, *PEOPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["truth"]["north"]["yes"] > 0.6 > 0.4 > found["truth"]["south"]["yes"]
    assert sum(group["answers"] for group in found["groups"].values()) == 240
    for label, shares in found["truth"].items():
        for category, share in shares.items():
            summary = found["groups"][label]["categories"][category]
            assert abs(summary["mean"] - share) < 4 * summary["sd"] < 0.5


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--truth", "mu=50,sigma=1;mu=1,sigma=1"], "in each of the 3 groups"),
        (["--family", "nonparametric", "--truth", "mu=1"], "mu=NUMBER,sigma=NUMBER, or --family must name another"),
        ([], "give --truth, with the parameters of each of the 3 groups, or of all, separated by semicolons"),
        (["--data", "pilot.csv", "--family", "normal"], "in place of --data give --truth, with the parameters of each"),
    ],
)
def test_what_is_no_population_is_refused(given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--groups", "a,b,c", *given, *PEOPLE]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("fields", "given", "sentence"),
    [
        (
            {"family": "categorical", "categories": ["yes", "no"], "groups": {"name": "region", "labels": ["a", "b"]}},
            ["--truth", "yes=1,no=2; yes=1,no=1; yes=0,no=1"],
            "what holds in each of the 2 groups",
        ),
        (
            {"family": "normal", "minimum": 0, "groups": {"name": "region", "labels": ["a", "b"]}},
            ["--truth", "mu=0,sigma=1"],
            "values lie outside the collection's bounds",
        ),
        (
            {"family": "normal", "maximum": 0, "period": "week"},
            ["--truth", "mu=0,sigma=1", "--periods", "2"],
            "values lie outside the collection's bounds",
        ),
    ],
)
def test_what_nobody_could_answer_is_refused(
    fields: dict[str, object], given: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({**fields, "epsilon": 1}))
    people = ["--respondents", "50", "--in-process", "--seed", "1"]
    assert run(["simulate", "--spec", str(spec), *given, *people]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_the_table_for_people_has_the_quantiles_of_all_beside_the_posterior(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--groups", "north,south", "--truth", "mu=50,sigma=10;mu=90,sigma=10", "--particles", "200"]
    assert run(["simulate", *given, *PEOPLE]) == 0
    said = capsys.readouterr().out
    [truth] = re.findall(r"10% have at most +([\d.]+) ", said)
    assert 38 < float(truth) < 46  # of an equal mixture 41.6, and of 240 people with an sd of 1.4
    north, south = map(float, re.findall(r"(?:north|south): median .* answers, truth ([\d.]+)", said))
    assert 45 < north < 55 < 85 < south < 95  # sds of 1.1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--categories", "yes,no", "--truth", "yes=1,no=0"], ["yes +1 ", "north: .* answers, truth yes 1, no 0"]),
        (["--family", "bernoulli", "--truth", "p=0.999999"], ["north: .* answers, truth 100.0%"]),
    ],
)
def test_groups_of_categories_and_of_yes_or_no_have_shares_as_their_truth(
    given: list[str], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *given, "--groups", "north,south", "--particles", "200", *PEOPLE]) == 0
    found = " ".join(capsys.readouterr().out.split())
    for each in said:
        assert re.search(each, found)


def test_groups_without_a_family_are_said_to_have_few_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.json"
    groups = {"name": "region", "labels": ["a", "b"]}
    spec.write_text(json.dumps({"epsilon": 4, "minimum": 0, "maximum": 100, "groups": groups, "particles": 200}))
    people = ["--truth", "mu=50,sigma=10", "--respondents", "60", "--in-process", "--seed", "1"]
    assert run(["simulate", "--spec", str(spec), *people]) == 0
    assert "Groups have few answers: of all of them together" in " ".join(capsys.readouterr().out.split())
