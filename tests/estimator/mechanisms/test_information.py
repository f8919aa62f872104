"""Exact information: against differences of the exact log-likelihood, and known figures."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.mechanisms.information import channel_information, information

NORMAL = families["normal"]

QUERIES = [
    Laplace(-0.3, 0.9, 1, 1),
    Laplace(-1.0, 2.5, 5, "0.5"),
    Laplace(-2.0, 2.0, 64, 8),
    RandomizedResponse([0.4], 2),
    RandomizedResponse([-1.0, 0.25, 0.5, 1.75], "0.1"),
    RandomizedResponse([-2.0, -0.5, 0.5, 1.0, 3.0], 40),
]

MEMBERS = {
    "normal": [0.3, 1.4],
    "gumbel": [-0.2, 0.9],
    "student_t": [0.3, 1.2, 3.0],
    "gamma": [1.7, 0.8],
    "beta": [1.5, 2.5],
    "poisson": [1.3],
}


def answer_probabilities(family: Family, theta: FloatArray, query: Query) -> FloatArray:
    cdf = family.cdf(theta[np.newaxis], np.array(query.edges))[0]
    shares: FloatArray = np.diff(cdf, prepend=0.0, append=1.0) @ np.array(query.channel())
    return shares


def information_by_differences(family: Family, theta: npt.ArrayLike, query: Query) -> FloatArray:
    """`E[score scoreᵀ]` with the score from central differences of the log-likelihood."""
    at = np.array(theta, dtype=float)
    steps = 1e-5 * np.eye(len(at))
    scores = np.array(
        [
            np.log(answer_probabilities(family, at + step, query) / answer_probabilities(family, at - step, query))
            / 2e-5
            for step in steps
        ]
    )
    matrix: FloatArray = (scores * answer_probabilities(family, at, query)) @ scores.T
    return matrix


@pytest.mark.parametrize("name", sorted(MEMBERS))
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.mechanism)
def test_it_is_the_variance_of_the_score(name: str, query: Query) -> None:
    family, theta = families[name], MEMBERS[name]
    expected = information_by_differences(family, theta, query)
    found = information(family, theta, query)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7 * np.abs(expected).max())


def test_queries_of_one_shape_are_computed_together() -> None:
    edges = np.random.default_rng(1).normal(size=(20, 4))
    edges.sort(axis=1)
    queries = [RandomizedResponse(row.tolist(), 2) for row in edges]
    together = channel_information(NORMAL, [0.5, 2.0], edges, queries[0].channel())
    alone = np.array([information(NORMAL, [0.5, 2.0], query) for query in queries])
    assert together == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(("location", "scale"), [(50.0, 3.0), (-7.0, 1e-6), (0.0, 1e9)])
def test_it_moves_with_a_location_scale_family(location: float, scale: float) -> None:
    """Theorem 3 of Yıldırım 2024."""
    standard = information(NORMAL, [0.0, 1.0], Laplace(-0.75, 1.5, 3, 2))
    moved = Laplace(location - 0.75 * scale, location + 1.5 * scale, 3, 2)
    assert information(NORMAL, [location, scale], moved) * scale**2 == pytest.approx(standard, rel=1e-6)


@pytest.mark.parametrize("far", [9.0, 30.0, 1e6])
def test_a_query_far_from_everybody_tells_nothing(far: float) -> None:
    query = Laplace(far, far + 1, 4, 50)
    assert np.abs(information(NORMAL, [0.0, 1.0], query)).max() < 1e-6


CONTINUOUS = [(0.5, 0.019, 0.0332), (1, 0.071, 0.1089), (2, 0.223, 0.2860), (3, 0.398, 0.4312), (5, 0.728, 0.6122)]


@pytest.mark.parametrize(("epsilon", "half_width", "about_mu"), [*CONTINUOUS, (10, 1.224, 0.8044)])
def test_the_clipped_laplace_mechanism_of_the_papers(epsilon: float, half_width: float, about_mu: float) -> None:
    """The limit of many levels; at 512 levels the mechanism is continuous to 1e-4."""
    found = information(NORMAL, [0.0, 1.0], Laplace(-half_width, half_width, 512, epsilon))
    assert found[0, 0] == pytest.approx(about_mu, abs=6e-5)


@pytest.mark.parametrize(("epsilon", "about_mu"), [(0.5, 0.0382), (1, 0.1360), (2, 0.3693), (3, 0.5216)])
def test_a_threshold(epsilon: float, about_mu: float) -> None:
    """`2/π · tanh²(ε/2)`, and the same for `laplace` and `randomized_response`."""
    found = information(NORMAL, [0.0, 1.0], Laplace(-1.0, 1.0, 1, epsilon))
    assert found[0, 0] == pytest.approx(2 / np.pi * np.tanh(epsilon / 2) ** 2, rel=1e-12)
    assert found[0, 0] == pytest.approx(about_mu, abs=5e-5)
    assert found == pytest.approx(information(NORMAL, [0.0, 1.0], RandomizedResponse([0.0], epsilon)), abs=1e-15)


def test_the_papers_best_single_interval_is_singular() -> None:
    """At ε = 1 the paper's score for its real data prefers an interval that cannot identify two parameters."""
    found = information(NORMAL, [0.0, 1.0], Laplace(0.777, 0.847, 512, Fraction(1)))
    assert np.linalg.det(found) == pytest.approx(4e-7, rel=0.2)
