"""The exponential family."""

from typing import ClassVar

import numpy as np

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms

__all__ = ["Exponential"]


class Exponential(Family):
    """`F(x) = 1 - exp(-x / scale)` for x > 0: memoryless waiting times; `scale` is the mean."""

    name: ClassVar[str] = "exponential"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("scale", "positive"),)
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @property
    def shapes(self) -> tuple[int, ...]:
        return ()

    @property
    def standard(self) -> FloatArray:
        return np.array([1.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return -np.expm1(-np.maximum(edges, 0.0) / theta)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return -theta * np.log1p(-probabilities)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0]

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {"scale": {"dist": "lognorm", "s": 4.0, "scale": 10.0}}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        return {"scale": {"dist": "lognorm", "s": 1.5 if guessed else 1.0, "scale": max(abs(low), abs(high)) / 2}}

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.exponential(theta[0], size)
