"""Which interval to ask about, (9), (13), for a normal population in standard units, from the exact information.

By Theorem 3 `[ac + m, bc + m]` is then the best for N(m, c²). Where both parameters matter, one interval may not tell
them apart, whatever a score says: a mixture of intervals does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.optimize import minimize

from dither_estimator.design.convex import Criterion, best_weights, mix
from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Interval
from dither_papers.truncation.information import exact_information

__all__ = ["PAPER_INTERVALS", "SCORES", "Mixture", "Score", "best_interval", "best_mixture", "harmonic", "of_the_mean"]

PAPER_INTERVALS = {1: 0.06, 2: 0.12, 5: 0.54, 10: 0.96}
"""Half the width of the paper's best intervals for μ by ε, found by Monte Carlo on a grid of step 0.06."""

Score = Callable[[FloatArray], float]
"""What is to be large, of an information matrix (2, 2)."""

_CENTRES = np.linspace(0.0, 2.5, 11)
_WIDTHS = np.geomspace(0.02, 8.0, 13)
_GAP = 1e-4
_ROUNDS = 20
_NEGLIGIBLE = 1e-3


def of_the_mean(information: FloatArray) -> float:
    """The first entry: the simulated study's score."""
    return float(information[0, 0])


def harmonic(information: FloatArray) -> float:
    """`(1/F₁₁ + 1/F₂₂)⁻¹`, the real-data study's score; blind to whether the matrix is singular."""
    return float(1.0 / (1.0 / information[0, 0] + 1.0 / information[1, 1]))


SCORES: dict[str, Score] = {"mean": of_the_mean, "harmonic": harmonic}


@lru_cache
def best_interval(score: str, epsilon: float, noise_epsilon: float | None = None) -> Interval:
    """`[a, b]` of (13) for a score of `SCORES`, to about 1e-5; of an interval and its mirror image either one.

    With `noise_epsilon`, the one that looks best where noise has the scale Δ/noise_epsilon, and the model another.
    """
    return _largest(lambda interval: SCORES[score](exact_information(interval, epsilon, noise_epsilon)))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Intervals and how often each is asked: of all mixtures, nearly the smallest `trace(F⁻¹)`."""

    intervals: Sequence[Interval]
    weights: FloatArray
    information: FloatArray
    gap: float
    """By what share any mixture of intervals could still be better: the equivalence theorem's bound."""


@lru_cache
def best_mixture(epsilon: float) -> Mixture:
    """The A-optimal mixture for N(0, 1), mirror images half and half."""
    intervals = [(float(m - w / 2), float(m + w / 2)) for m in _CENTRES for w in _WIDTHS]
    informations = np.array([_mirrored(interval, epsilon) for interval in intervals])
    criterion = Criterion.of(np.ones(2), informations)
    for _ in range(_ROUNDS):
        weights = best_weights(criterion, informations)
        matrix = mix(weights, informations)
        slope = criterion.slope(matrix)
        new = _largest(partial(_gain, slope, epsilon))
        added = _mirrored(new, epsilon)
        gap = 1.0 - criterion.bound(matrix, float(np.sum(slope * added))) / criterion.value(matrix)
        if gap < _GAP:
            break
        intervals.append(new)
        informations = np.concatenate([informations, added[None]])
    kept = np.flatnonzero(weights > _NEGLIGIBLE)
    share = np.repeat(weights[kept] / weights[kept].sum() / 2.0, 2)
    both = [each for i in kept for each in (intervals[i], (-intervals[i][1], -intervals[i][0]))]
    matrix = mix(weights[kept] / weights[kept].sum(), informations[kept])
    return Mixture(both, share, matrix, gap)


def _mirrored(interval: Interval, epsilon: float) -> FloatArray:
    """The information of an interval and its mirror image, half and half: diagonal."""
    return np.diag(np.diag(exact_information(interval, epsilon)))


def _gain(slope: FloatArray, epsilon: float, interval: Interval) -> float:
    """`tr(W F)`: how fast the criterion falls towards an interval and its mirror image."""
    return float(np.sum(slope * _mirrored(interval, epsilon)))


def _largest(value: Callable[[Interval], float]) -> Interval:
    """The interval with the largest value, from a grid and then by the simplex method."""
    grid = [(float(m), float(np.log(w))) for m in _CENTRES for w in _WIDTHS]

    def loss(at: Sequence[float] | FloatArray) -> float:
        return -value(_ends(at))

    start = min(grid, key=loss)
    found = minimize(
        loss, np.array(start), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-13, "maxiter": 400}
    )
    low, high = _ends(found.x)
    return (float(low), float(high))


def _ends(at: Sequence[float] | FloatArray) -> Interval:
    half = float(np.exp(at[1])) / 2.0
    return float(at[0]) - half, float(at[0]) + half
