"""The staircase query that reaches the limit: the solution of the limit's convex programme in a form that can be asked.

The programme (`limit`) works on about a hundred fine cells and spreads its weight over columns that differ by a cell or
two. Cuts that lie close together are merged, at ever smaller distances until little is lost. Then sets that the
criterion does not need are dropped, cuts are optimised, and the weights become integers that cover every cell equally.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dither_client import Query, RandomizedResponse, Staircase, Transform
from dither_estimator.design.atom import Atom
from dither_estimator.design.columns import Patterns
from dither_estimator.design.convex import Criterion
from dither_estimator.design.goal import Goal
from dither_estimator.design.limit import LEAST_EPSILON, BestMechanism, best_mechanism
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import DesignError, Solution, solution, variances
from dither_estimator.design.randomized_response import RandomizedResponseDesign
from dither_estimator.design.staircase_scheme import Scheme
from dither_estimator.design.staircase_weights import whole_weights
from dither_estimator.families import FloatArray

__all__ = ["MOST_ANSWERS", "StaircaseDesign", "staircase_solution"]

MOST_ANSWERS = 32
"""The most answers, and the most cells, of a query that a design chooses."""

_MERGE_RADII = (0.8, 0.5, 0.3, 0.25, 0.2, 0.16, 0.12, 0.06, 0.0)
"""Distances, in standard normal quantiles, within which cuts are merged; tried in this order."""
_MAX_INITIAL_CUTS = 48
"""With more initial cuts than this, `MOST_ANSWERS` is out of reach."""
_SIMPLER_QUERY_COST = 6e-4
"""The share of the criterion that may be given up for fewer cells and answers."""
_SMALLER_WEIGHTS_COST = 1e-4
"""The share of the criterion that may be given up for smaller weights."""
_MIN_ANSWER_SHARE = 1e-4
"""Columns with a smaller share of the answers are left out at first."""
_MIN_REFITTED_PROBABILITY = 1e-3
"""When a query is refitted, answers less likely than this share of the likeliest are left out."""


_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Sets:
    """The sets and weights of a query whose cuts are an atom's position; implements `Questions`."""

    sets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    epsilon: Fraction

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom represents."""
        return Staircase(atom.position, self.sets, self.weights, self.epsilon, transform)


@lru_cache(maxsize=1024)
def staircase_solution(member: Member, epsilon: Fraction, goal: Goal) -> Solution:
    """The best staircase query for a member: a design of one query, certified by the limit of every mechanism.

    Raises `DesignError`.
    """
    solved = max(epsilon, LEAST_EPSILON)
    share = float(epsilon / solved) ** 2
    best = best_mechanism(member, solved, goal)
    scheme, whole = _with_whole_weights(_scheme(member, solved, goal, best))
    pairs = sorted((tuple(np.flatnonzero(row).tolist()), v) for row, v in zip(scheme.patterns, whole, strict=True))
    information = share * scheme.information
    found, criterion = variances(information, member.information, member.aim(goal), goal)
    return Solution(
        candidates=_Sets(tuple(some for some, _ in pairs), tuple(v for _, v in pairs), epsilon),
        atoms=(Atom(len(scheme.cuts), tuple(scheme.cuts.tolist())),),
        weights=(1.0,),
        information=information,
        variances=found,
        criterion=criterion,
        gap=max(0.0, criterion - (best.limit.criterion - best.limit.gap) / share),
    )


def _with_cuts(member: Member, query: Staircase, cuts: FloatArray, criterion: Criterion) -> Staircase:
    """A query with these increasing cuts (as many as `query` has) and good sets for them.

    Sets are chosen among those of `query`, the intervals, and all complements. Cuts that coincide are merged. It takes
    some tens of milliseconds and certifies nothing. Raises `InvalidQuery`, or `LinAlgError` if the query would carry no
    information.
    """
    cells, kept = len(cuts) + 1, np.append(np.flatnonzero(np.diff(cuts) > 0), len(cuts) - 1)
    own = np.array([np.isin(np.arange(cells), some) for some in query.sets])[:, np.append(kept, cells - 1)]
    numbers = np.arange(len(kept) + 1)
    first, last = (index[:, np.newaxis] for index in np.triu_indices(len(kept) + 1))
    sets = np.concatenate([own, (first <= numbers) & (numbers <= last)])
    sets = np.unique(np.concatenate([sets, ~sets, sets[:, ::-1], ~sets[:, ::-1]]), axis=0)
    sets = sets[sets.any(axis=1) & ~sets.all(axis=1)]
    scheme = Scheme(member, math.exp(-query.epsilon), criterion, cuts[kept], sets, np.ones(len(sets)))
    scheme = scheme.reweighted() or scheme
    scheme = scheme.without(scheme.probable < _MIN_REFITTED_PROBABILITY * scheme.probable.max()) or scheme
    scheme, whole = _with_whole_weights(scheme)
    pairs = [(tuple(np.flatnonzero(row).tolist()), v) for row, v in zip(scheme.patterns, whole, strict=True)]
    chosen, weights = zip(*sorted(pairs), strict=True)
    return Staircase(scheme.cuts.tolist(), chosen, weights, query.epsilon)


class StaircaseDesign(MechanismDesign):
    """Designs of `staircase`: one query, whose cells and answers the design chooses."""

    name: ClassVar[str] = Staircase.mechanism
    label: ClassVar[str] = "One of several sets of cells, with noise: staircase"
    many_cells: ClassVar[bool] = True
    one_query: ClassVar[bool] = True

    def solved(
        self, member: Member, epsilon: Fraction, goal: Goal, levels: int | None, rho: Fraction | None
    ) -> Solution:
        return staircase_solution(member, epsilon, goal)

    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Query:
        return RandomizedResponse(range(n_edges), epsilon)

    def refitted(self, member: Member, query: Query, cuts: FloatArray, criterion: Criterion) -> Query:
        """The refitted query, whose sets are among those of `query`, the intervals, and their complements."""
        assert isinstance(query, Staircase)
        return _with_cuts(member, query, cuts, criterion)

    def answer_table(self, query: Query) -> list[tuple[int, int, str]]:
        assert isinstance(query, Staircase)
        pairs = zip(query.sets, query.weights, strict=True)
        return [(answer, weight, " ".join(map(str, some))) for answer, (some, weight) in enumerate(pairs)]


def _scheme(member: Member, epsilon: Fraction, goal: Goal, best: BestMechanism) -> Scheme:
    """The simplest scheme close to the limit, or the best one within `MOST_ANSWERS`."""
    enough = (1 + _SIMPLER_QUERY_COST) * best.limit.criterion
    found = _response(member, epsilon, goal, best)
    if found is not None and found.value <= enough:
        return found
    for start in _starts(member, epsilon, best):
        scheme = start.improved(enough).merged()
        if found is None or (_fits(scheme), -scheme.value) > (_fits(found), -found.value):
            found = scheme
        if _fits(found) and found.value <= enough:
            break
    assert found is not None
    return found


def _response(member: Member, epsilon: Fraction, goal: Goal, best: BestMechanism) -> Scheme | None:
    """The best randomised response if it is a single query; otherwise None."""
    atoms = solution(member, RandomizedResponseDesign(), epsilon, goal, None).atoms
    if len(atoms) > 1:
        return None
    cuts = np.array(atoms[0].position)
    cells = len(cuts) + 1
    scheme = Scheme(member, math.exp(-epsilon), best.criterion, cuts, np.eye(cells, dtype=bool), np.ones(cells))
    return scheme.with_weights(scheme.weights)


def _fits(scheme: Scheme) -> bool:
    return len(scheme.patterns) <= MOST_ANSWERS and len(scheme.cuts) < MOST_ANSWERS


def _starts(member: Member, epsilon: Fraction, best: BestMechanism) -> Iterator[Scheme]:
    """Schemes on more and more cells, each set accompanied by its complement, so that feasible weights exist."""
    low = math.exp(-epsilon)
    shares = best.weights * np.where(best.patterns, 1.0, low).mean(axis=1)
    patterns, shares = best.patterns[shares > _MIN_ANSWER_SHARE], shares[shares > _MIN_ANSWER_SHARE]
    if member.mirror is not None:
        patterns, shares = np.concatenate([patterns, patterns[:, ::-1]]), np.concatenate([shares, shares]) / 2
    cells = -1
    for radius in _MERGE_RADII:
        cuts, merged = _clustered(member, best.edges, patterns, shares, radius)
        merged = np.unique(np.concatenate([merged, ~merged]), axis=0)
        merged = merged[merged.any(axis=1) & ~merged.all(axis=1)]
        if len(cuts) > max(cells, 0) and (cells < 0 or len(cuts) <= _MAX_INITIAL_CUTS):
            cells = len(cuts)
            scheme = Scheme(member, low, best.criterion, cuts, merged, np.ones(len(merged)))
            yield scheme.with_weights(scheme.weights)


def _clustered(
    member: Member, edges: FloatArray, patterns: Patterns, shares: FloatArray, radius: float
) -> tuple[FloatArray, Patterns]:
    """Cuts (m,) for groups of edges within `radius` of the heaviest, and the patterns (N, m + 1) between them."""
    weight = shares @ (patterns[:, 1:] != patterns[:, :-1])
    used = np.flatnonzero(weight > 0)
    z = ndtri(np.clip(member.family.cdf(np.array([member.theta]), edges)[0], 1e-12, 1 - 1e-12))
    if member.mirror is not None:
        middle = used[np.abs(z[used]) <= max(radius / 2, 1e-6)]
        upper = _groups(used[z[used] > max(radius / 2, 1e-6)], z, weight, radius)
        lower = [len(edges) - 1 - group for group in upper]
        groups = [*lower, *([middle] if len(middle) else []), *upper]
    else:
        groups = _groups(used, z, weight, radius)
    groups.sort(key=lambda group: float(z[group].mean()))
    cuts = [_position(member, edges[group], weight[group]) for group in groups]
    ends = [0, *(int(group.max()) + 1 for group in groups)]
    return np.array(cuts), patterns[:, ends]


def _groups(used: _Numbers, z: FloatArray, weight: FloatArray, radius: float) -> list[_Numbers]:
    """Groups of the edges `used`, by index, each with the heaviest one near it."""
    groups: list[list[int]] = []
    for edge in sorted(used.tolist(), key=lambda number: -weight[number]):
        near = [group for group in groups if abs(z[group[0]] - z[edge]) <= radius]
        if near:
            near[0].append(edge)
        else:
            groups.append([edge])
    return [np.array(sorted(group)) for group in groups]


def _position(member: Member, edges: FloatArray, weight: FloatArray) -> float:
    if member.family.discrete:
        return float(edges[weight.argmax()])
    if member.mirror is not None and edges[0] <= member.mirror.centre <= edges[-1]:
        return member.mirror.centre
    return float(np.average(edges, weights=weight))


def _with_whole_weights(scheme: Scheme) -> tuple[Scheme, tuple[int, ...]]:
    """The scheme with integer weights, the smallest that cost little. Raises `DesignError`."""
    best: tuple[Scheme, tuple[int, ...]] | None = None
    for some in (scheme, scheme.vertex()):
        orbits = some.orbits
        weights = (orbits.T @ some.weights) / orbits.sum(axis=0)
        for whole in whole_weights(some.patterns, orbits, weights):
            rounded = some.with_weights(np.array(whole, dtype=float))
            if best is None or rounded.value < best[0].value:
                best = rounded, whole
            if rounded.value <= (1 + _SMALLER_WEIGHTS_COST) * scheme.value:
                return rounded, whole
    if best is None:
        raise DesignError("no staircase query with moderate weights covers all cells equally here")
    return best
