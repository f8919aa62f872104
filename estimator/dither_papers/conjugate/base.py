"""What a conjugate family is here: statistics, how far one person moves them, and posteriors at a temperature."""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["ConjugateFamily", "Mask"]

Mask = npt.NDArray[np.bool_]


class ConjugateFamily(ABC):
    """A likelihood `Pr(x | θ) = h(x) g(θ) exp(θᵀ S(x))` with a conjugate prior, on bounded data.

    Two data sets are neighbours if they have the same size and differ in one entry, so their size is public. Arrays of
    statistics have shape (R, d), of parameters (R, p), for R data sets at once.
    """

    @property
    @abstractmethod
    def statistics_sensitivity(self) -> float:
        """`ΔS` of (17): the L1 distance that one entry can move the sum of the statistics."""

    @property
    @abstractmethod
    def likelihood_sensitivity(self) -> float:
        """`Δ log Pr(θ, X)` of (13), over the truncated space of parameters."""

    @abstractmethod
    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        """`S(X)` of `sets` data sets of n entries from the member `truth`, shape (sets, d)."""

    @abstractmethod
    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        """`proj` of (16): back into the space of statistics of n entries."""

    @abstractmethod
    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        """One draw for each data set from the posterior (14) at a temperature, not truncated, shape (R, p)."""

    @abstractmethod
    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        """Of the posterior at temperature 1, not truncated, shape (R, p)."""

    @abstractmethod
    def within(self, theta: FloatArray) -> Mask:
        """Whether parameters are in the truncated space, shape (R,)."""

    @property
    @abstractmethod
    def truth(self) -> FloatArray:
        """The member that data are drawn from, shape (p,)."""

    @property
    @abstractmethod
    def inverse_information(self) -> float:
        """`I⁻¹` of the first parameter for one entry, at `truth`."""
