"""The negative binomial family."""

from typing import ClassVar

import numpy as np
from scipy.special import betainc, nbdtrik

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms, Values
from dither_estimator.families.shape_scale import relative_middle

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Family):
    """Counts with more variance than Poisson: mean `mean` and variance `mean + mean² / size`."""

    name: ClassVar[str] = "negative_binomial"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("mean", "positive"), Parameter("size", "positive"))
    values: ClassVar[Values] = "counted"
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)
    label: ClassVar[str] = "Counts that vary more: negative binomial"

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

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """Has the mean in the middle of the range, and a size that grows as the range gets narrower beside it."""
        narrow = relative_middle(low, high)
        return {
            "mean": {"dist": "lognorm", "s": 1.5 if guessed else 0.8, "scale": max(abs(low + high) / 2, 0.1)},
            "size": {"dist": "lognorm", "s": 2 - 0.8 / narrow, "scale": 4 * narrow**2 - 2},
        }

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.negative_binomial(theta[1], theta[1] / (theta[0] + theta[1]), size).astype(float)
