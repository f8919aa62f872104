"""The member of a family that a design is for: where its probability lies, and whether it is symmetric."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from dither_estimator.design.atom import Atom
from dither_estimator.design.goal import Goal
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.information import answer_information, cell_moments

__all__ = ["Member", "Mirror"]

_FINE = np.linspace(-3.8, 3.8, 153)


@dataclass(frozen=True)
class Mirror:
    """A symmetry of a member: the reflection about `centre` changes the sign of the odd parameters' scores alone."""

    centre: float
    parity: tuple[float, ...]
    """-1 for odd parameters (location), 1 for even ones (scale, shape)."""

    def symmetrised(self, informations: FloatArray) -> FloatArray:
        """The mean of each information (n, d, d) and that of the mirror image: none between odd and even parameters."""
        mean: FloatArray = informations * (1.0 + np.outer(self.parity, self.parity)) / 2
        return mean


@dataclass(frozen=True)
class Member:
    """One member θ of a family. `theta` is a tuple, so that a member is a key."""

    family: Family
    theta: tuple[float, ...]

    def points(self, z: FloatArray) -> FloatArray:
        """Where to cut: the quantiles at the probabilities `Φ(z)`, strictly increasing; for the standard normal, `z`.

        If values are whole numbers, half a step above them, fewer than asked.
        """
        quantiles = np.unique(self.family.quantiles(self._row, ndtr(z))[0])
        if not self.family.discrete:
            return quantiles
        if len(quantiles) == 1:  # nearly every value is the same one: whatever cut tells others from it
            cuts = quantiles[0] + np.array([-0.5, 0.5])
            cdf = self.family.cdf(self._row, cuts)[0]
            if (inside := (cdf > 0) & (cdf < 1)).any():
                return np.asarray(cuts[inside])
        return quantiles + 0.5

    def rounded(self, atom: Atom, share: float) -> Atom:
        """The atom at dyadic coordinates: multiples of `share` of the spread, and finer near the end of a half-line."""
        unit = share * self.spread
        if self._positive:
            units = [
                unit * min(1.0, 2.0 ** math.floor(math.log2(max(abs(x), 1e-300) / self.spread))) for x in atom.position
            ]
        else:
            units = [unit] * len(atom.position)
        return Atom(atom.shape, tuple(round(x / step) * step for x, step in zip(atom.position, units, strict=True)))

    @cached_property
    def spread(self) -> float:
        """The unit of length of the member's designs: the power of two next below its interquartile range.

        0 where floating point cannot tell the quartiles apart.
        """
        low, high = self.family.quantiles(self._row, np.array([0.25, 0.75]))[0]
        width = max(high - low, 1.0) if self.family.discrete else float(high - low)
        return 2.0 ** math.floor(math.log2(width)) if width > 0 else 0.0

    @cached_property
    def information(self) -> FloatArray:
        """What a value itself would tell of θ, shape (d, d), from fine cells."""
        cells, slopes = cell_moments(self.family, self.theta, self.points(_FINE)[np.newaxis])
        matrix: FloatArray = answer_information(cells, slopes.swapaxes(1, 2))[0]
        return matrix

    @property
    def standardised(self) -> tuple["Member", float, float]:
        """The member to design for, and the location and scale that take its coordinates to this one's."""
        if not self.family.location_scale:
            return self, 0.0, 1.0
        return Member(self.family, tuple(self.family.standard.tolist())), self.theta[0], self.theta[1]

    @cached_property
    def mirror(self) -> Mirror | None:
        """The member's symmetry, if it has one: every design may be taken to have it too."""
        if self.family.discrete:
            return None
        centre = float(self.family.quantiles(self._row, np.array([0.5]))[0, 0])
        centre = 0.0 if abs(centre) < 1e-12 * self.spread else centre
        offsets = self.points(_FINE[_FINE > 0]) - centre
        cdf = self.family.cdf(self._row, np.concatenate([centre - offsets, centre + offsets]))[0]
        slopes = self.family.cdf_gradient(self._row, np.concatenate([centre - offsets, centre + offsets]))[0]
        left, right = slopes[: len(offsets)], slopes[len(offsets) :]
        near = 1e-7 * np.abs(slopes).max(axis=0)
        odd, even = (np.abs(left - right) < near).all(axis=0), (np.abs(left + right) < near).all(axis=0)
        if np.abs(cdf[: len(offsets)] + cdf[len(offsets) :] - 1).max() > 1e-9 or not (odd | even).all():
            return None
        return Mirror(centre, tuple(np.where(odd, -1.0, 1.0).tolist()))

    def weights(self, goal: Goal) -> FloatArray:
        """What the criterion weighs the variances by, shape (d,).

        The goal's weights belong to raw variances in location-scale families, in the others to the variances of the
        unconstrained coordinates (the logarithm of a positive parameter), by the delta method.
        """
        vector = goal.vector(self.family)
        if self.family.location_scale:
            return vector
        coordinates = self.family.unconstrain(self._row)[0]
        jacobians = [p.log_jacobian(coordinates[[j]])[0] for j, p in enumerate(self.family.parameters)]
        weighted: FloatArray = vector * np.exp(-2.0 * np.array(jacobians))
        return weighted

    @property
    def _row(self) -> FloatArray:
        return np.array([self.theta])

    @cached_property
    def _positive(self) -> bool:
        return bool(self.family.cdf(self._row, np.zeros(1))[0, 0] == 0)
