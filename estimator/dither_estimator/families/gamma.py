"""The gamma family."""

from typing import ClassVar

import numpy as np
from scipy.special import gammainc, gammaincinv

from dither_client import Transform
from dither_estimator.families.base import FloatArray, PriorTerms
from dither_estimator.families.shape_scale import ShapeScale, relative_middle, shape_scale_prior

__all__ = ["Gamma"]


class Gamma(ShapeScale):
    """Density proportional to `x^(shape - 1) exp(-x / scale)` for x > 0; the mean is `shape · scale`."""

    name: ClassVar[str] = "gamma"

    @property
    def standard(self) -> FloatArray:
        return np.array([2.0, 1.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return np.asarray(gammainc(theta[:, :1], np.maximum(edges, 0.0) / theta[:, 1:2]), dtype=float)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return np.asarray(gammaincinv(theta[:, :1], probabilities) * theta[:, 1:2], dtype=float)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0] * theta[:, 1]

    def default_prior(self, transform: Transform) -> PriorTerms:
        return shape_scale_prior(shape=2.0, log_shape_sd=1.2, scale=10.0, log_scale_sd=4.0)

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """Has the mean in the middle of the range, and a shape that grows as the range gets narrower beside it."""
        narrow = relative_middle(low, high)
        shape, middle = 4 * narrow**2 - 2, (max(low, 0.0) + max(abs(low), abs(high))) / 2
        return shape_scale_prior(shape, 2 - 1 / narrow, middle / shape, 2.0 if guessed else 2 - 0.8 / narrow)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.gamma(theta[0], theta[1], size)
