"""The member of a family for which a design is made: where its probability lies, and whether it is symmetric."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from dither_estimator.design.atom import Atom
from dither_estimator.design.functionals import functionals
from dither_estimator.design.goal import Goal
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.information import answer_information, cell_moments

__all__ = ["Member", "Mirror", "Standardised"]

_FINE_GRID = np.linspace(-3.8, 3.8, 153)
_SYMMETRIC_WITHIN = 1e-7


@dataclass(frozen=True)
class Mirror:
    """A symmetry of a member: reflection about `centre` only changes the sign of the odd parameters' scores."""

    centre: float
    parity: tuple[float, ...]
    """-1 for odd parameters (location), 1 for even ones (scale, shape)."""

    def symmetrised(self, informations: FloatArray) -> FloatArray:
        """Each information (n, d, d) averaged with its mirror image's: 0 between odd and even parameters."""
        return informations * (1.0 + np.outer(self.parity, self.parity)) / 2


@dataclass(frozen=True)
class Member:
    """One member θ of a family. `theta` is a tuple, so that members are hashable."""

    family: Family
    theta: tuple[float, ...]
    lopsided: bool = False
    """Whether the goal is not symmetric, so that designs cannot be assumed to be."""

    def points(self, z: FloatArray) -> FloatArray:
        """Candidate cuts: the quantiles at probabilities `Φ(z)`, strictly increasing; for the standard normal, `z`.

        For integer values they lie half a unit higher, and there may be fewer.
        """
        quantiles = np.unique(self.family.quantiles(self._row, ndtr(z))[0])
        if not self.family.discrete:
            return quantiles
        if len(quantiles) == 1:  # nearly all values are equal: cut wherever that separates any others
            cuts = quantiles[0] + np.array([-0.5, 0.5])
            cdf = self.family.cdf(self._row, cuts)[0]
            if (inside := (cdf > 0) & (cdf < 1)).any():
                return np.asarray(cuts[inside])
        return quantiles + 0.5

    def rounded(self, atom: Atom, share: float) -> Atom:
        """The atom at dyadic coordinates: multiples of `share` of the spread, finer near the end of a half-line."""
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
        """The unit of length of the member's designs: the largest power of two up to its interquartile range.

        0 if floating point cannot distinguish the quartiles.
        """
        low, high = self.family.quantiles(self._row, np.array([0.25, 0.75]))[0]
        width = max(high - low, 1.0) if self.family.discrete else float(high - low)
        return 2.0 ** math.floor(math.log2(width)) if width > 0 else 0.0

    @cached_property
    def information(self) -> FloatArray:
        """The information about θ in a value itself, shape (d, d), computed on fine cells."""
        cells, slopes = cell_moments(self.family, self.theta, self.points(_FINE_GRID)[np.newaxis])
        return answer_information(cells, slopes.swapaxes(1, 2))[0]

    def standardised(self, goal: Goal) -> "Standardised":
        """The member to design for, with the goal there, and how both map to this member's."""
        family = self.family
        if not (family.location_scale or family.measured_in):
            return Standardised(self.suiting(goal), goal, 0.0, 1.0, 1.0, np.ones(len(self.theta)))
        location, scale, *shapes = self.theta
        base = Member(family, (0.0, 1.0, *shapes))
        moved = goal.with_cuts([(cut - location) / scale for cut in goal.cuts])
        without_unit = goal.of_shares or (goal.of_parameters and not family.location_scale)
        units = np.array([scale, scale, *(1.0 for _ in shapes)])
        return Standardised(base.suiting(moved), moved, location, scale, 1.0 if without_unit else scale**2, units)

    def suiting(self, goal: Goal) -> "Member":
        """This member, without its symmetry if the goal does not share it."""
        if self.mirror is None or goal.of_parameters:
            return self
        aim = self.aim(goal)
        off = np.abs(aim - self.mirror.symmetrised(aim)).max()
        return replace(self, lopsided=True) if off > _SYMMETRIC_WITHIN * np.abs(aim).max() else self

    @cached_property
    def mirror(self) -> Mirror | None:
        """The member's symmetry, or None; if there is one, every design may be assumed to share it."""
        if self.family.discrete or self.lopsided:
            return None
        centre = float(self.family.quantiles(self._row, np.array([0.5]))[0, 0])
        centre = 0.0 if abs(centre) < 1e-12 * self.spread else centre
        offsets = self.points(_FINE_GRID[_FINE_GRID > 0]) - centre
        cdf = self.family.cdf(self._row, np.concatenate([centre - offsets, centre + offsets]))[0]
        slopes = self.family.cdf_gradient(self._row, np.concatenate([centre - offsets, centre + offsets]))[0]
        left, right = slopes[: len(offsets)], slopes[len(offsets) :]
        near = 1e-7 * np.abs(slopes).max(axis=0)
        odd, even = (np.abs(left - right) < near).all(axis=0), (np.abs(left + right) < near).all(axis=0)
        if np.abs(cdf[: len(offsets)] + cdf[len(offsets) :] - 1).max() > 1e-9 or not (odd | even).all():
            return None
        return Mirror(centre, tuple(np.where(odd, -1.0, 1.0).tolist()))

    def aim(self, goal: Goal) -> FloatArray:
        """`G` of the criterion `tr(G V)` of estimates with covariance `V`, shape (d, d).

        In location-scale families the goal's weights apply to the variances of the parameters; in others to those of
        the unconstrained coordinates (the logarithm of a positive parameter) in their units, converted by the delta
        method.
        Raises `LinAlgError` if a share is so near to 0 or 1 that floating point cannot tell how it changes.
        """
        if not goal.of_parameters:
            found: FloatArray = np.sum(
                [f.weight * f.slopes for f in functionals(goal, self.family, self.theta)], axis=0
            )
            if not (np.isfinite(found).all() and np.trace(found) > 0):
                raise np.linalg.LinAlgError("the goal does not depend on the parameters here")
            return found
        return np.diag(self._weights(goal))

    def _weights(self, goal: Goal) -> FloatArray:
        vector = goal.vector(self.family)
        if self.family.location_scale:
            return vector
        coordinates = self.family.unconstrain(self._row)[0]
        jacobians = [p.log_jacobian(coordinates[[j]])[0] for j, p in enumerate(self.family.parameters)]
        return vector * np.exp(-2.0 * np.array(jacobians)) / self.family.units(self._row)[0] ** 2

    @property
    def _row(self) -> FloatArray:
        return np.array([self.theta])

    @cached_property
    def _positive(self) -> bool:
        return bool(self.family.cdf(self._row, np.zeros(1))[0, 0] == 0)


@dataclass(frozen=True)
class Standardised:
    """A member to design for, in whose coordinates a design is found once and then moved."""

    member: Member
    goal: Goal
    location: float
    scale: float
    """A point `x` of `member` lies at `location + scale x`."""
    factor: float
    """A criterion there, times this, is the original one."""
    units: FloatArray
    """Standard deviations of the parameters there, times these, are the original ones, shape (d,)."""
