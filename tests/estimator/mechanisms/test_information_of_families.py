"""Exact information of every family and mechanism, against differences of SciPy's log-likelihood.

The score is a central difference of `log p` in the unconstrained coordinates, at two steps, extrapolated (Richardson):
of fourth order, good to about 1e-10. The tolerance, 1e-6 of the parameters' own informations, is for answers that
hardly ever come, whose probabilities are differences of distribution functions near 1.
"""

from fractions import Fraction

import numpy as np
import pytest
from oracle import answer_probabilities
from questions import QUESTIONS
from scipy_families import ORACLES

from dither_client import Query
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray, find_family
from dither_estimator.mechanisms.information import information

_STEP = 1e-3
_TOLERANCE = 1e-6
_LEVELS = np.array([0.08, 0.3, 0.55, 0.85, 0.97])


def by_differences(name: str, theta: tuple[float, ...], query: Query) -> FloatArray:
    """`E[score scoreᵀ]` about the parameters."""
    oracle = ORACLES[name]
    at = np.array(oracle.unconstrain(theta))

    def log_probabilities(coordinates: FloatArray) -> FloatArray:
        return np.log(answer_probabilities(query, oracle.law(*oracle.constrain(list(coordinates)))))

    scores = []
    for j, slope in enumerate(oracle.slopes([np.array(x) for x in theta])):
        shift = np.zeros(len(at))
        shift[j] = _STEP * (
            theta[1] if oracle.supports[j : j + 1] == ("real",) else 1.0
        )  # of the scale, or of a logarithm
        near, wide = (
            (log_probabilities(at + h * shift) - log_probabilities(at - h * shift)) / (2 * h * shift[j]) for h in (1, 2)
        )
        scores.append((4 * near - wide) / 3 / slope)
    score = np.array(scores)
    matrix: FloatArray = (score * answer_probabilities(query, oracle.law(*theta))) @ score.T
    return matrix


def questions(name: str, theta: tuple[float, ...], mechanism: str) -> list[Query]:
    """Questions that cut among the members' values, at three ε."""
    points = np.unique(ORACLES[name].law(*theta).ppf(_LEVELS))
    if find_family(name).discrete:
        points = np.unique(np.append(points, points[-1] + 1)) - 0.5
    return [QUESTIONS[mechanism](points.tolist(), epsilon) for epsilon in (Fraction(1, 2), Fraction(3), Fraction(20))]


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_it_is_the_variance_of_the_score(name: str, mechanism: str) -> None:
    for theta in (tuple(find_family(name).standard.tolist()), *ORACLES[name].thetas):
        for query in questions(name, theta, mechanism):
            expected = by_differences(name, theta, query)
            units = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
            assert information(find_family(name), theta, query) / units == pytest.approx(
                expected / units, abs=_TOLERANCE
            )


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_that_of_an_epsilon_slightly_larger_is_seen(mechanism: str) -> None:
    """What these differences can tell apart: ε = 0.5 and 0.50001, since the information grows as ε²."""
    query, other = (QUESTIONS[mechanism]([-1.0, 1.0], Fraction(e, 100_000)) for e in (50_000, 50_001))
    expected = by_differences("normal", (0.0, 1.0), query)[0, 0]
    assert information(find_family("normal"), [0.0, 1.0], other)[0, 0] > expected * (1 + 5 * _TOLERANCE)
