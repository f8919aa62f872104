"""Quantiles and shares of the population, read off the distribution that a posterior gives at some points."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

from dither_client.posterior.wire import QUANTILES, DistributionSummary, ParameterSummary

__all__ = ["quantile_at", "share_at"]

_NINETY_PERCENT = 2 * 1.6448536269514722
"""The width of a normal distribution's central 90%, in standard deviations."""
_MIRRORED = dict(zip(QUANTILES, reversed(QUANTILES), strict=True))


def share_at(distribution: DistributionSummary, x: float) -> ParameterSummary:
    """The share of the population at or below `x`, by linear interpolation between the points.

    Beyond them it is that of the outermost, which bounds it to within about a thousandth.
    """
    cdf = distribution.cdf
    return _summary(lambda name: _interpolated(x, distribution.x, getattr(cdf, name)))


def quantile_at(distribution: DistributionSummary, level: float) -> ParameterSummary:
    """The value at or below which a share `level` lies. Raises `ValueError` if it is beyond the points.

    A quantile is at most x exactly where the share at or below x is at least `level`, so that its bands are those of
    the distribution function, inverted.
    """
    cdf = distribution.cdf
    if not max(cdf.q05[0], cdf.q95[0]) <= level <= min(cdf.q05[-1], cdf.q95[-1]):
        raise ValueError(f"the distribution is too uncertain at {level}: give this quantile as the collection's goal")
    return _summary(lambda name: _interpolated(level, getattr(cdf, _MIRRORED.get(name, name)), distribution.x))


def _summary(read: Callable[[str], float]) -> ParameterSummary:
    quantiles = {name: read(name) for name in QUANTILES}
    return ParameterSummary(read("mean"), (quantiles["q95"] - quantiles["q05"]) / _NINETY_PERCENT, **quantiles)


def _interpolated(at: float, x: Sequence[float], y: Sequence[float]) -> float:
    """The value at `at` of the piecewise linear curve through non-decreasing points."""
    right = bisect_right(x, at)
    if right in (0, len(x)):
        return y[0] if right == 0 else y[-1]
    left = right - 1
    share = (at - x[left]) / (x[right] - x[left])
    return y[left] + share * (y[right] - y[left]) if math.isfinite(share) else y[left]
