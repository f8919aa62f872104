"""The beta family."""

from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaincinv

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms

__all__ = ["Beta"]


class Beta(Family):
    """Density proportional to `x^(a - 1) (1 - x)^(b - 1)` on (0, 1): shares and probabilities."""

    name: ClassVar[str] = "beta"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("a", "positive"), Parameter("b", "positive"))
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    label: ClassVar[str] = "Shares between 0 and 1: beta"

    @property
    def standard(self) -> FloatArray:
        return np.array([2.0, 2.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return np.asarray(betainc(theta[:, :1], theta[:, 1:2], np.clip(edges, 0.0, 1.0)), dtype=float)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return np.asarray(betaincinv(theta[:, :1], theta[:, 1:2], probabilities), dtype=float)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0] / (theta[:, 0] + theta[:, 1])

    def default_prior(self, transform: Transform) -> PriorTerms:
        shape = {"dist": "lognorm", "s": 1.2, "scale": 2.0}
        return {"a": shape, "b": shape}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """Reads the centre of the range as the mean and its width as four standard deviations."""
        mean = min(max((low + high) / 2, 0.02), 0.98)
        spread = min(max((high - low) / 4, 0.01), 0.45 * (mean * (1 - mean)) ** 0.5)
        size = mean * (1 - mean) / spread**2 - 1
        return {
            "a": {"dist": "lognorm", "s": 1.0, "scale": mean * size},
            "b": {"dist": "lognorm", "s": 1.0, "scale": (1 - mean) * size},
        }

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.beta(theta[0], theta[1], size)
