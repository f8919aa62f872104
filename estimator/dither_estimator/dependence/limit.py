"""The limit for several numbers: the least variance of margins and correlations that any ε-LDP mechanism reaches.

The mechanism sees which cell of a grid each number lies in, and may answer at will. As in `design.channel`, the best
one is found by column generation, and prices of cells bound all others.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from dither_estimator.dependence.boxes import Boxes
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.design.channel import BestChannel, best_channel, intervals
from dither_estimator.design.columns import Columns, Patterns, distinct
from dither_estimator.design.convex import Criterion

__all__ = ["Grid", "best_on_grid"]


@dataclass(frozen=True)
class Grid:
    """The cells that the same increasing `cuts` of each number make, for one population at one ε."""

    normals: EqualNormals
    cuts: tuple[float, ...]
    epsilon: Fraction
    known_margins: bool = False
    """Whether the correlations are all that is unknown."""

    @cached_property
    def columns(self) -> Columns:
        """All columns on the cells, with the gradients in what is unknown."""
        boxes = Boxes(self.normals, np.array(self.cuts))
        slopes = boxes.slopes[:, 2 * self.normals.components :] if self.known_margins else boxes.slopes
        return Columns(boxes.probabilities, slopes, math.exp(-self.epsilon))

    @property
    def criterion(self) -> Criterion:
        """The sum of the variances of all that is unknown."""
        cells, slopes = self.columns.cells, self.columns.slopes
        full = slopes.T @ (slopes / cells[:, np.newaxis])
        return Criterion.of(np.eye(len(full)), math.tanh(float(self.epsilon) / 2) ** 2 * full[np.newaxis])

    @property
    def starts(self) -> Patterns:
        """Columns about two numbers: an interval of each, or of just one of the two; with three, the odd one out."""
        found = distinct(np.concatenate([*self._of_pairs(), *self._of_triples()]))
        return found[found.any(axis=1) & ~found.all(axis=1)]

    def _of_pairs(self) -> Iterator[Patterns]:
        sides = len(self.cuts) + 1
        some = intervals(sides)
        some = np.concatenate([some, ~some[some.sum(axis=1) < sides]])
        for pair in combinations(range(self.normals.components), 2):
            first, second = (self._of_number(some, number) for number in pair)
            both = first[:, np.newaxis], second[np.newaxis]
            for joined in (both[0] & both[1], both[0] ^ both[1]):
                yield joined.reshape(-1, joined.shape[-1])

    def _of_triples(self) -> Iterator[Patterns]:
        above = np.arange(len(self.cuts) + 1) > np.arange(len(self.cuts))[:, np.newaxis]
        for triple in combinations(range(self.normals.components), 3):
            first, second, third = (self._of_number(above, number) for number in triple)
            yield (first == second) & (second == third)
            yield from ((first == second) & (second != third), (first == third) & (second != third))
            yield (second == third) & (first != second)

    def _of_number(self, some: Patterns, number: int) -> Patterns:
        """Patterns (N, k) of one number's cells as patterns of all cells, shape (N, n)."""
        sides, count = len(self.cuts) + 1, self.normals.components
        cell = np.arange(sides**count) // sides ** (count - 1 - number) % sides
        return some[:, cell]


def best_on_grid(grid: Grid) -> BestChannel:
    """The mechanism on the grid with the least sum of variances, and its certificate."""
    return best_channel(grid.columns, grid.criterion, grid.starts)
