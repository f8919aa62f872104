"""Columns of ε-LDP channels on cells: how much answers with them tell, and which weights make a channel of them.

A column `S` in `{e^-ε, 1}^n` is how likely each cell's people give an answer, up to a factor, its weight `w`. Weighted
columns are a channel if `Σ_y w_y S_yx = 1` for each cell `x`. An answer with column `S` carries the information
`h(S) = (∂π·S)(∂π·S)ᵀ / π·S`, so that of a channel, `Σ_y w_y h(S_y)`, is linear in the weights.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dither_estimator.design.convex import Criterion, minimise, mix
from dither_estimator.design.member import Mirror
from dither_estimator.families import FloatArray

__all__ = ["Columns", "Patterns", "distinct"]

_ASCENTS = 8

Patterns = npt.NDArray[np.bool_]
"""Where each of N columns is 1, shape (N, n)."""


def distinct(patterns: Patterns) -> Patterns:
    """Each pattern once, in order: what `np.unique` by rows finds, but faster."""
    packed = np.ascontiguousarray(np.packbits(patterns, axis=1))
    _, first = np.unique(packed.view((np.void, packed.shape[1])).ravel(), return_index=True)
    return patterns[first]


@dataclass(frozen=True, eq=False)
class Columns:
    """All columns on given cells at one ε."""

    cells: FloatArray
    """The cell probabilities `π`, shape (n,)."""
    slopes: FloatArray
    """Their gradients `∂π`, shape (n, d)."""
    low: float
    """`e^-ε`, the lower value of a column."""
    mirror: Mirror | None = None
    """If not None, cells come in mirrored pairs, and a column represents itself and its mirror image."""

    def values(self, patterns: Patterns) -> FloatArray:
        """The columns themselves, shape (N, n)."""
        return np.where(patterns, 1.0, self.low)

    def best_mechanism(
        self, criterion: Criterion, patterns: Patterns, tolerance: float
    ) -> tuple[FloatArray, FloatArray]:
        """The weights (N,) of the best mechanism with these columns, and its information (d, d).

        `patterns` must contain the complement of each pattern: with it, a pattern makes a mechanism without
        information, from which the solver starts. `tolerance`: of the criterion, relative.
        """
        informations = self._informations(patterns)
        start = np.full(len(patterns), 2.0 / ((1.0 + self.low) * len(patterns)))
        weights = minimise(criterion, informations, self._constraints(patterns), start, tolerance)
        return weights, mix(weights, informations)

    def scores(self, criterion: Criterion, matrix: FloatArray) -> FloatArray:
        """`t = ∂π L` (n, k) with `L Lᵀ` the criterion's slope at the information `matrix`, in units of its value."""
        roots, vectors = np.linalg.eigh(criterion.slope(matrix) / criterion.value(matrix))
        used = roots > 1e-9 * roots[-1]
        return np.asarray(self.slopes @ (vectors[:, used] * np.sqrt(roots[used])))

    def means(self, scores: FloatArray, patterns: Patterns) -> FloatArray:
        """The mean score `t·S / π·S` of those who give each answer, shape (N, k)."""
        columns = self.values(patterns)
        return np.asarray(columns @ scores / (columns @ self.cells)[:, np.newaxis])

    def worth(self, scores: FloatArray, meanings: FloatArray) -> FloatArray:
        """The worth by cell of answers with these meanings `a` (K, k), `2 a·t_x - |a|² π_x`, shape (K, n)."""
        return np.asarray(2.0 * meanings @ scores.T - (meanings**2).sum(axis=1)[:, np.newaxis] * self.cells)

    @property
    def shares(self) -> FloatArray:
        """`ρ` (n,), the mean of `π` and equal shares: of the columns of a channel, `Σ_y w_y ρ·S_y = 1`."""
        return (self.cells + 1.0 / len(self.cells)) / 2.0

    def beyond(self, scores: FloatArray, prices: FloatArray, starts: Patterns) -> tuple[Patterns, FloatArray]:
        """Columns with positive `(|t·S|² / π·S - λ·S) / ρ·S`, and these values, with the `shares` ρ.

        They are the best columns for the meanings of `starts`, and those to which ascents from there lead.
        """
        first = patterns = distinct(self.worth(scores, self.means(scores, starts)) > prices)
        for _ in range(_ASCENTS):
            patterns = distinct(self.worth(scores, self.means(scores, patterns)) > prices)
        patterns = distinct(np.concatenate([first, patterns]))
        columns = self.values(patterns)
        broken = ((columns @ scores) ** 2).sum(axis=1) / (columns @ self.cells) - columns @ prices
        excess = broken / (columns @ self.shares)
        return patterns[excess > 0], excess[excess > 0]

    @cached_property
    def fold(self) -> FloatArray:
        """Shape (n, m): 1 where a cell belongs to a mirrored pair; without symmetry each cell is its own."""
        n = len(self.cells)
        if self.mirror is None:
            return np.eye(n)
        numbers = np.arange(n)
        return np.eye(n)[np.minimum(numbers, numbers[::-1])][:, : (n + 1) // 2]

    def _informations(self, patterns: Patterns) -> FloatArray:
        """`h(S)` of each column, shape (N, d, d); for a symmetric member, averaged with its mirror image's."""
        columns = self.values(patterns)
        gradients = columns @ self.slopes / np.sqrt(columns @ self.cells)[:, np.newaxis]
        informations: FloatArray = gradients[:, :, np.newaxis] * gradients[:, np.newaxis, :]
        return informations if self.mirror is None else self.mirror.symmetrised(informations)

    def _constraints(self, patterns: Patterns) -> FloatArray:
        """`Σ_y w_y S_y = 1` for each cell, in rows that do not degenerate as ε goes to 0, shape (n, N).

        The first row is the sum weighted by `π`; the others, which must vanish, are differences of adjacent cells
        divided by `1 - e^-ε`. One cell of each mirrored pair suffices.
        """
        rows = self.fold.T @ patterns.T / self.fold.sum(axis=0)[:, np.newaxis]
        total = self.values(patterns) @ self.cells
        return np.concatenate([total[np.newaxis], np.diff(rows, axis=0)])
