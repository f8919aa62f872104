"""The Laplace (double exponential) family."""

from typing import ClassVar

import numpy as np

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["LaplaceFamily"]


class LaplaceFamily(LocationScale):
    """Density `exp(-|x - mu| / sigma) / (2 sigma)`: a peak at mu, and tails heavier than the normal's."""

    name: ClassVar[str] = "laplace"

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        return 0.5 * np.exp(-np.abs(z))

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return -np.sign(probabilities - 0.5) * np.log1p(-2 * np.abs(probabilities - 0.5))

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.laplace(theta[0], theta[1], size)
