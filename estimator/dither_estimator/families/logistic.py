"""The logistic family, which on the `"log"` scale is the log-logistic family."""

from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from dither_estimator.families.base import FloatArray
from dither_estimator.families.location_scale import LocationScale

__all__ = ["Logistic"]


class Logistic(LocationScale):
    """`F(x) = 1 / (1 + exp(-(x - mu) / sigma))`."""

    name: ClassVar[str] = "logistic"

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        return expit(z)

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        return expit(z) * expit(-z)

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return logit(probabilities)

    @property
    def standard_mean(self) -> float:
        return 0.0

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        return np.where(t < 1, 1 / np.sinc(np.where(t < 1, t, 0.5)), np.inf)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.logistic(theta[0], theta[1], size)
