"""The interface of a conjugate family: statistics, their sensitivity, and posteriors at a temperature."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["ConjugateFamily", "Mask"]

Mask = npt.NDArray[np.bool_]


class ConjugateFamily(ABC):
    """A likelihood `Pr(x | θ) = h(x) g(θ) exp(θᵀ S(x))` with a conjugate prior, on bounded data.

    Neighbouring data sets have the same size and differ in one entry, so the size is public. Arrays of statistics have
    shape (R, d) and arrays of parameters (R, p), for R data sets at once.
    """

    @property
    @abstractmethod
    def statistics_sensitivity(self) -> float:
        """`ΔS` of (17): the L1 distance by which one entry can change the sum of the statistics."""

    @property
    @abstractmethod
    def likelihood_sensitivity(self) -> float:
        """`Δ log Pr(θ, X)` of (13), over the truncated parameter space."""

    @abstractmethod
    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        """`S(X)` for `sets` data sets of n entries each, drawn from the member `truth`, shape (sets, d)."""

    @abstractmethod
    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        """`proj` of (16): projection onto the space of statistics of n entries."""

    @abstractmethod
    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        """One draw per data set from the untruncated posterior (14) at a temperature, shape (R, p)."""

    @abstractmethod
    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        """The mean of the untruncated posterior at temperature 1, shape (R, p)."""

    @abstractmethod
    def within(self, theta: FloatArray) -> Mask:
        """Whether parameters lie in the truncated space, shape (R,)."""

    @property
    @abstractmethod
    def truth(self) -> FloatArray:
        """The member from which data are drawn, shape (p,)."""

    @property
    @abstractmethod
    def inverse_information(self) -> float:
        """`I⁻¹` of the first parameter for one entry, at `truth`."""
