"""Candidate queries of `laplace`: the position and width of the interval, and the number of levels.

Other mechanisms on intervals differ in their `question` and in the numbers of levels that are useful. For each number
of levels a grid of centres and half-widths is searched, then a pattern search starts from the best points. With one
level only the centre matters: the interval is a threshold.
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

__all__ = ["PAPER_LEVELS", "IntervalCandidates", "LaplaceDesign"]

PAPER_LEVELS = 64
"""With this many levels the mechanism cannot be distinguished from the papers' clipped Laplace mechanism."""

_CENTRES = np.linspace(-3.0, 3.0, 49)
_SEEDS = np.array([-1.6, -0.6, 0.0, 0.6, 1.6])
_THRESHOLDS = np.linspace(-3.8, 3.8, 153)
_HALF_WIDTHS = np.geomspace(1 / 64, 8.0, 28)
_INTEGER_LEVEL_DISTANCES = np.arange(0.5, 8.5, 0.5)
"""Further distances between levels for integer values, for which information jumps with the cells."""
_SMOOTH_FROM_SPREAD = 8.0
"""From this spread on, integers are so close that information is smooth."""
_MAX_COMPUTED_LEVELS = 128
"""More levels than this change the information by at most 1e-5 of it, and it is computed for this many."""
_MIN_HALF_WIDTH = 2.0**-9
"""The smallest half-width as a share of the spread: narrower intervals gain nothing, and rounding could close them."""
_MIN_RELATIVE_GAIN = 0.98
_MAX_REFINED = 5
_SEARCH_STEPS = 24
_PATTERN = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])


@dataclass(frozen=True)
class IntervalCandidates:
    """Every interval, for each allowed number of levels, of a mechanism on intervals. See `Candidates`.

    An atom's position is `(low, high)`; a threshold has a width of one spread.
    """

    kind: "LaplaceDesign"
    member: Member
    epsilon: Fraction
    rho: Fraction | None
    shapes: tuple[int, ...]
    """The allowed numbers of levels, increasing."""

    def seeds(self, most: int) -> list[Atom]:
        """Narrow and wide intervals on either side of the centre, so that both location and scale are identified."""
        allowed = [levels for levels in self.shapes if levels <= most]
        centres = self.member.points(_SEEDS)
        half = np.array([0.5, 1.5]) * self.member.spread
        atoms = (
            self._atom(n, c, h) for n in {allowed[0], allowed[-1]} for c in centres.tolist() for h in half.tolist()
        )
        return list(dict.fromkeys(atoms))

    def best(self, slope: FloatArray, most: int) -> list[tuple[float, Atom]]:
        """The best interval for each number of levels that is nearly as good as the best of all."""
        tops = []
        for levels, (centres, halves, informations) in self._grid.items():
            if levels <= most:
                gains = np.einsum("nij,ij->n", informations, slope)
                top = int(gains.argmax())
                tops.append((float(gains[top]), levels, float(centres[top]), float(halves[top])))
        enough = _MIN_RELATIVE_GAIN * max(tops)[0]
        near = sorted(tops)[-_MAX_REFINED:]
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
        """The query that an atom represents."""
        low, high = atom.position
        if atom.shape == 1:
            return threshold((low + high) / 2, self._question(1), transform)
        return self._question(atom.shape).on(low, high, transform)

    def _question(self, levels: int) -> IntervalQuery:
        return self.kind.question(levels, self.epsilon, self.rho)

    @cached_property
    def _grid(self) -> dict[int, tuple[FloatArray, FloatArray, FloatArray]]:
        """The centres, half-widths and informations of the grid's intervals, by number of levels."""
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
        """The centres and half-widths of the grid for more than one level."""
        centres, halves = self._half_line(_CENTRES), _HALF_WIDTHS * self.member.spread
        if not self.member.family.discrete or self.member.spread >= _SMOOTH_FROM_SPREAD:
            return centres, halves
        between = np.concatenate([centres - 0.5, centres, centres + 0.5])
        return np.unique(between), np.unique(np.concatenate([halves, levels / 2 * _INTEGER_LEVEL_DISTANCES]))

    def _half_line(self, z: FloatArray) -> FloatArray:
        """The member's points; of a symmetric member only one of each mirrored pair."""
        points = self.member.points(z)
        mirror = self.member.mirror
        return points if mirror is None else points[points >= mirror.centre]

    def _atom(self, levels: int, centre: float, half: float) -> Atom:
        half = 0.5 * self.member.spread if levels == 1 else half
        return Atom(levels, (centre - half, centre + half))

    def _informations(self, levels: int, centres: FloatArray, halves: FloatArray) -> FloatArray:
        levels = min(levels, _MAX_COMPUTED_LEVELS)
        offsets = (2.0 * np.arange(1, levels + 1) - 1 - levels) / levels
        edges = centres[:, np.newaxis] + halves[:, np.newaxis] * offsets
        return channel_information(
            self.member.family, self.member.theta, edges, channel_of(self._question(levels)).matrix
        )

    def _refine(self, slope: FloatArray, levels: int, centre: float, half: float) -> tuple[float, Atom]:
        """A pattern search over the centre and the log half-width, starting from a point of the grid."""
        step, ratio, gain = 0.125 * max(self.member.spread, half), 1.25, -math.inf
        for _ in range(_SEARCH_STEPS):
            centres = centre + step * _PATTERN[:, 0]
            halves = np.maximum(half * ratio ** _PATTERN[:, 1], _MIN_HALF_WIDTH * self.member.spread)
            gains = np.einsum("nij,ij->n", self._informations(levels, centres, halves), slope)
            top = int(gains.argmax())
            if gains[top] > gain * (1 + 1e-12):
                gain, centre, half = float(gains[top]), float(centres[top]), float(halves[top])
            else:
                step, ratio = step / 2, math.sqrt(ratio)
        return gain, self._atom(levels, centre, half)


class LaplaceDesign(MixtureDesign):
    """Designs of `laplace`; other mechanisms on intervals inherit from it."""

    name: ClassVar[str] = Laplace.mechanism
    label: ClassVar[str] = "A place between two thresholds, with Laplace noise"
    most_levels: ClassVar[int | None] = 1_023
    on_intervals: ClassVar[bool] = True

    def candidates(
        self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None
    ) -> IntervalCandidates:
        shapes = self.useful_levels(epsilon) if levels is None else (levels,)
        return IntervalCandidates(self, member, epsilon, rho, shapes)

    def useful_levels(self, epsilon: Fraction) -> tuple[int, ...]:
        """The numbers of levels that a design may choose from: noise of `levels / ε` steps leaves no use for more.

        Above 8 neighbours differ by less than a thousandth of the information, so not all of them are tried.
        """
        most = 3 + math.ceil(epsilon / 2)
        return tuple(levels for levels in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28) if levels <= most)

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
