"""The likelihood of counts as a function of masses, exact and to second order.

The probability of an answer is linear in the masses of bins and atoms: `G p`. So the log-likelihood `Σ n log(G p)` is a
sum of logarithms of linear functions, and its expansion to second order in the masses is nearly exact wherever the
posterior lies (an effective share of 0.99 and more), at a cost that does not depend on the number of questions.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import Base
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.support import Support

__all__ = ["Expansion", "MassLikelihood"]


@dataclass(frozen=True)
class Expansion:
    """The log-likelihood to second order around `origin` (masses,)."""

    origin: FloatArray
    height: float
    slope: FloatArray
    """Shape (masses,)."""
    curvature: FloatArray
    """The negative second derivative, shape (masses, masses)."""

    def __call__(self, masses: FloatArray) -> FloatArray:
        """The log-likelihood of `masses` (n, masses), shape (n,)."""
        return self.with_gradient(masses)[0]

    def with_gradient(self, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood (n,) of `masses` (n, masses), and its gradient by the masses, shape (n, masses)."""
        apart = masses - self.origin
        bent = apart @ self.curvature
        height = self.height + apart @ self.slope - 0.5 * np.einsum("...i,...i", bent, apart)
        return height, self.slope - bent


@dataclass(frozen=True)
class MassLikelihood:
    """The likelihood of the masses of bins that are equally likely under the base, and of the atoms."""

    rows: FloatArray
    """The probability of each observed kind of answer given the bin or atom, shape (answers, bins + atoms)."""
    counts: FloatArray
    """How often each was observed, shape (answers,)."""

    @classmethod
    def of(cls, counts: Counts, base: Base, bins: int, support: Support) -> "MassLikelihood":
        """The likelihood of a table of counts. Inside a bin people are distributed as under the base."""
        rows, observed = [], []
        for part in Observations.of(counts, support):
            inside = np.clip(base.cdf(part.edges)[..., np.newaxis] * bins - np.arange(bins), 0.0, 1.0)
            below = np.concatenate([inside, part.points_below], axis=2)
            # By summation by parts, as in `Channel.probabilities`, with shares below the edges in place of the CDF.
            answers = np.tensordot(part.channel.steps.T, below, axes=1)
            answers += part.channel.matrix[-1][:, np.newaxis, np.newaxis]
            floor = part.channel.floor[:, np.newaxis, np.newaxis]
            rows.append(np.maximum(answers, floor).reshape(-1, below.shape[2]))
            observed.append(part.answers.ravel())
        number = np.concatenate(observed)
        return cls(np.concatenate(rows)[number > 0], number[number > 0])

    def __call__(self, masses: FloatArray) -> FloatArray:
        """The log-likelihood of `masses` (n, masses) or (masses,)."""
        return np.log(masses @ self.rows.T) @ self.counts

    def gradient(self, masses: FloatArray) -> FloatArray:
        """The gradient by masses (masses,)."""
        return (self.counts / (self.rows @ masses)) @ self.rows

    def standardised(self, masses: FloatArray) -> FloatArray:
        """The rows, such that the products of their columns are the curvature at `masses` (masses,)."""
        return self.rows * (np.sqrt(self.counts) / (self.rows @ masses))[:, np.newaxis]

    def expand(self, origin: FloatArray) -> Expansion:
        """The expansion around masses (masses,)."""
        rows = self.standardised(origin)
        return Expansion(origin, float(self(origin)), self.gradient(origin), rows.T @ rows)
