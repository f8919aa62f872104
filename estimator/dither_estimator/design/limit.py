"""The limit of local differential privacy: the best criterion that any ε-LDP mechanism can reach.

On `n` cells every ε-LDP mechanism is a sum of columns `w_y S_y` with `S_y` in `{e^-ε, 1}^n`, `w_y ≥ 0` and
`Σ_y w_y S_yx = 1` for each cell `x`, or no better than one (the staircase mechanisms of Kairouz, Oh & Viswanath 2016;
Amorino & Gloter 2025). An answer with column `S` carries `h(S) = (∂π·S)(∂π·S)ᵀ / π·S`, so the information
`Σ_y w_y h(S_y)` is linear in `w` and the goal's criterion is convex: one convex programme, whatever the goal, is solved
over a growing list of columns.

What certifies it: with `W` the slope of the criterion, no mechanism may have `tr(W M)` much above the programme's own.
With `W = L Lᵀ` and `t = ∂π L`, `tr(W h(S)) = |t·S|² / π·S = max_a 2 a·(t·S) - |a|² π·S`: an answer that means `a`, the
mean score of those who give it, is worth `2 a·t_x - |a|² π_x` in cell `x`. For all `a` of a grid, in d dimensions at
most, the best channel is a linear programme of moderate size (`limit_prices`). Its prices `λ` bound every mechanism by
`Σ_x λ_x + max_S (tr(W h(S)) - λ·S) / ρ·S`, `ρ ≥ 0` with sum 1, where the maximum, nearly 0, is again over `a`; its
answers join the list, unions of intervals among them, until bound and programme agree.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dither_estimator.design.convex import Criterion, minimise, mix
from dither_estimator.design.goal import Goal
from dither_estimator.design.limit_lp import least_prices
from dither_estimator.design.member import Member, Mirror
from dither_estimator.design.optimum import solution
from dither_estimator.design.randomized_response import RandomizedResponseDesign
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import cell_moments

__all__ = ["LEAST_EPSILON", "BestMechanism", "Limit", "Patterns", "best_mechanism", "privacy_limit"]

LEAST_EPSILON = Fraction(1, 10_000)
"""Below this all information is that at this ε times the square of the ratio, to eight digits: columns hardly differ,
and floating point could not tell their information apart."""
_GRID = np.linspace(-3.8, 3.8, 101)
_COARSE = 4
_MEANINGS = 40
"""Steps of the grid of meanings `a` in each dimension."""
_ROUNDS = 12
_TOLERANCE = 5e-4
_NOTHING = 1e-8
"""Edges with less probability between them count as one."""
_ASCENTS = 8
_LAYERS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
"""A column between the extremes is a mixture of the staircase columns that are 1 where it is above some height."""

Patterns = npt.NDArray[np.bool_]
"""Shape (N, n): where each of N columns is 1."""


@dataclass(frozen=True)
class Limit:
    """The best criterion of any ε-LDP mechanism on fine cells, and how far below it the certificate leaves room."""

    criterion: float
    gap: float


@dataclass(frozen=True, eq=False)
class BestMechanism:
    """The mechanism that comes nearest to the limit at a member, on fine cells."""

    limit: Limit
    edges: FloatArray
    """Shape (n - 1,), increasing."""
    patterns: Patterns
    """The columns in use, shape (N, n); of a symmetric member each stands for itself and its mirror image."""
    weights: FloatArray
    """`w_y`, shape (N,)."""
    criterion: Criterion


def privacy_limit(member: Member, epsilon: Fraction, goal: Goal, cuts: tuple[float, ...] = ()) -> Limit:
    """The limit at a member, per respondent: found once for a location-scale family, then scaled.

    `cuts`: where else to cut, such as where a query is that is compared with the limit.
    """
    base, location, scale = member.standardised
    solved = max(epsilon, LEAST_EPSILON)
    limit = best_mechanism(base, solved, goal, tuple((cut - location) / scale for cut in cuts)).limit
    factor = (scale * float(solved / epsilon)) ** 2
    return Limit(limit.criterion * factor, limit.gap * factor)


@lru_cache(maxsize=256)
def best_mechanism(member: Member, epsilon: Fraction, goal: Goal, cuts: tuple[float, ...] = ()) -> BestMechanism:
    """The solution of the convex programme at a member, with its certificate; on cells that are cut at `cuts` too."""
    programme = _Programme.of(member, epsilon, goal, cuts)
    patterns, better, value, bound = programme.coarse, programme.coarse[:0], math.inf, 0.0
    for _ in range(_ROUNDS):
        weights, matrix = programme.best_mechanism(patterns)
        value = programme.criterion.value(matrix)
        chosen = weights > 1e-6 * weights.max()
        used, weights = patterns[chosen], weights[chosen]
        certified, better = programme.certificate(matrix, np.concatenate([used, better]))
        bound = max(bound, certified)
        if value - bound < _TOLERANCE * value:
            break
        patterns = np.unique(np.concatenate([patterns, better, ~better]), axis=0)
    limit = Limit(value, max(0.0, value - bound))
    return BestMechanism(limit, programme.edges, used, weights, programme.criterion)


@dataclass(frozen=True, eq=False)
class _Programme:
    """The convex programme on given cells."""

    edges: FloatArray
    """Shape (n - 1,)."""
    cells: FloatArray
    """`π`, shape (n,)."""
    slopes: FloatArray
    """`∂π`, shape (n, d)."""
    low: float
    """`e^-ε`, the lower value of a column."""
    mirror: Mirror | None
    """If not None, cells come in mirrored pairs, and a column stands for itself and its mirror image."""
    criterion: Criterion
    cuts: npt.NDArray[np.int64]
    """The edges, by number, of the best randomised response."""

    @classmethod
    def of(cls, member: Member, epsilon: Fraction, goal: Goal, others: tuple[float, ...]) -> "_Programme":
        """Fine cells of the member, cut also at `others`, and where the best randomised response is: none is better."""
        response = solution(member, RandomizedResponseDesign(), epsilon, goal, None)
        cuts = np.unique([x for atom in response.atoms for x in atom.position])
        edges = _distinct(member, np.concatenate([member.points(_GRID), cuts, others]))
        cells, slopes = cell_moments(member.family, member.theta, edges[np.newaxis])
        share = np.trace(np.linalg.solve(member.information, response.information)) / len(member.theta)
        criterion = Criterion.of(member.weights(goal), share * member.information[np.newaxis])
        numbers = np.unique(np.abs(edges - cuts[:, np.newaxis]).argmin(axis=1)) + 1
        return cls(edges, cells[0], slopes[0], math.exp(-epsilon), member.mirror, criterion, numbers)

    @cached_property
    def coarse(self) -> Patterns:
        """Intervals between coarse edges, the cells of the best randomised response, and all complements."""
        n = len(self.cells)
        ends = np.append(np.arange(0, n, _COARSE), n)
        first, last = (ends[index] for index in np.triu_indices(len(ends), 1))
        first, last = np.concatenate([first, [0], self.cuts]), np.concatenate([last, self.cuts, [n]])
        inside = (first[:, np.newaxis] <= np.arange(n)) & (np.arange(n) < last[:, np.newaxis])
        return np.unique(np.concatenate([inside, ~inside]), axis=0)

    def best_mechanism(self, patterns: Patterns) -> tuple[FloatArray, FloatArray]:
        """The weights (N,) of the best mechanism with these columns, and its information (d, d).

        `patterns` must hold each one's complement: together they are an answer that says nothing, hence a start.
        """
        informations = self._informations(patterns)
        start = np.full(len(patterns), 2.0 / ((1.0 + self.low) * len(patterns)))
        weights, _ = minimise(self.criterion, informations, self._constraints(patterns), start, 0.01 * _TOLERANCE)
        return weights, mix(weights, informations)

    def certificate(self, matrix: FloatArray, patterns: Patterns) -> tuple[float, Patterns]:
        """What no mechanism's criterion can go below, and columns that would improve on the information `matrix`.

        `patterns`: the columns of the mechanism with that information, whose meanings join the grid.
        """
        value, slope = self.criterion.value(matrix), self.criterion.slope(matrix)
        roots, vectors = np.linalg.eigh(slope / value)
        used = roots > 1e-9 * roots[-1]
        scores = self.slopes @ (vectors[:, used] * np.sqrt(roots[used]))
        meanings = self._meanings(scores, patterns)
        prices, q, r = least_prices(self._worth(scores, meanings), self._fold, self.low, 0.1 * _TOLERANCE)
        better, excess = self._beyond(scores, prices, np.concatenate([self.coarse, patterns]))
        bound = self.criterion.bound(matrix, value * float(prices.sum() + excess.max(initial=0.0)))
        columns = (r / q[:, np.newaxis])[q > 1e-4 * q.max()]
        layers = [columns > height for height in _LAYERS]
        return bound, np.unique(np.concatenate([better, *layers]), axis=0)

    def _columns(self, patterns: Patterns) -> FloatArray:
        return np.where(patterns, 1.0, self.low)

    def _informations(self, patterns: Patterns) -> FloatArray:
        """`h(S)` of each column, shape (N, d, d); the mean with its mirror image's if the member is symmetric."""
        columns = self._columns(patterns)
        gradients = columns @ self.slopes / np.sqrt(columns @ self.cells)[:, np.newaxis]
        informations: FloatArray = gradients[:, :, np.newaxis] * gradients[:, np.newaxis, :]
        return informations if self.mirror is None else self.mirror.symmetrised(informations)

    def _constraints(self, patterns: Patterns) -> FloatArray:
        """`Σ_y w_y S_y = 1` for each cell, in rows that do not degenerate as ε goes to 0, shape (n, N).

        The first row is the sum weighted by `π`; the others are differences of neighbouring cells over `1 - e^-ε`,
        which must vanish. Of mirrored pairs of cells one is enough.
        """
        rows = self._fold.T @ patterns.T / self._fold.sum(axis=0)[:, np.newaxis]
        total = self._columns(patterns) @ self.cells
        return np.concatenate([total[np.newaxis], np.diff(rows, axis=0)])

    @cached_property
    def _fold(self) -> FloatArray:
        """Shape (n, m): 1 where a cell belongs to a pair of mirrored cells; each is its own if not symmetric."""
        n = len(self.cells)
        if self.mirror is None:
            return np.eye(n)
        numbers = np.arange(n)
        return np.eye(n)[np.minimum(numbers, numbers[::-1])][:, : (n + 1) // 2]

    def _meanings(self, scores: FloatArray, patterns: Patterns) -> FloatArray:
        """`a` for the programme of prices, shape (K, k): those of `patterns`, and a grid over those of intervals."""
        coarse, own = self._means(scores, self.coarse), self._means(scores, patterns)
        step = np.ptp(coarse, axis=0) / _MEANINGS
        grid = np.unique(np.round(coarse / step), axis=0) * step
        return np.concatenate([grid, own])

    def _means(self, scores: FloatArray, patterns: Patterns) -> FloatArray:
        """The mean score `t·S / π·S` of those who give each answer, shape (N, k)."""
        columns = self._columns(patterns)
        means: FloatArray = columns @ scores / (columns @ self.cells)[:, np.newaxis]
        return means

    def _worth(self, scores: FloatArray, meanings: FloatArray) -> FloatArray:
        """`2 a·t_x - |a|² π_x`, shape (K, n)."""
        worth: FloatArray = 2.0 * meanings @ scores.T - (meanings**2).sum(axis=1)[:, np.newaxis] * self.cells
        return worth

    def _beyond(self, scores: FloatArray, prices: FloatArray, starts: Patterns) -> tuple[Patterns, FloatArray]:
        """Columns with `(tr(W h(S)) - λ·S) / ρ·S` above 0, and that excess, `ρ` the mean of `π` and equal shares.

        They are the best ones for the meanings of `starts`, and what ascents from there lead to.
        """
        first = patterns = np.unique(self._worth(scores, self._means(scores, starts)) > prices, axis=0)
        for _ in range(_ASCENTS):
            patterns = np.unique(self._worth(scores, self._means(scores, patterns)) > prices, axis=0)
        patterns = np.unique(np.concatenate([first, patterns]), axis=0)
        columns = self._columns(patterns)
        shares = columns @ self.cells
        broken = ((columns @ scores) ** 2).sum(axis=1) / shares - columns @ prices
        excess = broken / ((shares + columns.mean(axis=1)) / 2.0)
        return patterns[excess > 0], excess[excess > 0]


def _distinct(member: Member, edges: FloatArray) -> FloatArray:
    """The edges in order, without those that have next to nothing between them; of a symmetric member, mirrored."""
    mirror = member.mirror
    if mirror is None:
        edges = np.unique(edges)
        return edges[_apart(member, edges)]
    offsets = np.unique(np.abs(edges - mirror.centre))
    offsets = offsets[_apart(member, mirror.centre + offsets)]
    return np.unique(np.concatenate([mirror.centre - offsets, mirror.centre + offsets]))


def _apart(member: Member, edges: FloatArray) -> npt.NDArray[np.bool_]:
    cdf = member.family.cdf(np.array([member.theta]), edges)[0]
    return np.append(True, np.diff(cdf) > _NOTHING)
