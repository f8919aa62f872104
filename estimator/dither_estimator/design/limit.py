"""The limit of local differential privacy: the best criterion that any ε-LDP mechanism can reach.

On `n` cells every ε-LDP mechanism is, or is no better than, a channel of weighted columns with two values (`columns`;
the staircase mechanisms of Kairouz, Oh & Viswanath 2016; Amorino & Gloter 2025). Its information is linear in the
weights, and the goal's criterion is convex in them. The limit is thus a convex programme, which is solved over a
growing list of columns.

The certificate: with `W` the slope of the criterion, no mechanism may have `tr(W M)` much above the programme's own.
With `W = L Lᵀ` and `t = ∂π L`, `tr(W h(S)) = |t·S|² / π·S = max_a 2 a·(t·S) - |a|² π·S`. Call `a`, at its best the mean
score of those who give the answer, the answer's meaning; the answer is then worth `2 a·t_x - |a|² π_x` in cell `x`. For
all `a` on a grid, in at most d dimensions, the best channel solves a linear programme of moderate size (`limit_lp`).
Its prices `λ` bound every mechanism by `Σ_x λ_x + max_S (tr(W h(S)) - λ·S) / ρ·S`, where `ρ ≥ 0` sums to 1 and the
maximum, nearly 0, is again over `a`. Its answers, among them unions of intervals, join the list until bound and
programme agree.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dither_estimator.design.columns import Columns, Patterns
from dither_estimator.design.convex import Criterion
from dither_estimator.design.goal import Goal
from dither_estimator.design.limit_lp import least_prices
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import solution
from dither_estimator.design.randomized_response import RandomizedResponseDesign
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import cell_moments

__all__ = ["LEAST_EPSILON", "BestMechanism", "Limit", "best_mechanism", "privacy_limit"]

LEAST_EPSILON = Fraction(1, 10_000)
"""For smaller ε the information is that at this ε times the squared ratio, to eight digits: columns hardly differ
there, and floating point could not distinguish their information."""
_GRID = np.linspace(-3.8, 3.8, 101)
_COARSE_STRIDE = 4
_MEANING_STEPS = 40
"""Steps of the grid of meanings `a` in each dimension."""
_MAX_ROUNDS = 12
_TOLERANCE = 5e-4
_MIN_CELL_PROBABILITY = 1e-8
"""Edges with less probability between them are merged."""
_LAYER_HEIGHTS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
"""A column between the extremes is a mixture of the staircase columns that are 1 where it exceeds one of these."""


@dataclass(frozen=True)
class Limit:
    """The best criterion of any ε-LDP mechanism on fine cells, and by how much the certificate may lie below it."""

    criterion: float
    gap: float


@dataclass(frozen=True, eq=False)
class BestMechanism:
    """The mechanism closest to the limit at a member, on fine cells."""

    limit: Limit
    edges: FloatArray
    """The increasing edges, shape (n - 1,)."""
    patterns: Patterns
    """The columns in use, shape (N, n); for a symmetric member each represents itself and its mirror image."""
    weights: FloatArray
    """The weights `w_y`, shape (N,)."""
    criterion: Criterion


def privacy_limit(member: Member, epsilon: Fraction, goal: Goal, cuts: tuple[float, ...] = ()) -> Limit:
    """The limit at a member, per respondent; computed once for a location-scale family, then moved.

    `cuts` are further edges, such as those of a query that is compared with the limit.
    """
    base = member.standardised(goal)
    solved = max(epsilon, LEAST_EPSILON)
    moved = tuple((cut - base.location) / base.scale for cut in cuts)
    limit = best_mechanism(base.member, solved, base.goal, moved).limit
    factor = base.factor * float(solved / epsilon) ** 2
    return Limit(limit.criterion * factor, limit.gap * factor)


@lru_cache(maxsize=256)
def best_mechanism(member: Member, epsilon: Fraction, goal: Goal, cuts: tuple[float, ...] = ()) -> BestMechanism:
    """The solution of the convex programme at a member, with its certificate; cells are also cut at `cuts`."""
    programme = _Programme.of(member, epsilon, goal, cuts)
    patterns, better, value, bound = programme.coarse, programme.coarse[:0], math.inf, 0.0
    for _ in range(_MAX_ROUNDS):
        weights, matrix = programme.columns.best_mechanism(programme.criterion, patterns, 0.01 * _TOLERANCE)
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
    """The edges of the cells, shape (n - 1,)."""
    columns: Columns
    """The columns on the cells; for a symmetric member each represents itself and its mirror image."""
    criterion: Criterion
    cuts: npt.NDArray[np.int64]
    """The indices of the edges that are cuts of the best randomised response."""

    @classmethod
    def of(cls, member: Member, epsilon: Fraction, goal: Goal, others: tuple[float, ...]) -> "_Programme":
        """Fine cells of the member, also cut at `others` and at the best randomised response's cuts."""
        response = solution(member, RandomizedResponseDesign(), epsilon, goal, None)
        cuts = np.unique([x for atom in response.atoms for x in atom.position])
        edges = _distinct(member, np.concatenate([member.points(_GRID), cuts, others]))
        cells, slopes = cell_moments(member.family, member.theta, edges[np.newaxis])
        share = np.trace(np.linalg.solve(member.information, response.information)) / len(member.theta)
        criterion = Criterion.of(member.aim(goal), share * member.information[np.newaxis])
        numbers = np.unique(np.abs(edges - cuts[:, np.newaxis]).argmin(axis=1)) + 1
        return cls(edges, Columns(cells[0], slopes[0], math.exp(-epsilon), member.mirror), criterion, numbers)

    @cached_property
    def coarse(self) -> Patterns:
        """Intervals between coarse edges, the cells of the best randomised response, and all their complements."""
        n = len(self.columns.cells)
        ends = np.append(np.arange(0, n, _COARSE_STRIDE), n)
        first, last = (ends[index] for index in np.triu_indices(len(ends), 1))
        first, last = np.concatenate([first, [0], self.cuts]), np.concatenate([last, self.cuts, [n]])
        inside = (first[:, np.newaxis] <= np.arange(n)) & (np.arange(n) < last[:, np.newaxis])
        return np.unique(np.concatenate([inside, ~inside]), axis=0)

    def certificate(self, matrix: FloatArray, patterns: Patterns) -> tuple[float, Patterns]:
        """A lower bound on every mechanism's criterion, and columns that would improve on the information `matrix`.

        `patterns` are the columns of the mechanism with that information; their meanings join the grid.
        """
        scores = self.columns.scores(self.criterion, matrix)
        worth = self.columns.worth(scores, self._meanings(scores, patterns))
        prices, q, r = least_prices(worth, self.columns.fold, self.columns.low, 0.1 * _TOLERANCE)
        better, excess = self.columns.beyond(scores, prices, np.concatenate([self.coarse, patterns]))
        best = self.criterion.value(matrix) * float(prices.sum() + excess.max(initial=0.0))
        columns = (r / q[:, np.newaxis])[q > 1e-4 * q.max()]
        layers = [columns > height for height in _LAYER_HEIGHTS]
        return self.criterion.bound(matrix, best), np.unique(np.concatenate([better, *layers]), axis=0)

    def _meanings(self, scores: FloatArray, patterns: Patterns) -> FloatArray:
        """Meanings `a` for the linear programme, (K, k): those of `patterns` and a grid over those of intervals."""
        coarse, own = self.columns.means(scores, self.coarse), self.columns.means(scores, patterns)
        step = np.ptp(coarse, axis=0) / _MEANING_STEPS
        grid = np.unique(np.round(coarse / step), axis=0) * step
        return np.concatenate([grid, own])


def _distinct(member: Member, edges: FloatArray) -> FloatArray:
    """The edges in order, without those with next to nothing between them; symmetric for a symmetric member."""
    mirror = member.mirror
    if mirror is None:
        edges = np.unique(edges)
        return edges[_apart(member, edges)]
    offsets = np.unique(np.abs(edges - mirror.centre))
    offsets = offsets[_apart(member, mirror.centre + offsets)]
    return np.unique(np.concatenate([mirror.centre - offsets, mirror.centre + offsets]))


def _apart(member: Member, edges: FloatArray) -> npt.NDArray[np.bool_]:
    cdf = member.family.cdf(np.array([member.theta]), edges)[0]
    return np.append(True, np.diff(cdf) > _MIN_CELL_PROBABILITY)
