"""The sum of a normal and a Laplace variable: its density and derivatives in closed form."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from dither_estimator.families import FloatArray

__all__ = ["Density", "density", "log_density"]


class Density(NamedTuple):
    """The density at each `y`, and its derivatives by the normal's mean and variance."""

    value: FloatArray
    by_mean: FloatArray
    by_variance: FloatArray


def log_density(y: FloatArray, mean: FloatArray, variance: FloatArray, scale: FloatArray) -> FloatArray:
    """`log p(y)` of N(mean, variance) + Laplace(scale): `E[e^(-|y-U|/b)] / (2b)`, one term per side of `U`."""
    above, below = _sides(y, mean, variance, scale)
    return np.asarray(np.logaddexp(above, below) - np.log(2 * scale))


def density(y: FloatArray, mean: FloatArray, variance: FloatArray, scale: FloatArray) -> Density:
    """The density with its derivatives. Laplace noise satisfies `b² p'' = p - φ`, and `∂p/∂V = p''/2`."""
    above, below = (np.exp(side) for side in _sides(y, mean, variance, scale))
    value = (above + below) / (2 * scale)
    normal = np.exp(-0.5 * (y - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    return Density(value, (above - below) / (2 * scale**2), (value - normal) / (2 * scale**2))


def _sides(y: FloatArray, mean: FloatArray, variance: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`log E[e^(-|y-U|/b); U < y]`, and the same for `U > y`."""
    z, sd = y - mean, np.sqrt(variance)
    rise = 0.5 * variance / scale**2
    above = rise - z / scale + log_ndtr(z / sd - sd / scale)
    below = rise + z / scale + log_ndtr(-z / sd - sd / scale)
    return above, below
