"""`dither design`: the object that the contract promises, a table for people, one clear sentence for bad input."""

import json

import pytest

from dither_client import parse_query
from dither_client.commands import run

CaptureFixture = pytest.CaptureFixture[str]


def test_json(capsys: CaptureFixture) -> None:
    arguments = [
        "--family",
        "normal",
        "--epsilon",
        "1",
        "--goal",
        "all",
        "--mechanism",
        "randomized_response",
        "--json",
    ]
    assert run(["design", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["queries", "information", "variance", "criterion", "gap", "limit", "efficiency"]
    assert found["criterion"] <= 21.09
    assert found["gap"] < 1e-3 * found["criterion"]
    assert found["limit"] == pytest.approx(21.07, rel=0.005)
    assert found["efficiency"] == pytest.approx(found["limit"] / found["criterion"], rel=1e-3)
    assert set(found["variance"]) == {"mu", "sigma"}
    for query in found["queries"]:
        assert 0 < query.pop("weight") <= 1
        parse_query(query)


def test_theta_levels_and_weights(capsys: CaptureFixture) -> None:
    arguments = ["--epsilon", "2.5", "--goal", "mu=1,sigma=2", "--levels", "3", "--theta", "sigma=2,mu=-40", "--json"]
    assert run(["design", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["criterion"] == pytest.approx(found["variance"]["mu"] + 2 * found["variance"]["sigma"])
    assert all(query["levels"] == 3 and -50 < query["low"] < query["high"] < -30 for query in found["queries"])


def test_people_get_tables_and_advice(capsys: CaptureFixture) -> None:
    assert run(["design", "--epsilon", "0.5", "--goal", "mu"]) == 0
    printed = capsys.readouterr().out
    assert "not identified" in printed
    assert "efficiency 100.0%" in printed
    assert "randomized_response would need as many respondents" in printed
    assert run(["design", "--epsilon", "1"]) == 0
    assert "randomized_response would need 37% fewer respondents" in capsys.readouterr().out
    assert run(["design", "--epsilon", "1", "--mechanism", "randomized_response"]) == 0
    assert "staircase would need as many respondents" in capsys.readouterr().out
    assert run(["design", "--epsilon", "1", "--goal", "sigma"]) == 0
    assert "staircase would need 73% fewer respondents" in capsys.readouterr().out


def test_the_sets_of_a_staircase_query_are_shown(capsys: CaptureFixture) -> None:
    assert run(["design", "--epsilon", "1", "--goal", "sigma", "--mechanism", "staircase"]) == 0
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines()[4:6]] == [["0", "1", "0", "2"], ["1", "1", "1"]]
    assert "efficiency 100.0%" in printed
    assert "randomized_response would need 65% more respondents" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "epsilon must be above 0"),
        (["--epsilon", "51"], "epsilon must be at most 50"),
        (["--epsilon", "one"], "epsilon must be a decimal"),
        (["--epsilon", "1", "--family", "cauchy"], "family must be one of"),
        (["--epsilon", "1", "--goal", "nu"], "goal must be all"),
        (["--epsilon", "1", "--mechanism", "gauss"], "laplace"),
        (["--epsilon", "1", "--levels", "0"], "1 to 1,023 levels"),
        (["--epsilon", "1", "--levels", "2", "--mechanism", "staircase"], "leave levels out"),
        (["--epsilon", "1", "--theta", "mu=1"], "theta of the family normal must be mu=NUMBER,sigma=NUMBER"),
        (["--epsilon", "1", "--theta", "mu=1,sigma=x"], "with a number for each"),
        (["--epsilon", "1", "--theta", "mu=1,sigma=-2"], "sigma must be a number above 0"),
        ([], "epsilon"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run(["design", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
