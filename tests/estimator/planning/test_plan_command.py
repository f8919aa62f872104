"""`dither plan`: the object that the contract promises, rows for several ε, one clear sentence for bad input."""

import json
from typing import Any

import pytest

from dither_client.commands import run

CaptureFixture = pytest.CaptureFixture[str]

THETA = ["--family", "normal", "--theta", "mu=50,sigma=3"]


def _json(capsys: CaptureFixture, *arguments: str) -> Any:
    assert run(["plan", *THETA, *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json(capsys: CaptureFixture) -> None:
    found = _json(capsys, "--epsilon", "1", "--sd", "mu=0.5")
    assert list(found) == [
        *("epsilon", "respondents", "without_privacy", "price_of_privacy", "sd", "mechanism", "goal")
    ]
    assert found["goal"] == {"mu": 1, "sigma": 1}
    assert found["sd"]["mu"] <= 0.5 < found["sd"]["sigma"]
    assert found["without_privacy"] == pytest.approx(9 / 0.25, abs=3)
    assert found["price_of_privacy"] == pytest.approx(found["respondents"] / found["without_privacy"])
    both = _json(capsys, "--epsilon", "1", "--sd", "mu=0.5,sigma=0.3")
    assert both["respondents"] > found["respondents"]
    assert both["sd"]["sigma"] <= 0.3


def test_a_row_for_each_epsilon(capsys: CaptureFixture) -> None:
    found = _json(capsys, "--epsilon", "0.5,1,2,5", "--sd", "mu=0.5", "--confidence", "0.9")
    assert [row["epsilon"] for row in found["rows"]] == [0.5, 1, 2, 5]
    numbers = [row["respondents"] for row in found["rows"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len({row["without_privacy"] for row in found["rows"]}) == 1


def test_the_precision_that_a_number_gives_is_that_of_the_plan(capsys: CaptureFixture) -> None:
    for confidence in ([], ["--confidence", "0.9"]):
        planned = _json(capsys, "--epsilon", "1", "--sd", "sigma=0.2", *confidence)
        found = _json(capsys, "--epsilon", "1", "--respondents", str(planned["respondents"]), *confidence)
        assert found["sd"] == planned["sd"]


def test_range_goal_and_mechanism_matter(capsys: CaptureFixture) -> None:
    plain, ranged, other, aimed = (
        _json(capsys, "--epsilon", "1", "--sd", "mu=0.5", *more)["respondents"]
        for more in ([], ["--range", "44,56"], ["--mechanism", "randomized_response"], ["--goal", "mu=1,sigma=0.1"])
    )
    assert max(ranged, other, aimed) < plain


def test_the_best_goal_needs_the_fewest(capsys: CaptureFixture) -> None:
    """Against brute force over the ratio of the weights, whatever is asked for."""
    for target in ("mu=0.1", "sigma=0.1", "mu=0.1,sigma=0.05"):
        asked = ["--epsilon", "1", "--mechanism", "randomized_response", "--sd", target]
        best = _json(capsys, *asked, "--goal", "best")
        assert set(best["goal"]) == {"mu", "sigma"}
        brute = (
            _json(capsys, *asked, "--goal", f"mu=1,sigma={weight}")["respondents"]
            for weight in (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000)
        )
        assert best["respondents"] == min(brute)
    assert _json(capsys, "--epsilon", "1", "--sd", "mu=0.1", "--goal", "best")["goal"]["sigma"] < 0.3


def test_logarithms(capsys: CaptureFixture) -> None:
    arguments = ["--theta", "mu=6.2,sigma=0.7", "--transform", "log", "--range", "100,2000"]
    assert run(["plan", *arguments, "--epsilon", "1", "--sd", "mu=0.02"]) == 0
    assert "respondents" in capsys.readouterr().out


def test_quantiles_are_in_the_values_own_units(capsys: CaptureFixture) -> None:
    """10 of a median of 493 is 2%, not 10 on the scale of logarithms, which the prior knows without any answer."""
    wages = ["--transform", "log", "--theta", "mu=6.2,sigma=0.7", "--range", "100,2000", "--epsilon", "1"]
    asked = [*wages, "--goal", "quantiles=0.5", "--mechanism", "randomized_response"]
    found = _json(capsys, *asked, "--sd", "quantile_0.5=10")
    assert found["without_privacy"] == pytest.approx((0.7 * 492.7 / 10) ** 2, rel=0.01)
    assert 5_000 < found["respondents"] < 20_000
    assert found["sd"]["quantile_0.5"] == pytest.approx(10, rel=0.001)
    assert found["sd"]["mu"] == pytest.approx(10 / 492.7, rel=0.02)


def test_a_target_that_cannot_be_planned_is_refused_with_the_nearest(capsys: CaptureFixture) -> None:
    asked = ["plan", "--family", "student_t", "--theta", "mu=50,sigma=10,df=2", "--epsilon", "2", "--range", "0,100"]
    assert run([*asked, "--sd", "df=0.5"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "at epsilon 2, with fewer than" in told.err
    nearest = told.err.split("ask for ")[1].split(" or less")[0]
    assert run([*asked, "--sd", nearest, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sd"]["df"] <= float(nearest.removeprefix("df="))
    assert run([*asked, "--respondents", "6944", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sd"]["df"] is None


def test_people_get_a_table(capsys: CaptureFixture) -> None:
    assert run(["plan", *THETA, "--epsilon", "0.5,2", "--sd", "mu=0.5", "--confidence", "0.9"]) == 0
    printed = capsys.readouterr().out
    for words in ("respondents", "without privacy", "price", "goal mu=1,sigma=1", "with probability 0.9"):
        assert words in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "1"], "either --sd or --respondents"),
        (["--epsilon", "1", "--sd", "mu=1", "--respondents", "9"], "either --sd or --respondents"),
        (["--epsilon", "1", "--sd", "nu=1"], "sd must be such as mu=0.5"),
        (["--epsilon", "1", "--sd", "mu=0"], "a number above 0"),
        (["--epsilon", "1", "--sd", "mu=inf"], "a number above 0"),
        (["--epsilon", "1", "--sd", "mu=1,mu=2"], "each once"),
        (["--epsilon", "1", "--sd", "mu"], "sd must be such as"),
        (["--epsilon", "1", "--sd", "mu=1e-12"], "more than 1,000,000,000,000,000 respondents"),
        (["--epsilon", "1", "--respondents", "20"], "20 respondents are too few at epsilon 1"),
        (["--epsilon", "1", "--respondents", "0"], "respondents"),
        (["--epsilon", "1", "--sd", "mu=1", "--confidence", "0.2"], "confidence must be from 0.5 to 0.9999"),
        (["--epsilon", "1", "--sd", "mu=1", "--confidence", "nan"], "confidence must be from 0.5 to 0.9999"),
        (["--epsilon", "1,0", "--sd", "mu=1"], "epsilon must be above 0"),
        (["--epsilon", "", "--sd", "mu=1"], "epsilon"),
        (["--epsilon", "1", "--sd", "mu=1", "--range", "3"], "range must be"),
        (["--epsilon", "1", "--sd", "mu=1", "--goal", "mu"], "do not identify sigma"),
        (["--epsilon", "1", "--respondents", "999", "--goal", "best"], "goal best needs --sd"),
        (["--epsilon", "1", "--sd", "mu=1", "--family", "cauchy"], "family must be one of"),
        (
            ["--epsilon", "1", "--sd", "a=1", "--family", "categorical"],
            "categories have no plan, for the precision depends",
        ),
        (
            ["--epsilon", "1", "--sd", "distribution=0.01", "--family", "nonparametric"],
            "either --data or --population",
        ),
        (
            ["--epsilon", "1", "--sd", "above_999=0.1", "--goal", "above=999", "--range", "1,2"],
            "nobody lies above the goal",
        ),
        (["--epsilon", "1", "--sd", "mu=1", "--theta", "mu=1"], "theta of the family normal must be"),
        (
            ["--epsilon", "1", "--sd", "mu=1", "--transform", "log", "--minimum", "-5"],
            "minimum must not be below 0 when transform is log",
        ),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run(["plan", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
