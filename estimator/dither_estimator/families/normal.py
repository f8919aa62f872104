"""The normal family, which on the `"log"` scale is the lognormal family."""

from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["Normal"]

_FAR = 40.0
"""Beyond it the density is 0, and a square may overflow."""


class Normal(LocationScale):
    """N(μ, σ²) with θ = (mu, sigma); on the `"log"` scale, the lognormal with the same parameters."""

    name: ClassVar[str] = "normal"

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        return ndtr(z)

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        return np.exp(-0.5 * np.minimum(np.abs(z), _FAR) ** 2) / np.sqrt(2 * np.pi)

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return ndtri(probabilities)

    @property
    def standard_mean(self) -> float:
        return 0.0

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        return np.exp(0.5 * t**2)

    def fitted(self, values: FloatArray) -> FloatArray:
        return np.array([values.mean(), values.std()])

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.normal(theta[0], theta[1], size)
