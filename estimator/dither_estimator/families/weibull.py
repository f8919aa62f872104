"""The Weibull family."""

from typing import ClassVar

import numpy as np
from scipy.special import gamma

from dither_client import Transform
from dither_estimator.families.base import FloatArray, PriorTerms
from dither_estimator.families.shape_scale import ShapeScale, relative_middle, shape_scale_prior

__all__ = ["Weibull"]


class Weibull(ShapeScale):
    """`F(x) = 1 - exp(-(x / scale)^shape)` for x > 0: lifetimes with a hazard that rises (shape > 1) or falls."""

    name: ClassVar[str] = "weibull"
    log_location_scale: ClassVar[bool] = True

    @property
    def standard(self) -> FloatArray:
        return np.array([1.5, 1.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore"):
            # Computed in logarithms because a power with a large exponent would overflow.
            exponent = theta[:, :1] * (np.log(np.maximum(edges, 0.0)) - np.log(theta[:, 1:2]))
            return np.asarray(-np.expm1(-np.exp(exponent)), dtype=float)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # a tiny shape has quantiles that no float holds
            return np.asarray(theta[:, 1:2] * (-np.log1p(-probabilities)) ** (1 / theta[:, :1]), dtype=float)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return np.asarray(theta[:, 1] * gamma(1 + 1 / theta[:, 0]), dtype=float)

    def default_prior(self, transform: Transform) -> PriorTerms:
        return shape_scale_prior(shape=1.5, log_shape_sd=1.0, scale=10.0, log_scale_sd=4.0)

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """Has the scale in the middle of the range, and a shape that grows as the range gets narrower beside it."""
        narrow = relative_middle(low, high)
        middle = (max(low, 0.0) + max(abs(low), abs(high))) / 2
        return shape_scale_prior(2.5 * narrow - 1, 1 - 0.2 / narrow, middle, 1.5 if guessed else 1.0)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return np.asarray(theta[1] * rng.weibull(theta[0], size), dtype=float)
