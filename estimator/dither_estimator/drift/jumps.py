"""Sudden jumps of a population between two periods, beside the walk's usual steps.

A priori one step of all may be a jump, in each coordinate normal with one of two standard deviations, whatever τ is.
Without it a jump had to be a usual step of a restless population, which a few hundred answers are too few to say.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dither_estimator.drift.walk import Start, log_densities
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites

__all__ = ["JUMP_ODDS", "JUMP_SIZES", "Jumps"]

JUMP_ODDS = 1 / 26
"""The prior odds of a jump at each step against none at any."""
JUMP_SIZES = (0.5, 2.0)
"""The standard deviations of jumps, equally likely, in units of the pooled fit."""
_LIKELY = 8.0
"""Jumps that are less likely than the likeliest by more, in nats, are left out."""
_MOST = 8
_CALMER = np.array([0.0, -1.0, -2.0])
"""Logarithms of how much calmer walks are with which jumps are looked for: a jump passes for a larger τ."""


@dataclass(frozen=True)
class Jumps:
    """What is possible: no jump, and some jumps."""

    sizes: FloatArray
    """The standard deviation of each step that is a jump, and 0 of all others; shape (possibilities, periods - 1)."""
    log_prior: FloatArray
    """That of each possibility, shape (possibilities,)."""

    @classmethod
    def none(cls, periods: int) -> "Jumps":
        """No jump for sure."""
        return cls(np.zeros((1, periods - 1)), np.zeros(1))

    @classmethod
    def all(cls, periods: int) -> "Jumps":
        """None, and one at each step."""
        steps, kinds = periods - 1, len(JUMP_SIZES)
        sizes = np.concatenate([np.zeros((1, steps)), *(size * np.eye(steps) for size in JUMP_SIZES)])
        odds = np.append(1.0, np.full(kinds * steps, JUMP_ODDS / kinds))
        return cls(sizes, np.log(odds / odds.sum()))

    @classmethod
    def likely(cls, sites: Sites, start: Start, log_scales: FloatArray) -> "Jumps":
        """None, and those that the sites make likely for a walk of scales about these (d,)."""
        every = cls.all(sites.linear.shape[1])
        tried = log_scales + _CALMER[:, np.newaxis]
        found = every.log_densities(sites, start, np.exp(tried)).max(axis=0)
        best = np.argsort(-found)[:_MOST]
        kept = np.union1d([0], best[found[best] > found.max() - _LIKELY])
        return cls(every.sizes[kept], every.log_prior[kept])

    def steps(self, scales: FloatArray, chosen: npt.NDArray[np.int64]) -> FloatArray:
        """The scales of all steps (periods - 1, d, k), of walks of scales (k, d) with the possibilities chosen (k,)."""
        sizes = self.sizes[chosen].T[:, np.newaxis]
        return np.where(sizes > 0, sizes, scales.T)

    def log_densities(self, sites: Sites, start: Start, scales: FloatArray) -> FloatArray:
        """The log prior of each possibility and the log density of the sites, shape (k, possibilities)."""
        k, possibilities = len(scales), len(self.sizes)
        chosen = np.tile(np.arange(possibilities), k)
        steps = self.steps(np.repeat(scales, possibilities, axis=0), chosen)
        return log_densities(sites, start, steps)[-1].reshape(k, possibilities) + self.log_prior

    def drawn(self, rng: np.random.Generator, log_densities: FloatArray) -> npt.NDArray[np.int64]:
        """A possibility for each row of what `log_densities` returns, shape (k,)."""
        shares = np.exp(log_densities - logsumexp(log_densities, axis=1, keepdims=True)).cumsum(axis=1)
        return (rng.random((len(shares), 1)) > shares).sum(axis=1).clip(max=len(self.sizes) - 1)
