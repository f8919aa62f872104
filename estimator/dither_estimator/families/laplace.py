"""The Laplace (double exponential) family."""

from typing import ClassVar

import numpy as np

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["LaplaceFamily"]


class LaplaceFamily(LocationScale):
    """Density `exp(-|x - mu| / sigma) / (2 sigma)`: peaked at mu, with heavier tails than the normal."""

    name: ClassVar[str] = "laplace"
    smooth: ClassVar[bool] = False

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        return 0.5 * np.exp(-np.abs(z))

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return -np.sign(probabilities - 0.5) * np.log1p(-2 * np.abs(probabilities - 0.5))

    @property
    def standard_mean(self) -> float:
        return 0.0

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        return np.where(t < 1, 1 / (1 - np.where(t < 1, t, 0.5) ** 2), np.inf)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.laplace(theta[0], theta[1], size)
