"""Goals that are functions of the distribution: their designs, beside oracles that know nothing of the solvers."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from dither_client.commands import run
from dither_estimator.design.design import Design, DesignError, optimal_design
from dither_estimator.design.functionals import functionals, goal_at
from dither_estimator.design.goal import Goal, InvalidGoal, parse_goal
from dither_estimator.design.registry import Mechanism
from dither_estimator.families import FloatArray, families
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import channel_information
from dither_estimator.specification.specification import Specification

NORMAL, GAMMA = families["normal"], families["gamma"]
ONE = Fraction(1)


def designed(goal: object, theta: list[float], name: str = "normal", mechanism: str = "randomized_response") -> Design:
    family = families[name]
    return optimal_design(family, theta, mechanism, ONE, parse_goal(goal, family))


@pytest.mark.parametrize(
    ("goal", "same"),
    [
        ("distribution", Goal(distribution=1.0)),
        ({"distribution": 2}, Goal(distribution=2.0)),
        ("quantiles=0.5", Goal(quantiles=((0.5, 1.0),))),
        ("quantiles=0.9:2, 0.5", Goal(quantiles=((0.5, 1.0), (0.9, 2.0)))),
        ({"quantiles": {"0.5": 1, "0.9": 2}}, Goal(quantiles=((0.5, 1.0), (0.9, 2.0)))),
        ({"quantiles": [0.9, 0.1]}, Goal(quantiles=((0.1, 1.0), (0.9, 1.0)))),
        ({"above": [1000, -2.5]}, Goal(above=((-2.5, 1.0), (1000.0, 1.0)))),
        ("above=1000,quantiles=0.5", Goal(quantiles=((0.5, 1.0),), above=((1000.0, 1.0),))),
        ({"above": {"7": 0, "8": 3}}, Goal(above=((8.0, 3.0),))),
        ({"above": [1234567890123]}, Goal(above=((1234567890123.0, 1.0),))),
    ],
)
def test_goals_are_read_and_written(goal: object, same: Goal) -> None:
    found = parse_goal(goal, NORMAL)
    assert found == same
    assert parse_goal(str(found), NORMAL) == parse_goal(found.to_json(), NORMAL) == found


@pytest.mark.parametrize(
    "goal",
    [
        "quantiles", "quantiles=", "quantiles=0", "quantiles=1", "quantiles=x", "quantiles=0.5,0.5", "above=nan",
        "above=1:-1", "above=1,above=2", "mu=1,above=3", "distribution=0", {"quantiles": 0.5}, {"quantiles": []},
        {"quantiles": [True]}, {"quantiles": [None]}, {"above": [10**400]}, {"above": {"x": 1}}, {"quantiles": [[0.5]]},
        {"above": ["1"], "mu": 1}, {"above": [1, 1.0]}, {"quantiles": {"0.5": 0}}, {"above": list(range(17))},
        {"distribution": True}, {"distribution": 10**400},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_goal_is_refused_in_a_sentence(goal: object) -> None:
    with pytest.raises(InvalidGoal, match="goal") as caught:
        parse_goal(goal, NORMAL)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("gamma", 0.0), ("gamma", -3.0), ("bernoulli", 1.0), ("beta", 2.0)])
def test_shares_that_are_nobody_or_everybody_are_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidGoal, match="no member of"):
        parse_goal({"above": [value]}, families[name])
    with pytest.raises(InvalidGoal, match="above 0 when transform is log"):
        parse_goal({"above": [0]}, NORMAL, "log")


def test_the_median_of_a_normal_is_its_location() -> None:
    found, known = designed({"quantiles": [0.5]}, [50.0, 10.0]), designed("mu", [50.0, 10.0])
    assert found.criterion == pytest.approx(known.criterion, rel=1e-4)
    assert found.limit == pytest.approx(known.limit, rel=1e-3)


@pytest.mark.parametrize("goal", [{"quantiles": [0.9]}, "distribution"])
def test_functions_of_one_parameter_are_as_hard_as_the_parameter(goal: object) -> None:
    """An exponential with scale s has the quantile `s log 10`, and `∫ (∂F)² dF` is `2/27 / s²`."""
    scale = 3.0
    found, known = designed(goal, [scale], "exponential"), designed("scale", [scale], "exponential")
    factor = 2 / 27 if goal == "distribution" else (math.log(10) * scale) ** 2
    assert found.criterion == pytest.approx(factor * known.criterion, rel=1e-4)
    assert found.limit == pytest.approx(factor * known.limit, rel=1e-3)
    assert found.efficiency == pytest.approx(known.efficiency, rel=1e-3)


def test_the_share_of_ones_is_that_of_randomised_response() -> None:
    found, p, odds = designed({"above": [0]}, [0.3], "bernoulli"), 0.3, math.e
    told = (1 + (odds - 1) * p) / (1 + odds)
    assert found.criterion == pytest.approx(told * (1 - told) * ((odds + 1) / (odds - 1)) ** 2, rel=1e-6)
    assert found.efficiency == pytest.approx(1, abs=1e-3)
    assert found.criterion_of == {"above_0": 1.0}


def test_the_whole_of_integers_is_a_sum() -> None:
    """`Σ P(x) (∂F(x))²` of a Poisson distribution, whose `∂F(x)` by the rate is `-P(x)`."""
    [whole] = functionals(parse_goal("distribution", families["poisson"]), families["poisson"], (2.5,))
    x = np.arange(60)
    shares = np.exp(x * math.log(2.5) - 2.5 - np.array([math.lgamma(n + 1) for n in x]))
    assert whole.slopes[0, 0] == pytest.approx(float((shares**3).sum()), rel=1e-6)


def share_above(theta: FloatArray) -> float:
    return float(norm.sf(65, theta[0], theta[1]))


def ninth_decile(theta: FloatArray) -> float:
    return float(norm.ppf(0.9, theta[0], theta[1]))


def slope_of(function: Callable[[FloatArray], float], theta: FloatArray) -> FloatArray:
    step = 1e-4 * np.eye(len(theta))
    return np.array([(function(theta + each) - function(theta - each)) / 2e-4 for each in step])


@pytest.mark.parametrize(("goal", "function"), [("above=65", share_above), ("quantiles=0.9", ninth_decile)])
def test_no_two_thresholds_are_better(goal: str, function: Callable[[FloatArray], float]) -> None:
    """Elfving's theorem: of two thresholds with scores f the best weights have the criterion `(|a₁| + |a₂|)²`, where
    `a₁ f₁ + a₂ f₂` is the slope of what is asked. The best pair of a grid is at most 1% worse than the design, and
    never better; for the slope of the other goal that does not hold."""
    theta = np.array([50.0, 10.0])
    found = optimal_design(NORMAL, theta, "laplace", ONE, parse_goal(goal, NORMAL), 1)

    def best_pair(slope: FloatArray) -> float:
        cuts = np.linspace(25.0, 75.0, 63)
        channel = channel_of(found.queries[0]).matrix
        scores = -NORMAL.cdf_gradient(theta[np.newaxis], cuts)[0]
        size = np.sqrt(channel_information(NORMAL, tuple(theta), cuts[:, np.newaxis], channel)[:, 0, 0])
        scores *= (size / np.abs(scores[:, 0]))[:, np.newaxis]
        pairs = (np.linalg.solve(scores[[i, j]].T, slope) for i, j in combinations(range(len(cuts)), 2))
        return min(float(np.abs(pair).sum() ** 2) for pair in pairs)

    least = best_pair(slope_of(function, theta))
    assert found.criterion <= least * (1 + 1e-6)
    assert least <= 1.01 * found.criterion
    other = share_above if function is ninth_decile else ninth_decile
    assert best_pair(slope_of(other, theta)) != pytest.approx(found.criterion, rel=0.1)


@pytest.mark.parametrize(
    ("goal", "weights"),
    [
        ({"quantiles": {"0.1": 1, "0.9": 2}}, {"quantile_0.1": 1.0, "quantile_0.9": 2.0}),
        ({"quantiles": [0.5], "above": [65]}, {"quantile_0.5": norm.pdf(0) ** 2 / 100, "above_65": 1.0}),
    ],
)
def test_the_criterion_is_the_sum_that_it_names(goal: object, weights: dict[str, float]) -> None:
    """With numerical slopes, and the information of the design's own queries."""
    theta = np.array([50.0, 10.0])
    found = designed(goal, [50.0, 10.0])
    assert found.criterion_of == pytest.approx(weights, rel=1e-6)
    covariance = np.linalg.inv(found.information)
    functions = {
        "quantile_0.1": lambda theta: float(norm.ppf(0.1, theta[0], theta[1])),
        "quantile_0.5": lambda theta: float(theta[0]),
        "quantile_0.9": ninth_decile,
        "above_65": share_above,
    }
    slopes = {name: slope_of(functions[name], theta) for name in weights}
    total = sum(weight * slopes[name] @ covariance @ slopes[name] for name, weight in weights.items())
    assert found.criterion == pytest.approx(total, rel=1e-5)


def test_units_do_not_matter() -> None:
    for goal, standard, factor in (("above=65", "above=1.5", 1.0), ("quantiles=0.9", "quantiles=0.9", 100.0)):
        found, known = designed(goal, [50.0, 10.0]), designed(standard, [0.0, 1.0])
        assert found.criterion == pytest.approx(factor * known.criterion, rel=1e-9)


def test_on_a_logarithmic_scale_values_are_in_their_own_units() -> None:
    logs = optimal_design(NORMAL, [6.2, 0.7], "laplace", ONE, parse_goal({"above": [1000]}, NORMAL, "log"))
    plain = designed({"above": [math.log(1000)]}, [6.2, 0.7], mechanism="laplace")
    assert (logs.criterion, logs.queries) == (plain.criterion, plain.queries)
    assert list(logs.criterion_of) == ["above_1000"]


def test_a_share_is_that_of_another_member_at_the_same_quantile() -> None:
    theta = np.array([4.0, 10.0])
    goal = parse_goal({"above": [65]}, GAMMA)
    below = GAMMA.cdf(theta[np.newaxis], np.array([65.0]))[0]
    assert goal_at(goal, GAMMA, theta, below).cuts == pytest.approx((65.0,), rel=1e-9)
    [cut] = goal_at(goal, GAMMA, GAMMA.standard, below).cuts
    assert GAMMA.cdf(GAMMA.standard[np.newaxis], np.array([cut]))[0] == pytest.approx(below, rel=1e-9)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_share_that_one_threshold_tells_has_a_design(mechanism: Mechanism) -> None:
    """The best information is singular, and its rounding error must not pass for information that is missing."""
    family = families["gamma"]
    goal = goal_at(parse_goal({"above": [0.5]}, family), family, family.standard, np.array([0.5]))
    design = optimal_design(family, family.standard, mechanism, Fraction(1), goal)
    assert max(design.weights) > 0.99
    assert design.gap < 0.05 * design.criterion


@pytest.mark.parametrize("share", [0.03, 0.1, 0.5, 0.9, 0.97])
def test_a_share_of_a_member_whose_greatest_value_lies_there_keeps_its_value(share: float) -> None:
    family = families["bernoulli"]
    goal = goal_at(parse_goal({"above": [0.5]}, family), family, family.standard, np.array([share]), 1.0)
    assert 0 <= goal.cuts[0] < 1
    assert optimal_design(family, family.standard, "laplace", Fraction(1), goal).criterion > 0


def test_shares_above_values_that_nearly_coincide_under_a_wide_prior_are_no_obstacle() -> None:
    spec = {"family": "student_t", "epsilon": 1, "mechanism": "randomized_response", "levels": 1}
    specification = Specification.from_json({**spec, "goal": {"above": {"10": 5, "13": 1}}})
    assert specification.standard_goal.cuts == pytest.approx([0.06, 0.06], abs=0.1)


def test_a_share_that_floating_point_cannot_tell_from_none_is_refused() -> None:
    with pytest.raises(DesignError, match="nobody lies above the goal's value"):
        designed("above=1e9", [50.0, 10.0])


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["design", "--epsilon", "1", "--family", "exponential", "--goal", "above=2", "--json"]
    assert run(arguments) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["criterion_of"] == {"above_2": 1.0}
    assert 0 < reply["limit"] <= reply["criterion"]
    assert reply["efficiency"] == pytest.approx(reply["limit"] / reply["criterion"])
