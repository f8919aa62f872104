"""The Gumbel family for maxima, which on the `"log"` scale is the Fréchet family."""

from typing import ClassVar

import numpy as np
from scipy.special import gamma

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["Gumbel"]

_MIN_Z = -700.0
"""Lower bound on z: below it the CDF is 0 in floating point and `exp(-z)` would overflow."""


class Gumbel(LocationScale):
    """`F(x) = exp(-exp(-(x - mu) / sigma))`: right-skewed."""

    name: ClassVar[str] = "gumbel"

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.exp(-np.exp(-np.maximum(z, _MIN_Z)))

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        bounded = np.maximum(z, _MIN_Z)
        return np.exp(-bounded - np.exp(-bounded))

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return -np.log(-np.log(probabilities))

    @property
    def standard_mean(self) -> float:
        return float(np.euler_gamma)

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        return np.where(t < 1, gamma(1 - np.where(t < 1, t, 0.5)), np.inf)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.gumbel(theta[0], theta[1], size)
