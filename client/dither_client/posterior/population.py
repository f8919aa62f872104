"""Quantiles and shares of the population, read off the distribution that a posterior gives at some points."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from dither_client.posterior.wire import QUANTILES, DistributionSummary, ParameterSummary

__all__ = ["quantile_at", "share_at"]

_NINETY_PERCENT = 2 * 1.6448536269514722
"""The width of a normal distribution's central 90%, in standard deviations."""
_OUTER = 0.185
"""The weight in a mean of either end of the central 90%; the median has the rest (Pearson and Tukey 1965)."""
_ROUNDED = 1e-11
"""The names of atoms have twelve digits."""
_MIRRORED = dict(zip(QUANTILES, reversed(QUANTILES), strict=True))


def share_at(distribution: DistributionSummary, x: float, atoms: Iterable[float] = ()) -> ParameterSummary:
    """The share of the population at or below `x`: by linear interpolation between the points, of integers in steps.

    Beyond the points it is only known to be between that of the outermost, which is within about a thousandth, and
    nobody's: `q05` and `q25`, or `q75` and `q95`, are 0 or 1, and the rest is the outermost's. Where nobody can be, as
    below an atom that comes first, below 0 of integers and beyond infinity, all of it is. Raises `ValueError` for NaN.
    """
    if math.isnan(x):
        raise ValueError("there is no share at or below NaN: give a number")
    points, cdf = distribution.x, distribution.cdf
    if math.isinf(x) or x < _least(points, atoms):
        return _summary(float(x > points[-1]), lambda _: float(x > points[-1]))
    at = math.floor(x) if _are_integers(points) else x
    found = _summary(_height(at, points, cdf.mean), lambda name: _height(at, points, getattr(cdf, name)))
    if at < points[0]:
        return _bounded(found, q05=0.0, q25=0.0)
    return _bounded(found, q75=1.0, q95=1.0) if at > points[-1] else found


def quantile_at(distribution: DistributionSummary, level: float, atoms: Iterable[float] = ()) -> ParameterSummary:
    """The least value at or below which a share `level` lies. Raises `ValueError` if it is beyond the points.

    A quantile is at most x exactly where the share at or below x is at least `level`, so that its bands are those of
    the distribution function, inverted.
    """
    points, cdf = distribution.x, distribution.cdf
    lowest = 0.0 if points[0] == _least(points, atoms) else max(cdf.q05[0], cdf.q95[0])
    if not lowest <= level <= min(cdf.q05[-1], cdf.q95[-1]):
        raise ValueError(f"the distribution is too uncertain at {level}: give this quantile as the collection's goal")
    bands = {name: _place(level, points, getattr(cdf, _MIRRORED[name])) for name in QUANTILES}
    middle = bands["q50"]
    mean = middle + _OUTER * ((bands["q05"] - middle) + (bands["q95"] - middle))
    return _summary(mean, bands.__getitem__)


def _summary(mean: float, read: Callable[[str], float]) -> ParameterSummary:
    quantiles = {name: read(name) for name in QUANTILES}
    return ParameterSummary(mean, (quantiles["q95"] - quantiles["q05"]) / _NINETY_PERCENT, **quantiles)


def _bounded(outermost: ParameterSummary, **ends: float) -> ParameterSummary:
    """What is known of a share beyond the points: that of the outermost with other `ends`, unless they meet."""
    found = replace(outermost, **ends)
    return _summary(found.q05, lambda _: found.q05) if found.q05 == found.q95 else found


def _least(x: Sequence[float], atoms: Iterable[float]) -> float:
    """A number below which nobody is: 0 of integers, or an atom that comes first; minus infinity if there is none."""
    if _are_integers(x):
        return min(0.0, x[0])
    first = any(math.isclose(x[0], atom, rel_tol=_ROUNDED, abs_tol=_ROUNDED) for atom in atoms)
    return x[0] if first else -math.inf


def _are_integers(x: Sequence[float]) -> bool:
    """Whether the points are consecutive integers: values that lie at them alone, and none between."""
    return x[0].is_integer() and all(right - left == 1 for left, right in pairwise(x))


def _height(at: float, x: Sequence[float], y: Sequence[float]) -> float:
    """The height at `at` of the curve through the points: that of the outermost beyond them, and of a jump its top."""
    right = bisect_right(x, at)
    if right in (0, len(x)):
        return y[0] if right == 0 else y[-1]
    left = right - 1
    return y[left] + (at - x[left]) / (x[right] - x[left]) * (y[right] - y[left])


def _place(level: float, x: Sequence[float], y: Sequence[float]) -> float:
    """The least place where the curve through the points is at least `level` high; in a jump, the place of the jump."""
    right = min(bisect_left(y, level), len(x) - 1)
    left = max(right - 1, 0)
    if right == left or x[right] == math.nextafter(x[left], math.inf) or _are_integers(x):
        return x[right]
    return x[left] + (level - y[left]) / (y[right] - y[left]) * (x[right] - x[left])
