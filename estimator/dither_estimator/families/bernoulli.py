"""The Bernoulli family: yes or no."""

from typing import ClassVar

import numpy as np

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms, Values

__all__ = ["Bernoulli"]


class Bernoulli(Family):
    """Values 0 and 1; `p` is the probability of 1."""

    name: ClassVar[str] = "bernoulli"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("p", "unit"),)
    values: ClassVar[Values] = "yes-no"
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    label: ClassVar[str] = "Yes or no: Bernoulli, values 0 and 1"

    @property
    def standard(self) -> FloatArray:
        return np.array([0.5])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        below = (edges >= 0) * 1.0
        ones = (edges >= 1) * 1.0
        return below * (1 - theta) + ones * theta

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        slope = np.where((edges >= 0) & (edges < 1), -1.0, 0.0)
        return np.broadcast_to(slope[:, np.newaxis], (len(theta), len(edges), 1))

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return np.where(probabilities <= 1 - theta, 0.0, 1.0)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        return theta[:, 0]

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {"p": {"dist": "beta", "a": 1.0, "b": 1.0}}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        return self.default_prior("identity")

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return np.asarray(rng.random(size) < theta[0], dtype=float)
