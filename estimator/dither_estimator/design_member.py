"""The member of a family that a design is for: where its probability lies, and whether it is symmetric."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from dither_estimator.families import Family, FloatArray
from dither_estimator.goals import Goal
from dither_estimator.information import answer_information, cell_moments

__all__ = ["Member"]

_DOUBLINGS = 1_000
_BISECTIONS = 100


@dataclass(frozen=True)
class Member:
    """One member θ of a family. `theta` is a tuple, so that a member is a key."""

    family: Family
    theta: tuple[float, ...]

    def points(self, z: FloatArray) -> FloatArray:
        """The member's quantiles at the probabilities `Φ(z)`, strictly increasing: for the standard normal, `z` itself.

        A member without a density gives the points where its CDF rises past those probabilities, fewer than asked.
        """
        return np.unique(_quantiles(self._cdf, ndtr(z)))

    @cached_property
    def spread(self) -> float:
        """The unit of length of the member's designs: the power of two next below its interquartile range."""
        low, high = _quantiles(self._cdf, np.array([0.25, 0.75]))
        width = float(high - low) or max(abs(float(high)), 1.0) * 1e-3
        return float(2.0 ** np.floor(np.log2(width)))

    @cached_property
    def information(self) -> FloatArray:
        """What a value itself would tell of θ, shape (d, d), from fine cells."""
        cells, slopes = cell_moments(self.family, self.theta, self.points(np.linspace(-3.8, 3.8, 153))[np.newaxis])
        matrix: FloatArray = answer_information(cells, slopes.swapaxes(1, 2))[0]
        return matrix

    @property
    def standardised(self) -> tuple["Member", float, float]:
        """The member to design for, and the location and scale that take its coordinates to this one's."""
        if not self.family.location_scale:
            return self, 0.0, 1.0
        return Member(self.family, tuple(self.family.standard.tolist())), self.theta[0], self.theta[1]

    @cached_property
    def symmetric(self) -> bool:
        """Whether the member is its own mirror image about 0, and so every design may be taken to be."""
        if not self.family.location_scale or self.theta[0] != 0:
            return False
        z = np.linspace(0.0, 6.0, 61) * self.theta[1]
        return bool(np.allclose(self._cdf(-z) + self._cdf(z), 1.0, rtol=0, atol=1e-12))

    def weights(self, goal: Goal) -> FloatArray:
        """What the criterion weighs the variances by, shape (d,).

        The goal's weights belong to raw variances in location-scale families, in the others to the variances of the
        unconstrained coordinates (the logarithm of a positive parameter), by the delta method.
        """
        vector = goal.vector(self.family)
        if self.family.location_scale:
            return vector
        coordinates = self.family.unconstrain(np.array([self.theta]))[0]
        jacobians = [p.log_jacobian(coordinates[[j]])[0] for j, p in enumerate(self.family.parameters)]
        weighted: FloatArray = vector * np.exp(-2.0 * np.array(jacobians))
        return weighted

    def _cdf(self, points: FloatArray) -> FloatArray:
        values: FloatArray = self.family.cdf(np.array([self.theta]), points)[0]
        return values


def _quantiles(cdf: Callable[[FloatArray], FloatArray], probabilities: FloatArray) -> FloatArray:
    """The least `x` with `cdf(x) ≥ p`, by doubling a bracket and halving it."""
    low, high = -1.0, 1.0
    for _ in range(_DOUBLINGS):
        below, above = cdf(np.array([low, high]))
        if below < probabilities[0] and above >= probabilities[-1]:
            break
        low, high = (low * 2 if below >= probabilities[0] else low), (high * 2 if above < probabilities[-1] else high)
    lows, highs = np.full(len(probabilities), low), np.full(len(probabilities), high)
    for _ in range(_BISECTIONS):
        middle = lows + (highs - lows) / 2
        reached = cdf(middle) >= probabilities
        lows, highs = np.where(reached, lows, middle), np.where(reached, middle, highs)
    return highs
