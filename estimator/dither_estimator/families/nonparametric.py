"""No family: what is learnt is the distribution itself (`dither_estimator.nonparametric`)."""

from typing import ClassVar, NoReturn

import numpy as np

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms

__all__ = ["Nonparametric"]


class Nonparametric(Family):
    """A distribution of any shape: it has no parameters, and what needs some does not apply to it."""

    name: ClassVar[str] = "nonparametric"
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    transforms: ClassVar[tuple[Transform, ...]] = ("identity", "log")
    label: ClassVar[str] = "Any shape (recommended)"
    shape: ClassVar[str] = "any shape"

    @property
    def standard(self) -> FloatArray:
        return np.empty(0)

    def cdf(self, theta: FloatArray, edges: FloatArray) -> NoReturn:
        raise NotImplementedError("a distribution without a family does not follow from parameters")

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> NoReturn:
        raise NotImplementedError("a distribution without a family does not follow from parameters")

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> NoReturn:
        raise NotImplementedError("a distribution without a family does not follow from parameters")

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        return {}
