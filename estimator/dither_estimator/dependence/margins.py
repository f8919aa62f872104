"""What the answers about one number alone say of its distribution, as a part of the posterior of several numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["DrawnMargin", "FamilyMargin", "Margin", "MarginCdf", "Propose", "random_walk"]

_WALK = 2.38
"""The scale of a random walk, in standard deviations of the posterior over √dimension (Roberts & Rosenthal 2001)."""

MarginCdf = Callable[[FloatArray], FloatArray]
"""Equally likely draws of one number's distribution function: the shares (m, k) at or below points (k,)."""
Propose = Callable[[np.random.Generator, FloatArray], FloatArray]
"""Symmetric proposals for states (n, s)."""


class Margin(Protocol):
    """One number's distribution functions, each named by a state, and what is known of them."""

    def draws(self, rng: np.random.Generator, size: int) -> FloatArray:
        """States (size, s) of equally likely draws, given the answers about this number alone."""

    def log_density(self, states: FloatArray) -> FloatArray:
        """The log density (n,) of these states given those answers, up to a constant."""

    def proposals(self, states: FloatArray) -> Propose:
        """Proposals that suit the spread of these states (n, s)."""

    def below(self, states: FloatArray, cuts: FloatArray) -> FloatArray:
        """The shares (n, k) of the population at or below cuts (k,) on the transformed scale."""


@dataclass(frozen=True)
class DrawnMargin:
    """A distribution of which there are draws alone, all equally likely; a state is the number of a draw."""

    cdf: MarginCdf
    _tables: dict[bytes, FloatArray] = field(default_factory=dict, repr=False)
    """Shares that were asked for, by cuts: each is asked for with every move."""

    def draws(self, rng: np.random.Generator, size: int) -> FloatArray:
        return self._any(rng, np.empty((size, 1)))

    def log_density(self, states: FloatArray) -> FloatArray:
        return np.zeros(len(states))

    def proposals(self, states: FloatArray) -> Propose:
        return self._any

    def below(self, states: FloatArray, cuts: FloatArray) -> FloatArray:
        key = cuts.tobytes()
        if key not in self._tables:
            self._tables[key] = self.cdf(cuts)
        return self._tables[key][self.rows(states)]

    def rows(self, states: FloatArray) -> npt.NDArray[np.intp]:
        """The numbers of the draws (n,)."""
        return states[:, 0].astype(np.intp)

    @cached_property
    def _size(self) -> int:
        return len(self.cdf(np.zeros(1)))

    def _any(self, rng: np.random.Generator, states: FloatArray) -> FloatArray:
        return rng.integers(self._size, size=(len(states), 1)).astype(float)


@dataclass(frozen=True)
class FamilyMargin:
    """A member of a family, whose density is exact; a state is its unconstrained coordinates."""

    system: ParticleSystem
    """The posterior given the answers about this number alone."""

    def draws(self, rng: np.random.Generator, size: int) -> FloatArray:
        chosen = systematic_sample(self.system.weights, size, rng.random())
        return self.system.coordinates[rng.permutation(chosen)]

    def log_density(self, states: FloatArray) -> FloatArray:
        found = self._likelihood.log_likelihood(self.system.prior.family.constrain(states))
        return found + self.system.prior.log_density(states)

    def proposals(self, states: FloatArray) -> Propose:
        return random_walk(states)

    def below(self, states: FloatArray, cuts: FloatArray) -> FloatArray:
        family = self.system.prior.family
        return family.cdf(family.constrain(states), cuts)

    @cached_property
    def _likelihood(self) -> CountLikelihood:
        return CountLikelihood.of(self.system.prior.family, self.system.counts)


def random_walk(states: FloatArray) -> Propose:
    """A random walk with steps of the shape of these states (n, s)."""
    dimension = states.shape[1]
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(states, rowvar=False)))
    scale = _WALK / np.sqrt(dimension) * vectors * np.sqrt(np.maximum(values, 0.0))
    return lambda rng, at: at + rng.standard_normal(at.shape) @ scale.T
