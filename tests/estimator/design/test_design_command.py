"""`dither design`: the object that the contract promises, a table for people, one clear sentence for bad input."""

import json
import math

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
    assert list(found) == [
        *("queries", "information", "variance", "criterion", "criterion_of", "gap", "limit", "efficiency")
    ]
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


@pytest.mark.parametrize(
    ("family", "theta", "coordinates", "units"),
    [
        ("normal", {"mu": 5.0, "sigma": 3.0}, ("mu", "sigma"), (1.0, 1.0)),
        ("gamma", {"shape": 3.0, "scale": 7.0}, ("log shape", "log scale"), (3.0, 7.0)),
        ("student_t", {"mu": 5.0, "sigma": 3.0, "df": 4.0}, ("mu / sigma", "log sigma", "log df"), (3.0, 3.0, 4.0)),
        ("bernoulli", {"p": 0.2}, ("logit p",), (0.2 * 0.8,)),
    ],
)
def test_the_criterion_is_of_what_it_says(
    family: str, theta: dict[str, float], coordinates: tuple[str, ...], units: tuple[float, ...], capsys: CaptureFixture
) -> None:
    """The variance of a coordinate is that of the parameter over the square of its derivative, by hand."""
    weights = dict(zip(coordinates, (1.0, 2.0, 0.5), strict=False))
    goal = ",".join(f"{name}={weight}" for name, weight in zip(theta, weights.values(), strict=True))
    member = ",".join(f"{name}={value}" for name, value in theta.items())
    arguments = ["design", "--epsilon", "2", "--family", family, "--theta", member, "--goal", goal]
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["criterion_of"] == weights
    variances = [found["variance"][name] / unit**2 for name, unit in zip(theta, units, strict=True)]
    assert found["criterion"] == pytest.approx(sum(w * v for w, v in zip(weights.values(), variances, strict=True)))
    assert run(arguments) == 0
    printed = capsys.readouterr().out
    assert all(f"the variance of {name}" in printed for name in coordinates)


def test_people_get_tables_and_advice(capsys: CaptureFixture) -> None:
    assert run(["design", "--epsilon", "0.5", "--goal", "mu"]) == 0
    printed = capsys.readouterr().out
    assert "not identified" in printed
    assert "efficiency 100.0%" in printed
    assert "would need" not in printed, "as many is no advice"
    assert run(["design", "--epsilon", "1"]) == 0
    assert "randomized_response would need 37% fewer respondents" in capsys.readouterr().out
    assert run(["design", "--epsilon", "1", "--mechanism", "randomized_response"]) == 0
    assert "would need" not in capsys.readouterr().out
    assert run(["design", "--epsilon", "1", "--goal", "sigma"]) == 0
    assert "staircase would need 73% fewer respondents" in capsys.readouterr().out


def test_the_sets_of_a_staircase_query_are_shown(capsys: CaptureFixture) -> None:
    assert run(["design", "--epsilon", "1", "--goal", "sigma", "--mechanism", "staircase"]) == 0
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines()[4:6]] == [["0", "1", "0", "2"], ["1", "1", "1"]]
    assert "efficiency 100.0%" in printed
    assert "randomized_response would need 65% more respondents" in printed


def test_gaussian_by_epsilon_and_by_rho(capsys: CaptureFixture) -> None:
    for amount in (["--epsilon", "10"], ["--rho", "0.5"]):
        assert run(["design", "--mechanism", "gaussian", *amount, "--json"]) == 0
        queries = json.loads(capsys.readouterr().out)["queries"]
        assert all(parse_query({name: part for name, part in q.items() if name != "weight"}).rho for q in queries)
    assert run(["design", "--mechanism", "gaussian", "--rho", "5"]) == 0
    printed = capsys.readouterr().out
    assert "an answer costs ε = 5.006716 and has ρ = 5 at most" in printed
    assert "randomized_response would need" in printed


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
        ([], "give either --epsilon or --rho"),
        (["--epsilon", "1", "--rho", "1"], "give either --epsilon or --rho"),
        (["--rho", "1"], "--rho is for --mechanism gaussian only"),
        (["--rho", "0", "--mechanism", "gaussian"], "rho must be above 0"),
        (["--epsilon", "1", "--mechanism", "gaussian", "--levels", "129"], "1 to 128 levels"),
        (["--rho", "51", "--mechanism", "gaussian"], "rho must be above 0 and at most 50"),
        (["--epsilon", "0.001", "--mechanism", "gaussian"], "too small for gaussian noise"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run(["design", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("epsilon", ["0.001", "0.0001"])
def test_an_epsilon_too_small_for_one_mechanism_leaves_the_advice_to_the_others(
    epsilon: str, capsys: CaptureFixture
) -> None:
    assert run(["design", "--epsilon", epsilon]) == 0
    assert "staircase would need" in capsys.readouterr().out


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
@pytest.mark.parametrize("p", ["0.00001", "0.99999", "0.000000001", "0.999999999"])
def test_shares_near_the_ends_have_a_design(p: str, mechanism: str, capsys: CaptureFixture) -> None:
    arguments = ["design", "--family", "bernoulli", "--theta", f"p={p}", "--epsilon", "1", "--mechanism", mechanism]
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # One yes-or-no question with keep probability k has Var p = q (1 - q) / (2 k - 1)², q = p (2 k - 1) + 1 - k.
    keep = math.e / (1 + math.e)
    yes = float(p) * (2 * keep - 1) + 1 - keep
    assert found["variance"]["p"] == pytest.approx(yes * (1 - yes) / (2 * keep - 1) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("family", "theta"),
    [("bernoulli", "p=1e-12"), ("poisson", "rate=1e-12"), ("negative_binomial", "mean=1e-9,size=1")],
)
def test_extreme_members_are_refused_in_one_sentence(family: str, theta: str, capsys: CaptureFixture) -> None:
    assert run(["design", "--family", family, "--theta", theta, "--epsilon", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
