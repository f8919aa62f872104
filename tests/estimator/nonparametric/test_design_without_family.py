"""`dither design` without a family: the population, the certificate, one clear sentence for bad input."""

import json
from pathlib import Path

import numpy as np
import pytest

from dither_client import parse_query
from dither_client.commands import run

CaptureFixture = pytest.CaptureFixture[str]
WITHOUT = ["design", "--family", "nonparametric", "--epsilon", "1"]


@pytest.fixture
def values(tmp_path: Path) -> Path:
    file = tmp_path / "values.csv"
    drawn = np.random.default_rng(0).lognormal(6.2, 0.7, 2_000)
    file.write_text("wage\n" + "\n".join(["0"] * 500 + [f"{value:.2f}" for value in drawn]))
    return file


def test_json_of_a_file(values: Path, capsys: CaptureFixture) -> None:
    population = ["--data", str(values), "--column", "wage", "--minimum", "0", "--atoms", "0"]
    assert run([*WITHOUT, "--goal", "distribution", *population, "--respondents", "5000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["efficiency"] == found["limit"] / found["criterion"]
    assert 0.5 < found["efficiency"] < 1
    assert 0 <= found["gap"] < 5e-3 * found["limit"]
    assert found["sd"] ** 2 * 5_000 == pytest.approx(found["criterion"])
    assert found["respondents"] == 5_000 > found["respondents_at_limit"]
    assert found["criterion_of"] == {"distribution": 1}
    assert (found["information"], found["variance"]) == ([], {})
    assert sum(query.pop("weight") for query in found["queries"]) == pytest.approx(1)
    assert {parse_query(query).epsilon for query in found["queries"]} == {1}


def test_ratings_are_cut_halfway_between_them(tmp_path: Path, capsys: CaptureFixture) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("rating\n" + "\n".join(["1", "2", "4", "4", "5"] * 400))
    scale = ["--data", str(file), "--column", "rating", "--minimum", "1", "--maximum", "5", "--decimals", "0"]
    assert run([*WITHOUT, *scale, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0.8 < found["efficiency"] < 1
    assert {cut for query in found["queries"] for cut in query["cuts"]} <= {1.5, 2.5, 3.5, 4.5}


def test_people_get_a_table(capsys: CaptureFixture) -> None:
    member = ["--population", "normal", "--theta", "mu=6,sigma=0.7", "--transform", "log"]
    assert run([*WITHOUT, *member, "--levels", "2"]) == 0
    printed = capsys.readouterr().out
    assert "after 20,000 answers" in printed
    assert "for any mechanism with this epsilon: efficiency" in printed
    rows = [line.split() for line in printed.splitlines()[1:9]]
    assert {row[1] for row in rows} == {"3"}
    assert all(0 <= float(cut.replace(",", "")) < 20_000 for row in rows for cut in row[2:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --data or --population"),
        (["--population", "normal", "--data", "x.csv"], "either --data or --population"),
        (["--data", "x.csv"], "x.csv does not exist"),
        (["--data", "x.csv", "--column", "x", "--theta", "mu=1,sigma=1"], "leave it out with --data"),
        (["--data", "x.csv", "--column", "x"], "x.csv"),
        (["--population", "cauchy"], "family must be one of"),
        (["--population", "beta", "--transform", "log"], "transform of beta must be identity"),
        (["--population", "normal", "--minimum", "0"], "outside minimum and maximum"),
        (["--population", "normal", "--atoms", "x"], "atoms must be numbers"),
        (["--population", "normal", "--goal", "quantiles=0.5"], "goal must be distribution"),
        (["--population", "normal", "--goal", "mu"], "goal must be distribution"),
        (["--population", "normal", "--respondents", "10"], "1000"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run([*WITHOUT, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "1", "--data", "x.csv"], "--data is for --family nonparametric only"),
        (["--epsilon", "1", "--respondents", "2000"], "--respondents is for --family nonparametric only"),
        (["--epsilon", "6", "--family", "nonparametric", "--population", "normal"], "at most 5"),
        (["--family", "nonparametric", "--population", "normal"], "give either --epsilon or --rho"),
    ],
)
def test_what_does_not_go_together(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run(["design", *arguments]) == 2
    assert message in capsys.readouterr().err
