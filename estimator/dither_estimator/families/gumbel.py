"""The Gumbel family of largest values, and with `transform` `"log"` the Fréchet."""

from typing import ClassVar

import numpy as np

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["Gumbel"]

_FLOOR = -700.0
"""Below this many scales the CDF is 0 in floating point, and `exp(-z)` would overflow."""


class Gumbel(LocationScale):
    """`F(x) = exp(-exp(-(x - mu) / sigma))`: skewed to the right."""

    name: ClassVar[str] = "gumbel"

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.exp(-np.exp(-np.maximum(z, _FLOOR)))

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        bounded = np.maximum(z, _FLOOR)
        return np.exp(-bounded - np.exp(-bounded))

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return -np.log(-np.log(probabilities))

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.gumbel(theta[0], theta[1], size)
