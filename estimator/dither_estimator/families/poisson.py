"""The Poisson family."""

from typing import ClassVar

import numpy as np
from scipy.special import ndtri, pdtr, pdtrik

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms, Values

__all__ = ["Poisson"]

_MANY = 1e4
"""From this rate on SciPy's search for quantiles takes ever longer, and an expansion is off by less than one."""
_LEAST = 1e-16
"""Probabilities differ from 0 and 1 by no less."""


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
        few, many = np.minimum(theta, _MANY), np.maximum(theta, _MANY)
        found = np.ceil(np.where(theta < _MANY, pdtrik(probabilities, few), _expanded(probabilities, many)))
        found = found + (pdtr(found, theta) < probabilities)
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


def _expanded(probabilities: FloatArray, rate: FloatArray) -> FloatArray:
    """Quantiles of large rates, between integers (Cornish & Fisher 1938)."""
    z = ndtri(np.clip(probabilities, _LEAST, 1 - _LEAST))
    bent = (z**3 - 3 * z) / 24 - (2 * z**3 - 5 * z) / 36
    return np.asarray(rate + z * np.sqrt(rate) + (z**2 - 1) / 6 + bent / np.sqrt(rate) - 0.5)
