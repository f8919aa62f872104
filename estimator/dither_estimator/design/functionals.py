"""What a goal asks for, near one member of a family: the slopes of its functions by the parameters.

By the delta method an estimate of θ with covariance `V` leaves a function `g(θ)` with the variance `tr(W V)`, where
`W = ∂g ∂gᵀ`; a mean of variances has the mean of such `W`. A goal's criterion is thus `tr(G M⁻¹)` with `G = Σ w W`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dither_client import Transform
from dither_estimator.design.goal import Goal
from dither_estimator.families import Family, FloatArray

__all__ = ["SCORE_STEP", "Functional", "functionals", "goal_at"]

SCORE_STEP = 0.125
"""The step of shares' normal scores, which are rounded: designs for values that nearly coincide are hard to find."""

_LEVELS, _LEVEL_WEIGHTS = np.polynomial.legendre.leggauss(48)
"""The Gauss-Legendre rule that averages over a population, in its quantiles' levels scaled to -1 to 1."""
_LEVEL_STEP = 1e-4
"""The step that the numerical density takes, as a share of the distance from a level to the nearer end."""
_MOST_INTEGERS = 4_096
"""With more likely integers than this, a population of integers hardly differs from a continuous one."""
_CUT_SHARE = 1e-9
"""The share of a population that is cut off at each end."""
_MAX_SCORE = 3.0
"""The largest normal score of a point: shares above points farther out are asked about as if they were at this one."""


@dataclass(frozen=True, eq=False)
class Functional:
    """One thing that a goal asks for."""

    name: str
    weight: float
    """The weight of `tr(slopes V)` in the goal's criterion."""
    slopes: FloatArray
    """`W`, shape (d, d), in the coordinates of θ itself."""
    place: float | None = None
    """Where a quantile lies, on the scale on which the family holds; None for a share."""

    def unit(self, transform: Transform) -> float:
        """What the values change by when it changes by one: of a quantile of logarithms, the value there.

        Infinite where floating point cannot hold it.
        """
        with np.errstate(over="ignore"):
            return 1.0 if self.place is None or transform == "identity" else float(np.exp(self.place))


def functionals(goal: Goal, family: Family, theta: tuple[float, ...]) -> list[Functional]:
    """What a goal about functions of the distribution asks for, at the member `theta`.

    A quantile of integers is that of their distribution function interpolated between them, which makes it smooth.
    """
    return [
        *_quantiles(goal, family, theta),
        *_shares(goal, family, theta),
        *([Functional("distribution", goal.distribution, _whole(family, theta))] if goal.distribution else []),
    ]


def goal_at(goal: Goal, family: Family, theta: FloatArray, below: FloatArray, step: float = 0.0) -> Goal:
    """The goal as it would be if the member `theta` (d,) had the shares `below` (k,) below its k values.

    Their normal scores are rounded to multiples of `step`, so that designs can be cached. A value stays where it is if
    the member would have nobody above the one with that share, which is then its greatest, such as 1 of `bernoulli`.
    """
    if not goal.above:
        return goal
    scores = ndtri(np.asarray(below, dtype=float).clip(_CUT_SHARE, 1 - _CUT_SHARE)).clip(-_MAX_SCORE, _MAX_SCORE)
    if step:
        scores = np.rint(scores / step) * step
    found = family.quantiles(theta[np.newaxis], ndtr(scores))[0]
    some_above = family.cdf(theta[np.newaxis], found)[0] < 1
    return goal.with_cuts(np.where(some_above, found, goal.cuts).tolist())


def _quantiles(goal: Goal, family: Family, theta: tuple[float, ...]) -> Iterator[Functional]:
    for level, weight in goal.quantiles:
        gradient, width, place = _at_level(family, np.array([theta]), level)
        weight = weight / width**2 if goal.of_shares else weight
        yield Functional(f"quantile_{level:.12g}", weight, np.outer(gradient, gradient) * width**2, place)


def _shares(goal: Goal, family: Family, theta: tuple[float, ...]) -> Iterator[Functional]:
    slopes = family.cdf_gradient(np.array([theta]), np.array(goal.cuts))[0] if goal.above else ()
    for (value, weight), slope in zip(goal.above, slopes, strict=True):
        yield Functional(f"above_{value:.12g}", weight, np.outer(slope, slope))


def _whole(family: Family, theta: tuple[float, ...]) -> FloatArray:
    """`∫ ∂F(x) ∂F(x)ᵀ dF(x)`, shape (d, d)."""
    row = np.array([theta])
    points, weights = family.quantiles(row, (_LEVELS + 1) / 2)[0], _LEVEL_WEIGHTS / 2
    if family.discrete:
        low, high = family.quantiles(row, np.array([_CUT_SHARE, 1 - _CUT_SHARE]))[0]
        if high - low <= _MOST_INTEGERS:
            points = np.arange(low, high + 1)
            weights = np.diff(family.cdf(row, np.append(points[0] - 0.5, points + 0.5))[0])
        points = points + 0.5
    slopes = family.cdf_gradient(row, points)[0]
    return np.asarray((weights[:, np.newaxis] * slopes).T @ slopes)


def _at_level(family: Family, row: FloatArray, level: float) -> tuple[FloatArray, float, float]:
    """The gradient of F at a quantile, shape (d,), one divided by the density there, and the quantile."""
    if family.discrete:
        x = float(family.quantiles(row, np.array([level]))[0, 0])
        ends = np.array([x - 0.5, x + 0.5])
        low, high = family.cdf(row, ends)[0]
        part = (level - low) / (high - low)
        below, above = family.cdf_gradient(row, ends)[0]
        return (1 - part) * below + part * above, 1 / (high - low), x
    step = _LEVEL_STEP * min(level, 1 - level)
    x, left, right = family.quantiles(row, np.array([level, level - step, level + step]))[0]
    return family.cdf_gradient(row, np.array([x]))[0, 0], (right - left) / (2 * step), x
