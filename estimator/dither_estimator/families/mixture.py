"""Quantiles of the mean distribution of several members of a family."""

import numpy as np
import numpy.typing as npt

from dither_estimator.families.base import Family, FloatArray

__all__ = ["mixture_quantiles"]

_LARGEST = 1e300
_CLOSE = 2.0**22
"""Bisection stops when so many floats lie between the ends: they differ by a billionth."""


def mixture_quantiles(family: Family, theta: FloatArray, levels: FloatArray) -> FloatArray:
    """The least values at or below which equally likely members `theta` (n, d) have shares `levels` (k,) on average.

    They are found by bisection between the least and the largest quantile of a member, among the floats in between, so
    that they have the same relative precision however small they are. Infinite beyond 1e300.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        each = np.nan_to_num(family.quantiles(theta, levels), nan=np.inf).clip(-_LARGEST, _LARGEST)
        low, high = each.min(axis=0), each.max(axis=0)
        high = np.where(_mean_cdf(family, theta, low) >= levels, low, high)
        below, above = _ordinal(low), _ordinal(high)
        while (above.astype(float) - below.astype(float)).max() > _CLOSE:
            middle = (below & above) + ((below ^ above) >> 1)  # the mean, without overflow
            enough = _mean_cdf(family, theta, _value(middle)) >= levels
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
    found = np.rint(_value(above)) if family.discrete else _value(above)
    return np.where(np.abs(found) >= _LARGEST, np.copysign(np.inf, found), found)


def _mean_cdf(family: Family, theta: FloatArray, x: FloatArray) -> FloatArray:
    return np.asarray(family.cdf(theta, x).mean(axis=0))


def _ordinal(x: FloatArray) -> npt.NDArray[np.int64]:
    """Integers in the order of the floats, without gaps."""
    bits = (x + 0.0).view(np.int64)  # + 0.0: there is no negative zero
    return np.where(bits >= 0, bits, np.iinfo(np.int64).min - bits)


def _value(ordinal: npt.NDArray[np.int64]) -> FloatArray:
    return np.where(ordinal >= 0, ordinal, np.iinfo(np.int64).min - ordinal).view(np.float64)
