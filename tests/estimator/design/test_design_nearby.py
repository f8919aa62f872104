"""Designs carried over to other shapes: nearly as good as those found there, and no design is found while one asks."""

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from dither_client import Query
from dither_estimator.design import transfer as design_nearby
from dither_estimator.design.design import optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.limit import best_mechanism
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import solution
from dither_estimator.design.transfer import carried
from dither_estimator.families import FloatArray, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.information import information
from dither_estimator.specification.specification import Specification

CASES: list[tuple[str, tuple[float, ...], Any]] = [
    ("student_t", (0.0, 1.0, 1.0), "laplace"),
    ("student_t", (0.0, 1.0, 20.0), "randomized_response"),
    ("gamma", (0.4, 1.0), "gaussian"),
    ("beta", (1.0, 12.0), "randomized_response"),
    ("negative_binomial", (20.0, 7.0), "laplace"),
]
STAIRCASES: list[tuple[str, tuple[float, ...], Any]] = [
    ("gamma", (30.0, 1.0), "staircase"),
    ("beta", (0.4, 0.4), "staircase"),
]


def _criterion(family: str, theta: tuple[float, ...], queries: tuple[Query, ...], weights: FloatArray) -> float:
    member = Member(find_family(family), theta)
    matrix = sum(
        weight * information(member.family, theta, query) for query, weight in zip(queries, weights, strict=True)
    )
    return float(np.diag(np.linalg.inv(matrix)) @ np.diag(member.aim(parse_goal("all", member.family))))


@pytest.mark.parametrize(
    ("family", "theta", "mechanism"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in STAIRCASES)]
)
def test_what_is_carried_over_needs_hardly_more_respondents(
    family: str, theta: tuple[float, ...], mechanism: Any
) -> None:
    kind = find_family(family)
    goal = parse_goal("all", kind)
    standard = optimal_design(kind, kind.standard, mechanism, Fraction(1), goal)
    queries, weights = carried(standard, theta)
    assert weights.sum() == pytest.approx(1)
    best = optimal_design(kind, theta, mechanism, Fraction(1), goal).criterion
    assert best / _criterion(family, theta, queries, weights) > 0.98


def test_cuts_have_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that only go where the probabilities are the same need a quarter more for a Student t with one degree."""
    kind, theta = find_family("student_t"), (0.0, 1.0, 1.0)
    standard = optimal_design(kind, kind.standard, "randomized_response", Fraction(1), parse_goal("all", kind))
    moved = _criterion("student_t", theta, *carried(standard, theta))
    monkeypatch.setattr(design_nearby, "_MOVE_STEPS", ())
    assert _criterion("student_t", theta, *carried(standard, theta)) > 1.15 * moved


def test_a_symmetric_member_gets_symmetric_questions() -> None:
    kind = find_family("student_t")
    standard = optimal_design(kind, kind.standard, "randomized_response", Fraction(1), parse_goal("all", kind))
    queries, weights = carried(standard, (0.0, 1.0, 2.0))
    asked = {tuple(query.edges): weight for query, weight in zip(queries, weights.tolist(), strict=True)}
    assert {tuple(-edge for edge in reversed(edges)): weight for edges, weight in asked.items()} == pytest.approx(asked)


@pytest.mark.parametrize("mechanism", ["randomized_response", pytest.param("staircase", marks=pytest.mark.slow)])
def test_no_design_is_found_and_no_limit_certified_while_one_asks(mechanism: str) -> None:
    """Both take seconds for a new shape: all of them are made before the first question."""
    spec = Specification.from_json({"family": "gamma", "mechanism": mechanism, "epsilon": 2, "range": [1, 40]})
    learner, random = Learner(spec, 5), Random(5)
    found = solution.cache_info().misses, best_mechanism.cache_info().misses
    asked = set()
    for value in np.random.default_rng(5).gamma(20.0, 1.0, 2_000).tolist():
        query = learner.ask()
        asked.add(query)
        learner.learn(query, query.answer(value, random.randrange))
    assert (solution.cache_info().misses, best_mechanism.cache_info().misses) == found
    shape = learner.posterior().parameters["shape"]
    assert shape.sd / shape.mean < 0.5  # known, so that another shape's questions were asked
    assert len(asked) > 10
