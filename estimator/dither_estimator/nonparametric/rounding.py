"""Numbers that have only so many decimals: the multiples of a unit, and which of them lie next to any number.

A float is the multiple that its shortest text writes: 0.29 is the 29th of hundredths, though 0.29 · 100 is less than
29 in floating point.
"""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["halfway", "rounded", "unit_of"]


def unit_of(decimals: int) -> float:
    """The distance between neighbouring multiples."""
    return float(10.0**-decimals)


def rounded(x: FloatArray, decimals: int) -> FloatArray:
    """The multiples nearest to numbers of any shape; of two, the even one."""
    scale = 10.0**decimals
    return np.asarray(np.rint(x * scale) / scale + 0.0)


def halfway(x: FloatArray, decimals: int, steps: int = 0) -> FloatArray:
    """The middles between the largest multiple at or below numbers of any shape and the next one, or so many steps on.

    Those who have at most x, once their numbers are rounded, are those with at most this before.
    """
    scale = 10.0**decimals
    nearest = np.rint(x * scale)
    return np.asarray((np.where(nearest / scale > x, nearest - 1, nearest) + steps + 0.5) / scale)
