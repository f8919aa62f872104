"""Optimal designs: known figures, certificates that can fail, brute force, and other families."""

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.design.convex import Criterion
from dither_estimator.design.design import Design, DesignError, Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import Family, FloatArray, families, find_family
from dither_estimator.mechanisms.information import information
from dither_estimator.policies.aims import aims

NORMAL = families["normal"]
MECHANISMS: tuple[Mechanism, ...] = ("laplace", "randomized_response")

ALL = {
    "laplace": {"0.5": 124.8, "1": 33.22, "2": 10.46, "5": 3.60, "10": 2.26},
    "randomized_response": {"0.5": 89.7, "1": 21.09, "2": 5.74, "5": 1.908, "10": 1.56},
}
ABOUT_MU = {"0.5": 0.0381, "1": 0.1359, "2": 0.3692, "3": 0.5215, "5": 0.6642, "10": 0.8293}


def design(
    mechanism: Mechanism, epsilon: str, goal: str = "all", family: Family = NORMAL, levels: int | None = None
) -> Design:
    return optimal_design(family, family.standard, mechanism, Fraction(epsilon), parse_goal(goal, family), levels)


def mixed(family: Family, theta: FloatArray, found: Design) -> FloatArray:
    """The design's information, from its queries alone."""
    return sum(
        (w * information(family, theta, q) for q, w in zip(found.queries, found.weights, strict=True)),
        np.zeros((len(theta), len(theta))),
    )


@pytest.mark.parametrize(("mechanism", "epsilon"), [(m, e) for m in MECHANISMS for e in ALL[m]])
def test_both_parameters_of_the_normal(mechanism: Mechanism, epsilon: str) -> None:
    found = design(mechanism, epsilon)
    assert found.criterion <= ALL[mechanism][epsilon]
    assert 0 <= found.gap < 1e-3 * found.criterion
    assert np.trace(np.linalg.inv(mixed(NORMAL, NORMAL.standard, found))) == pytest.approx(found.criterion, rel=1e-6)


@pytest.mark.parametrize("epsilon", ABOUT_MU)
def test_mu_alone_with_laplace(epsilon: str) -> None:
    found = design("laplace", epsilon, "mu")
    assert information(NORMAL, NORMAL.standard, found.queries[0])[0, 0] >= ABOUT_MU[epsilon]
    assert found.criterion == pytest.approx(1 / found.information[0, 0], rel=1e-9)
    assert found.gap < 1e-3 * found.criterion


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_threshold_does_not_identify_sigma(mechanism: Mechanism) -> None:
    found = design(mechanism, "1", "mu")
    assert len(found.queries) == 1
    assert found.queries[0].edges == (0.0,)
    assert found.variances[0] == pytest.approx(np.pi / 2 / np.tanh(0.5) ** 2)
    assert found.variances[1] is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "3", "7", "20", "50"])
@pytest.mark.parametrize("goal", ["all", "mu", "sigma", "mu=1,sigma=5"])
def test_designs_are_certified_symmetric_and_few(mechanism: Mechanism, epsilon: str, goal: str) -> None:
    found = design(mechanism, epsilon, goal)
    assert found.gap < 1e-3 * found.criterion
    assert sum(found.weights) == pytest.approx(1)
    assert len(found.queries) <= 4
    assert all(query.n_answers <= 32 for query in found.queries)
    weighted = zip(found.queries, found.weights, strict=True)
    asked = {(tuple(round(edge, 9) + 0.0 for edge in query.edges), round(weight, 9)) for query, weight in weighted}
    assert asked == {(tuple(0.0 - edge for edge in reversed(edges)), weight) for edges, weight in asked}
    assert found.information[0, 1] == 0


def directional(found: Design, slope: FloatArray, query: Query) -> float:
    return float(np.sum(slope * information(found.family, np.array(found.theta), query)))


def random_query(mechanism: Mechanism, epsilon: Fraction, rng: np.random.Generator) -> Query:
    if mechanism == "laplace":
        centre, half = rng.normal(0, 1.2), np.exp(rng.uniform(-3, 1.5))
        return Laplace(centre - half, centre + half, int(rng.integers(1, 9)), epsilon)
    return RandomizedResponse(np.sort(rng.normal(0, 1.2, int(rng.integers(1, 13)))).tolist(), epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0.5", "2", "5"])
def test_no_query_promises_a_gain(mechanism: Mechanism, epsilon: str) -> None:
    """The equivalence theorem with random queries; the design for another sigma must fail it."""
    rng = np.random.default_rng(1)
    found = design(mechanism, epsilon)
    queries = [random_query(mechanism, Fraction(epsilon), rng) for _ in range(3_000)]
    inverse = np.linalg.inv(found.information)
    gains = [directional(found, inverse @ inverse, query) for query in (*queries, *found.queries)]
    assert max(gains) <= found.criterion + 2 * found.gap + 1e-6 * found.criterion

    worse = np.linalg.inv(mixed(NORMAL, NORMAL.standard, found.at([0.0, 1.2])))
    assert max(directional(found, worse @ worse, query) for query in found.queries) > np.trace(worse) * 1.005


@pytest.mark.parametrize(("levels", "criterion"), [(64, 144.0), (1_023, 144.0), (1, 124.8)])
def test_given_levels(levels: int, criterion: float) -> None:
    found = design("laplace", "0.5", levels=levels)
    assert {query.levels for query in found.queries if isinstance(query, Laplace)} == {levels}
    assert found.criterion <= criterion
    assert found.gap < 1e-3 * found.criterion


@pytest.mark.parametrize("epsilon", ["0.5", "8"])
@pytest.mark.parametrize("cuts", [1, 2, 12, 63])
def test_given_cuts(epsilon: str, cuts: int) -> None:
    found = design("randomized_response", epsilon, levels=cuts)
    assert {query.n_answers for query in found.queries} == {cuts + 1}
    assert found.criterion >= design("randomized_response", epsilon).criterion * (1 - 1e-3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("location", "scale"), [(50.0, 10**0.5), (-3.0, 1e-6), (7.0, 1e9)])
def test_designs_move_with_the_member(mechanism: Mechanism, location: float, scale: float) -> None:
    standard = design(mechanism, "2")
    moved = standard.at([location, scale])
    assert moved.criterion == pytest.approx(standard.criterion * scale**2)
    assert mixed(NORMAL, np.array([location, scale]), moved) == pytest.approx(
        moved.information, rel=1e-5, abs=1e-5 * np.abs(moved.information).max()
    )
    for query, original in zip(moved.queries, standard.queries, strict=True):
        assert np.array(query.edges) == pytest.approx(location + scale * np.array(original.edges), rel=1e-6)


def test_coordinates_are_dyadic() -> None:
    found = design("randomized_response", "1").at([0.1, 0.3])
    for query in found.queries:
        for edge in query.edges:
            assert edge.as_integer_ratio()[1] <= 2**24


def test_the_transform_is_that_of_the_queries() -> None:
    goal = parse_goal("all", NORMAL)
    found = optimal_design(NORMAL, [2.0, 0.5], "laplace", Fraction(1), goal, transform="log")
    assert {query.transform for query in found.queries} == {"log"}
    assert {query.transform for query in found.at([1.0, 0.5]).queries} == {"log"}


MEMBERS = {
    "student_t:4": (0.0, 1.0),
    "logistic": (0.0, 1.0),
    "gumbel": (0.0, 1.0),
    "student_t": (1.0, 2.0, 3.0),
    "gamma": (2.0, 3.0),
    "weibull": (1.5, 2.0),
    "beta": (2.0, 2.0),
    "beta ": (0.7, 3.0),
    "exponential": (3.0,),
    "bernoulli": (0.2,),
    "poisson": (5.0,),
    "negative_binomial": (6.0, 3.0),
}


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_other_families(name: str, mechanism: Mechanism, epsilon: str) -> None:
    """Certified against every candidate query, and the information is that of the queries."""
    family, theta = find_family(name.strip()), np.array(MEMBERS[name])
    for goal in ("all", family.names[0]):
        found = optimal_design(family, theta, mechanism, Fraction(epsilon), parse_goal(goal, family))
        assert found.gap < 1e-3 * found.criterion
        scale = np.abs(found.information).max()
        assert mixed(family, theta, found) == pytest.approx(found.information, rel=1e-4, abs=1e-5 * scale)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response", "staircase", "gaussian"])
@pytest.mark.parametrize("family", ["laplace", "logistic", "student_t:4"])
def test_symmetric_families_other_than_the_normal(family: str, mechanism: Mechanism) -> None:
    """Questions and their mirror images about the location, 3, have equal weights."""
    symmetric = find_family(family)
    found = optimal_design(symmetric, [3.0, 1.0], mechanism, Fraction(1), parse_goal("all", symmetric))
    ends = [
        (query.edges[0] - 3, query.edges[-1] - 3, weight)
        for query, weight in zip(found.queries, found.weights, strict=True)
    ]
    mirrored = [(-last, -first, weight) for first, last, weight in ends]
    assert np.array(sorted(ends)) == pytest.approx(np.array(sorted(mirrored)), abs=1e-5)


def test_an_unknown_shape_does_not_break_the_symmetry() -> None:
    found = optimal_design(
        families["student_t"], [3.0, 1.0, 4.0], "laplace", Fraction(1), parse_goal("all", families["student_t"])
    )
    edges = sorted(query.edges[0] - 3 for query in found.queries)
    assert edges == pytest.approx([-edge for edge in reversed(edges)], abs=1e-5)


def test_other_families_weigh_unconstrained_coordinates() -> None:
    """The criterion of a positive parameter is the variance of its logarithm, whatever the unit."""
    exponential = families["exponential"]
    small, large = (
        optimal_design(exponential, [scale], "laplace", Fraction(1), parse_goal("all", exponential))
        for scale in (0.01, 70.0)
    )
    assert small.criterion == pytest.approx(large.criterion, rel=1e-4)
    assert large.variances[0] == pytest.approx(large.criterion * 70.0**2, rel=1e-9)


def test_whole_numbers_are_cut_between_them() -> None:
    poisson = families["poisson"]
    found = design("randomized_response", "3", family=poisson)
    assert all(edge % 1 == 0.5 for query in found.queries for edge in query.edges)


@pytest.mark.parametrize(
    ("theta", "levels", "message"),
    [
        ([0.0], None, "theta must give mu, sigma"),
        ([0.0, 0.0], None, "sigma must be"),
        ([np.nan, 1.0], None, "mu must be"),
        ([1.0, 1e200], None, "sigma must be"),
        ([1e30, 1.0], None, "floating point"),
        ([0.0, 1.0], 0, "1 to 63 levels"),
        ([0.0, 1.0], 64, "1 to 63 levels"),
    ],
)
def test_what_cannot_be_designed(theta: list[float], levels: int | None, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        optimal_design(NORMAL, theta, "randomized_response", Fraction(1), parse_goal("all", NORMAL), levels)


def test_more_cuts_than_values() -> None:
    with pytest.raises(DesignError, match="too few values for 3 cuts"):
        design("randomized_response", "1", family=families["bernoulli"], levels=3)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response", "gaussian"])
@pytest.mark.parametrize("size", [1e-3, 0.1, 2.0, 1e3])
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 100), *(pytest.param(Fraction(each), marks=pytest.mark.long) for each in (1, 3, 5, 20))]
)
def test_counts_that_are_hardly_ever_above_zero(mechanism: Mechanism, size: float, epsilon: Fraction) -> None:
    """Where floating point cannot tell designs apart there is none, rather than one whose gap says nothing."""
    family = find_family("negative_binomial")
    with suppress(DesignError):
        design = optimal_design(family, [1e-6, size], mechanism, epsilon, parse_goal("all", family))
        assert 0 <= design.gap <= 0.05 * design.criterion


def test_where_rounding_leaves_nothing_of_the_slope_no_bound_is_told() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="the slope is 0"):
        Criterion(np.zeros((2, 2)), 1e-7 * np.eye(2)).bound(np.eye(2), 0.0)


def test_json() -> None:
    found = design("randomized_response", "0.5", "mu").to_json()
    assert found["queries"] == [
        {"mechanism": "randomized_response", "cuts": [0.0], "epsilon": 0.5, "transform": "identity", "weight": 1.0}
    ]
    assert found["variance"] == {"mu": pytest.approx(26.186, abs=1e-3), "sigma": None}
    assert found["criterion"] == pytest.approx(found["variance"]["mu"], rel=1e-12)
    assert found["information"][1] == [0.0, 0.0]
    assert found["limit"] == pytest.approx(found["criterion"], rel=1e-5)
    assert found["efficiency"] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("unit", [2.0**-20, 500.0, 1e9])
def test_a_design_does_not_depend_on_the_unit_of_values(unit: float) -> None:
    """Questions to wages were about `mu` alone where its variance was weighed beside those of logarithms."""
    family = families["student_t"]
    goal = parse_goal("all", family)
    found, moved = (
        optimal_design(family, [0.0, scale, 5.0], "randomized_response", Fraction(2), goal) for scale in (1.0, unit)
    )
    assert moved.criterion == pytest.approx(found.criterion, rel=1e-9)
    assert moved.limit == pytest.approx(found.limit, rel=1e-9)
    inverse = np.linalg.inv(mixed(family, np.array([0.0, unit, 5.0]), moved))
    assert moved.variances == pytest.approx(np.diag(inverse).tolist(), rel=1e-6)
    assert moved.criterion_of == {"mu / sigma": 1.0, "log sigma": 1.0, "log df": 1.0}


def test_what_questions_shall_make_known_does_not_depend_on_the_unit_of_values() -> None:
    family = families["student_t"]
    coordinates = np.random.default_rng(1).normal([0.0, 0.0, 1.5], [0.3, 0.2, 0.5], (500, 3))
    spread = {}
    for unit in (1.0, 512.0):
        moved = coordinates * [unit, 1.0, 1.0] + [0.0, np.log(unit), 0.0]
        values, weights = aims(parse_goal("all", family), family, family.constrain(moved), moved)
        spread[unit] = values.std(axis=0) * np.sqrt(weights)
    assert spread[512.0] == pytest.approx(spread[1.0], rel=1e-9)
