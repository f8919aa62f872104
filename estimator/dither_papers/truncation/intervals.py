"""The best interval to ask about, (9), (13), for a normal population in standard units, by exact information.

By Theorem 3 `[ac + m, bc + m]` is then best for N(m, c²). If both parameters matter, a single interval may not identify
them both, whatever its score; a mixture of intervals does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.optimize import minimize

from dither_estimator.design.convex import Criterion, best_weights, mix
from dither_estimator.design.goal import Goal
from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Interval
from dither_papers.truncation.criteria import Score, find_score
from dither_papers.truncation.information import exact_information

__all__ = ["PAPER_INTERVALS", "Mixture", "best_interval", "best_mixture", "best_on_grid"]

PAPER_INTERVALS = {1: 0.06, 2: 0.12, 5: 0.54, 10: 0.96}
"""Half widths of the paper's best intervals for μ by ε, found by Monte Carlo on a grid of step 0.06."""

_CENTRES = np.linspace(0.0, 2.5, 11)
_WIDTHS = np.geomspace(0.02, 8.0, 13)
_GAP_TOLERANCE = 1e-4
_MAX_ROUNDS = 20
_MIN_WEIGHT = 1e-3


@lru_cache
def best_interval(score: str | Goal | Score, epsilon: float, noise_epsilon: float | None = None) -> Interval:
    """`[a, b]` of (13) for what `find_score` takes, to about 1e-5; it may be the interval or its mirror image.

    With `noise_epsilon`, the interval that appears best if noise has scale Δ/noise_epsilon but the model assumes
    another.
    """
    value = find_score(score)
    return _largest(lambda interval: value(exact_information(interval, epsilon, noise_epsilon)))


@lru_cache
def best_on_grid(
    score: str | Goal | Score, epsilon: float, noise_epsilon: float | None = None, points: int = 50, reach: float = 3.0
) -> Interval:
    """The best of all `a < b` on the paper's grid: `points` equally spaced ones from `-reach` to `reach` for each end.

    Of an interval and its mirror image, which are equally good up to rounding, the one further to the right.
    """
    value, ends = find_score(score), np.linspace(-reach, reach, points).tolist()
    pairs = [(a, b) for i, a in enumerate(ends) for b in ends[i + 1 :]]
    return max(
        pairs, key=lambda pair: (round(value(exact_information(pair, epsilon, noise_epsilon)), 12), pair[0] + pair[1])
    )


@dataclass(frozen=True, eq=False)
class Mixture:
    """Intervals and their probabilities, with nearly the smallest `trace(F⁻¹)` of all mixtures."""

    intervals: Sequence[Interval]
    weights: FloatArray
    information: FloatArray
    gap: float
    """The share by which another mixture could still be better: the equivalence theorem's bound."""


@lru_cache
def best_mixture(epsilon: float) -> Mixture:
    """The A-optimal mixture for N(0, 1), with equal shares for mirror images."""
    intervals = [(float(m - w / 2), float(m + w / 2)) for m in _CENTRES for w in _WIDTHS]
    informations = np.array([_mirrored(interval, epsilon) for interval in intervals])
    criterion = Criterion.of(np.eye(2), informations)
    for _ in range(_MAX_ROUNDS):
        weights = best_weights(criterion, informations)
        matrix = mix(weights, informations)
        slope = criterion.slope(matrix)
        new = _largest(partial(_gain, slope, epsilon))
        added = _mirrored(new, epsilon)
        gap = 1.0 - criterion.bound(matrix, float(np.sum(slope * added))) / criterion.value(matrix)
        if gap < _GAP_TOLERANCE:
            break
        intervals.append(new)
        informations = np.concatenate([informations, added[None]])
    kept = np.flatnonzero(weights > _MIN_WEIGHT)
    share = np.repeat(weights[kept] / weights[kept].sum() / 2.0, 2)
    both = [each for i in kept for each in (intervals[i], (-intervals[i][1], -intervals[i][0]))]
    matrix = mix(weights[kept] / weights[kept].sum(), informations[kept])
    return Mixture(both, share, matrix, gap)


def _mirrored(interval: Interval, epsilon: float) -> FloatArray:
    """The information of an interval and its mirror image in equal parts, which is diagonal."""
    return np.diag(np.diag(exact_information(interval, epsilon)))


def _gain(slope: FloatArray, epsilon: float, interval: Interval) -> float:
    """`tr(W F)`: the rate at which the criterion falls towards an interval and its mirror image."""
    return float(np.sum(slope * _mirrored(interval, epsilon)))


def _largest(value: Callable[[Interval], float]) -> Interval:
    """The interval with the largest value, found on a grid and refined by the simplex method."""
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
