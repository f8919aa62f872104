"""The Poisson family."""

from typing import ClassVar

import numpy as np
from scipy.special import pdtr, pdtrik

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms, Values

__all__ = ["Poisson"]


class Poisson(Family):
    """Counts of rare events; `rate` is both the mean and the variance."""

    name: ClassVar[str] = "poisson"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("rate", "positive"),)
    values: ClassVar[Values] = "counted"
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    label: ClassVar[str] = "Counts: Poisson"

    @property
    def standard(self) -> FloatArray:
        return np.array([4.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return np.where(edges >= 0, pdtr(np.maximum(edges, 0.0), theta), 0.0)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        found: FloatArray = np.ceil(pdtrik(probabilities, theta))
        below = np.maximum(found - 1, 0.0)
        return np.where(pdtr(below, theta) >= probabilities, below, found)  # rounding may have added 1

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0]

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {"rate": {"dist": "lognorm", "s": 3.0, "scale": 5.0}}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        return {"rate": {"dist": "lognorm", "s": 1.5 if guessed else 0.8, "scale": max(abs(low + high) / 2, 0.1)}}

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.poisson(theta[0], size).astype(float)
