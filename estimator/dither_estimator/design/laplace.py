"""Candidate queries of `laplace`: where the interval lies, how wide it is, how many levels it has.

Those of other mechanisms with an interval differ in their `question` and in the numbers of levels that are of use.

A search over a grid of centres and half-widths for each number of levels, then a pattern search from the best points.
With one level only the centre counts: the interval is a threshold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dither_client import IntervalQuery, Laplace, Query, Transform
from dither_estimator.design.atom import Atom
from dither_estimator.design.mechanism import MixtureDesign
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import channel_information
from dither_estimator.mechanisms.lattice import threshold

__all__ = ["PAPER_LEVELS", "LaplaceCandidates", "LaplaceDesign", "useful_levels"]

PAPER_LEVELS = 64
"""At this many levels the mechanism is the papers' clipped Laplace to within anything that can be measured."""

_CENTRES = np.linspace(-3.0, 3.0, 49)
_SEEDS = np.array([-1.6, -0.6, 0.0, 0.6, 1.6])
_THRESHOLDS = np.linspace(-3.8, 3.8, 153)
_HALF_WIDTHS = np.geomspace(1 / 64, 8.0, 28)
_RUNGS = np.arange(0.5, 8.5, 0.5)
"""Distances between levels that are tried, too, where values are whole numbers and information jumps with the cells."""
_MANY_VALUES = 8.0
"""Whole numbers with a spread from this on are so close that information is smooth."""
_CONTINUOUS = 128
"""More levels than this carry the same information, to 1e-5 of it, and are reckoned as if they were as many."""
_NARROWEST = 2.0**-9
"""Half-widths keep this share of the spread: a narrower interval tells no more, and rounding could close it."""
_NEAR = 0.98
_MOST = 5
_STEPS = 24
_PATTERN = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])


def useful_levels(epsilon: Fraction) -> tuple[int, ...]:
    """The numbers of levels that a design may choose from: noise of `levels / ε` steps leaves no use for more.

    Above 8 neighbours differ by less than a thousandth of the information, so not all of them are tried.
    """
    most = 3 + math.ceil(epsilon / 2)
    return tuple(levels for levels in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28) if levels <= most)


@dataclass(frozen=True)
class LaplaceCandidates:
    """Every interval, for each allowed number of levels. See `Candidates`.

    An atom's position is `(low, high)`; that of a threshold is one unit of spread wide.
    """

    member: Member
    epsilon: Fraction
    shapes: tuple[int, ...]
    """The allowed numbers of levels, increasing."""

    def seeds(self, most: int) -> list[Atom]:
        """Intervals on either side, narrow and wide, so that location and scale both show."""
        allowed = [levels for levels in self.shapes if levels <= most]
        centres = self.member.points(_SEEDS)
        half = np.array([0.5, 1.5]) * self.member.spread
        atoms = (
            self._atom(n, c, h) for n in {allowed[0], allowed[-1]} for c in centres.tolist() for h in half.tolist()
        )
        return list(dict.fromkeys(atoms))

    def best(self, slope: FloatArray, most: int) -> list[tuple[float, Atom]]:
        """The best interval for each number of levels that comes near the best of all."""
        tops = []
        for levels, (centres, halves, informations) in self._grid.items():
            if levels <= most:
                gains = np.einsum("nij,ij->n", informations, slope)
                top = int(gains.argmax())
                tops.append((float(gains[top]), levels, float(centres[top]), float(halves[top])))
        enough = _NEAR * max(tops)[0]
        near = sorted(tops)[-_MOST:]
        refined = [self._refine(slope, n, centre, half) for gain, n, centre, half in near if gain >= enough]
        return sorted(refined, key=lambda pair: -pair[0])

    def informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The information of each atom, shape (n, d, d)."""
        rows = []
        for atom in atoms:
            low, high = atom.position
            rows.append(self._informations(atom.shape, np.array([(low + high) / 2]), np.array([(high - low) / 2])))
        return np.concatenate(rows)

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom stands for."""
        low, high = atom.position
        if atom.shape == 1:
            return threshold((low + high) / 2, self.question(1), transform)
        return self.question(atom.shape).on(low, high, transform)

    def question(self, levels: int) -> IntervalQuery:
        """A query with that many levels, on any interval."""
        return Laplace(0.0, 1.0, levels, self.epsilon)

    @cached_property
    def _grid(self) -> dict[int, tuple[FloatArray, FloatArray, FloatArray]]:
        """Centres, half-widths and informations of the grid's intervals, by number of levels."""
        grid = {}
        for levels in self.shapes:
            if levels == 1:
                centres = self._half_line(_THRESHOLDS)
                halves = np.full(len(centres), 0.5 * self.member.spread)
            else:
                mesh = np.meshgrid(*self._axes(levels))
                centres, halves = mesh[0].ravel(), mesh[1].ravel()
            grid[levels] = (centres, halves, self._informations(levels, centres, halves))
        return grid

    def _axes(self, levels: int) -> tuple[FloatArray, FloatArray]:
        """The centres and the half-widths of the grid for more than one level."""
        centres, halves = self._half_line(_CENTRES), _HALF_WIDTHS * self.member.spread
        if not self.member.family.discrete or self.member.spread >= _MANY_VALUES:
            return centres, halves
        between = np.concatenate([centres - 0.5, centres, centres + 0.5])
        return np.unique(between), np.unique(np.concatenate([halves, levels / 2 * _RUNGS]))

    def _half_line(self, z: FloatArray) -> FloatArray:
        """The member's points, without those that a mirror image stands for."""
        points = self.member.points(z)
        mirror = self.member.mirror
        return points if mirror is None else points[points >= mirror.centre]

    def _atom(self, levels: int, centre: float, half: float) -> Atom:
        half = 0.5 * self.member.spread if levels == 1 else half
        return Atom(levels, (centre - half, centre + half))

    def _informations(self, levels: int, centres: FloatArray, halves: FloatArray) -> FloatArray:
        levels = min(levels, _CONTINUOUS)
        offsets = (2.0 * np.arange(1, levels + 1) - 1 - levels) / levels
        edges = centres[:, np.newaxis] + halves[:, np.newaxis] * offsets
        return channel_information(self.member.family, self.member.theta, edges, self._channel(levels))

    def _channel(self, levels: int) -> FloatArray:
        return channel_of(self.question(levels)).matrix

    def _refine(self, slope: FloatArray, levels: int, centre: float, half: float) -> tuple[float, Atom]:
        """A pattern search over centre and log half-width from a point of the grid."""
        step, ratio, gain = 0.125 * max(self.member.spread, half), 1.25, -math.inf
        for _ in range(_STEPS):
            centres = centre + step * _PATTERN[:, 0]
            halves = np.maximum(half * ratio ** _PATTERN[:, 1], _NARROWEST * self.member.spread)
            gains = np.einsum("nij,ij->n", self._informations(levels, centres, halves), slope)
            top = int(gains.argmax())
            if gains[top] > gain * (1 + 1e-12):
                gain, centre, half = float(gains[top]), float(centres[top]), float(halves[top])
            else:
                step, ratio = step / 2, math.sqrt(ratio)
        return gain, self._atom(levels, centre, half)


class LaplaceDesign(MixtureDesign):
    """`laplace`, and what other mechanisms on intervals share with it."""

    name: ClassVar[str] = Laplace.mechanism
    most_levels: ClassVar[int | None] = 1_023
    on_intervals: ClassVar[bool] = True

    def candidates(
        self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None
    ) -> LaplaceCandidates:
        return LaplaceCandidates(member, epsilon, useful_levels(epsilon) if levels is None else (levels,))

    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> IntervalQuery:
        return Laplace(0.0, 1.0, n_edges, epsilon)

    def check_question(self, epsilon: Fraction, rho: Fraction | None) -> Query:
        return self.question(1, epsilon, rho)

    def fixed_question(
        self,
        low: float,
        high: float,
        levels: int | None,
        epsilon: Fraction,
        rho: Fraction | None,
        transform: Transform,
    ) -> Query:
        return self.question(levels or PAPER_LEVELS, epsilon, rho).on(low, high, transform)

    def sizes(self, epsilon: Fraction) -> tuple[int, ...]:
        return (1,) if epsilon < 3 else (1, 2, 4)
