"""Candidate queries of `randomized_response`: the number of cells and the cuts between them.

With `r = e^ε - 1` and J cells an answer has probability `(1 + r π_s) / (e^ε + J - 1)`, so a query's worth under the
weight `W` is a sum over cells, `tr(W F) = r² / (e^ε + J - 1) · Σ_s ∂π_sᵀ W ∂π_s / (1 + r π_s)`. The best cuts on a grid
are therefore found exactly, for all J at once, by dynamic programming; ever finer grids around them do the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dither_client import Query, RandomizedResponse, Transform
from dither_estimator.design.atom import Atom
from dither_estimator.design.mechanism import MixtureDesign
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import cell_moments, channel_information

__all__ = ["USEFUL_CUTS", "RandomizedResponseCandidates", "RandomizedResponseDesign"]

USEFUL_CUTS = tuple(range(1, 32))
"""The numbers of cuts from which a design may choose: at most 32 cells."""

_GRID = np.linspace(-3.8, 3.8, 153)
_SEED_SHIFTS = (-1.6, -0.6, 0.0, 0.6, 1.6)
_MIN_RELATIVE_GAIN = 0.99
_MAX_REFINED = 4
_ZOOMS = 10
_WINDOW = np.arange(-2, 3)
_MIN_CUT_DISTANCE = 0.6
"""The smallest distance between cuts in units of the grid's spacing: nearly empty cells are useless and hard to ask."""


@dataclass(frozen=True)
class RandomizedResponseCandidates:
    """Every vector of cuts with each allowed number of cuts; implements `Candidates`."""

    member: Member
    epsilon: Fraction
    shapes: tuple[int, ...]
    """The allowed numbers of cuts, increasing."""

    def seeds(self, most: int) -> list[Atom]:
        """Evenly spaced cuts with several shifts, so that every parameter is identified."""
        allowed = [cuts for cuts in self.shapes if cuts <= most]
        starts = [self._grid[0][:count] for count in allowed[:1]]
        for count in {allowed[0], allowed[len(allowed) // 2], allowed[-1]}:
            even = np.linspace(-1.5, 1.5, count) if count > 1 else np.zeros(1)
            starts += [self.member.points(even + shift) for shift in _SEED_SHIFTS]
        return [Atom(len(points), tuple(points.tolist())) for points in starts if len(points) in allowed]

    def best(self, slope: FloatArray, most: int) -> list[tuple[float, Atom]]:
        """The best cuts for each number of cuts that is nearly the best of all: exact on the grid, then refined."""
        coarse = self._programme(slope, most)
        near = sorted(coarse, key=lambda pair: -pair[0])[:_MAX_REFINED]
        if self.member.family.discrete:
            return [(gain, Atom(len(cuts), tuple(cuts.tolist()))) for gain, cuts in near]
        refined = [self._zoom(slope, cuts) for gain, cuts in near if gain >= _MIN_RELATIVE_GAIN * near[0][0]]
        return sorted(refined, key=lambda pair: -pair[0])

    def informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The information of each atom, shape (n, d, d)."""
        rows = [
            channel_information(self.member.family, self.member.theta, np.array([a.position]), self._channel(a.shape))
            for a in atoms
        ]
        return np.concatenate(rows)

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom represents."""
        return RandomizedResponse(atom.position, self.epsilon, transform)

    def _channel(self, cuts: int) -> FloatArray:
        return channel_of(RandomizedResponse(range(cuts), self.epsilon)).matrix

    @cached_property
    def _grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Points at which cuts may lie, and the CDF and its gradient there; the CDF starts with 0 and ends with 1."""
        points = self.member.points(_GRID)
        cells, slopes = cell_moments(self.member.family, self.member.theta, points[np.newaxis])
        start = np.zeros((1, slopes.shape[-1]))
        return points, np.append(0.0, np.cumsum(cells[0])), np.concatenate([start, np.cumsum(slopes[0], axis=0)])

    def _cell_worth(self, root: FloatArray, cdf: FloatArray, gradient: FloatArray) -> FloatArray:
        """`∂πᵀ W ∂π r / (1 + r π)` of the cell between points `[..., i, j]`; -∞ if the cell has no probability.

        `root` is `L` with `W = L Lᵀ`. `cdf` (..., 2, m) and `gradient` (..., 2, m, d) contain lower and upper ends.
        """
        cells = cdf[..., 1, np.newaxis, :] - cdf[..., 0, :, np.newaxis]
        scores = gradient @ root
        slopes = scores[..., 1, np.newaxis, :, :] - scores[..., 0, :, np.newaxis, :]
        other = math.exp(-self.epsilon)
        worth = (slopes**2).sum(axis=-1) / (other / (1.0 - other) + np.maximum(cells, 0.0))
        return np.where(cells > 0, worth, -np.inf)

    def _scale(self, cuts: int) -> float:
        """`r / (e^ε + J - 1)`, the factor of the sum over cells."""
        other = math.exp(-self.epsilon)
        return (1.0 - other) / (1.0 + cuts * other)

    def _programme(self, slope: FloatArray, most: int) -> list[tuple[float, FloatArray]]:
        """The best cuts on the grid for each allowed number up to `most`, with their worth, found as longest paths."""
        points, cdf, gradient = self._grid
        worth = self._cell_worth(_root(slope), np.stack([cdf, cdf]), np.stack([gradient, gradient]))
        values, choices = [worth[0, :]], [np.zeros(len(cdf), dtype=int)]
        for _ in range(min(self.shapes[-1], most, len(points))):
            totals = values[-1][:, np.newaxis] + worth
            choices.append(totals.argmax(axis=0))
            values.append(totals[choices[-1], np.arange(len(cdf))])
        best = []
        for cuts in self.shapes:
            if cuts < len(values) and np.isfinite(values[cuts][-1]):
                path = [len(cdf) - 1]
                for chosen in reversed(choices[1 : cuts + 1]):
                    path.append(int(chosen[path[-1]]))
                best.append((self._scale(cuts) * float(values[cuts][-1]), points[np.array(path[:0:-1]) - 1]))
        return best

    def _zoom(self, slope: FloatArray, cuts: FloatArray) -> tuple[float, Atom]:
        """Refine the cuts on ever finer grids around them, each solved by dynamic programming."""
        points = self._grid[0]
        nearest = np.clip(np.searchsorted(points, cuts), 1, len(points) - 1)
        spacing = points[nearest] - points[nearest - 1]
        width, root, gain = spacing / 2, _root(slope), -np.inf
        for _ in range(_ZOOMS):
            near = cuts[:, np.newaxis] + width[:, np.newaxis] * _WINDOW
            gain, cuts = self._local_programme(root, near, _MIN_CUT_DISTANCE * spacing[1:])
            width = width / 2
        return gain, Atom(len(cuts), tuple(cuts.tolist()))

    def _local_programme(self, root: FloatArray, points: FloatArray, apart: FloatArray) -> tuple[float, FloatArray]:
        """The best cuts with cut `i` among `points[i]`, shape (cuts, m), and gaps of at least `apart`."""
        count, m = points.shape
        member = np.array([self.member.theta])
        cdf = self.member.family.cdf(member, points.ravel())[0].reshape(count, m)
        gradient = self.member.family.cdf_gradient(member, points.ravel())[0].reshape(count, m, -1)
        low, high = np.full((1, m), 0.0), np.full((1, m), 1.0)
        flat = np.zeros((1, m, gradient.shape[-1]))
        cdfs = np.stack([np.concatenate([low, cdf]), np.concatenate([cdf, high])], axis=1)
        gradients = np.stack([np.concatenate([flat, gradient]), np.concatenate([gradient, flat])], axis=1)
        worth = self._cell_worth(root, cdfs, gradients)
        widths = points[1:, np.newaxis, :] - points[:-1, :, np.newaxis]
        worth[1:-1][widths < apart[:, np.newaxis, np.newaxis]] = -np.inf
        value, choices = worth[0, 0], []
        for cell in worth[1:]:
            totals = value[:, np.newaxis] + cell
            choices.append(totals.argmax(axis=0))
            value = totals.max(axis=0)
        path = [0]
        for chosen in reversed(choices):
            path.append(int(chosen[path[-1]]))
        return self._scale(count) * float(value[0]), points[np.arange(count), path[:0:-1]]


class RandomizedResponseDesign(MixtureDesign):
    """Designs of `randomized_response`."""

    name: ClassVar[str] = RandomizedResponse.mechanism
    label: ClassVar[str] = "One of several cells"
    most_levels: ClassVar[int | None] = 63
    many_cells: ClassVar[bool] = True

    def candidates(
        self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None
    ) -> RandomizedResponseCandidates:
        return RandomizedResponseCandidates(member, epsilon, USEFUL_CUTS if levels is None else (levels,))

    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Query:
        return RandomizedResponse(range(n_edges), epsilon)

    def fixed_question(
        self,
        low: float,
        high: float,
        levels: int | None,
        epsilon: Fraction,
        rho: Fraction | None,
        transform: Transform,
    ) -> Query:
        cuts = [(low + high) / 2] if levels == 1 else np.linspace(low, high, levels or 2).tolist()
        return RandomizedResponse(cuts, epsilon, transform)


def _root(slope: FloatArray) -> FloatArray:
    """`L` with `W = L Lᵀ`, for a positive semi-definite `W`."""
    values, vectors = np.linalg.eigh(slope)
    return vectors * np.sqrt(np.maximum(values, 0.0))
