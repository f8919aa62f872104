"""What is not known yet of a distribution, as independent numbers with variance 1 that move its masses.

The variance of F(x), averaged over the population, is then the trace of `aim`, and what answers tell about the numbers
reduces it (`cell_design`, `prospect`).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution

__all__ = ["Unknowns"]

_DIRECTIONS = 24
"""How many combinations of masses are looked at: F varies most with these, which hold nearly all of the posterior."""
_LEAST = 1e-12
"""A share of the largest variance; less is rounding."""


@dataclass(frozen=True, eq=False)
class Unknowns:
    """A distribution around which masses vary, and how."""

    mean: Distribution
    """A single draw."""
    effects: FloatArray
    """The derivatives of the masses by the unknown numbers, shape (masses, d)."""

    @classmethod
    def of_draws(cls, distribution: Distribution) -> "Unknowns":
        """What the draws of a posterior leave unknown: the principal components of F over the population."""
        mean = distribution.mean
        apart = (distribution.masses - mean.masses) / math.sqrt(distribution.draw_count)
        weighted = apart @ (np.sqrt(mean.masses[0])[:, np.newaxis] * _slopes(mean)).T
        variances, directions = np.linalg.eigh(weighted.T @ weighted)
        used = np.flatnonzero(variances > _LEAST * variances[-1])[-_DIRECTIONS:]
        components = weighted @ (directions[:, used] / np.sqrt(variances[used]))
        return cls(mean, apart.T @ components)

    @property
    def none(self) -> bool:
        """Whether all draws are the same."""
        return self.effects.shape[1] == 0

    def cells(self, edges: FloatArray) -> FloatArray:
        """The part of each mass in the cells between increasing edges (k,), shape (k + 1, masses)."""
        below = self.mean.parts_below(edges)
        return np.diff(below, prepend=np.zeros((1, below.shape[1])), append=np.ones((1, below.shape[1])), axis=0)

    @cached_property
    def aim(self) -> FloatArray:
        """`∫ ∇F ∇Fᵀ dF`, shape (d, d): its trace is `∫ Var F(x) dF(x)`."""
        slopes = _slopes(self.mean) @ self.effects
        return np.asarray(slopes.T @ (self.mean.masses[0][:, np.newaxis] * slopes))


def _slopes(mean: Distribution) -> FloatArray:
    """How the distribution function in the middle of each bin, and at each atom, depends on masses; square."""
    middles = mean.support.value(mean.base.quantile((np.arange(BINS) + 0.5) / BINS))
    return mean.parts_below(np.append(middles, mean.support.points))
