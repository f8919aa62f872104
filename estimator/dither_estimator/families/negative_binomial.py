"""The negative binomial family."""

from typing import ClassVar

import numpy as np
from scipy.special import betainc, nbdtrik

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Family):
    """Counts with more variance than Poisson: mean `mean` and variance `mean + mean² / size`."""

    name: ClassVar[str] = "negative_binomial"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("mean", "positive"), Parameter("size", "positive"))
    discrete: ClassVar[bool] = True

    @property
    def standard(self) -> FloatArray:
        return np.array([4.0, 2.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        mean, size = theta[:, :1], theta[:, 1:2]
        whole = np.floor(np.maximum(edges, 0.0))
        return np.where(edges >= 0, betainc(size, whole + 1, size / (size + mean)), 0.0)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        mean, size = theta[:, :1], theta[:, 1:2]
        share = size / (size + mean)
        found = np.ceil(nbdtrik(probabilities, size, share))
        below = np.maximum(found - 1, 0.0)
        return np.where(betainc(size, below + 1, share) >= probabilities, below, found)  # rounding may have added 1

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0]

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {
            "mean": {"dist": "lognorm", "s": 3.0, "scale": 5.0},
            "size": {"dist": "lognorm", "s": 1.2, "scale": 2.0},
        }

    def range_prior(self, low: float, high: float) -> PriorTerms:
        return {
            "mean": {"dist": "lognorm", "s": 0.8, "scale": max(abs(low + high) / 2, 0.1)},
            "size": {"dist": "lognorm", "s": 1.2, "scale": 2.0},
        }

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.negative_binomial(theta[1], theta[1] / (theta[0] + theta[1]), size).astype(float)
