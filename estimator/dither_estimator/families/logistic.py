"""The logistic family, and with `transform` `"log"` the log-logistic."""

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
        cdf: FloatArray = expit(z)
        return cdf

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        pdf: FloatArray = expit(z) * expit(-z)
        return pdf

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        quantiles: FloatArray = logit(probabilities)
        return quantiles

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return rng.logistic(theta[0], theta[1], size)
