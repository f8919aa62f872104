"""Questions about a distribution, so that every part of it is asked about.

Once the population is known roughly, randomised response asks about the cells that tell most (`cell_design`). Before,
and by other mechanisms, cells lie between posterior quantiles.
"""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, cycle, islice

import numpy as np

from dither_client import IntervalQuery, Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.lattice import on_interval
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.cell_design import DISTINCT, cell_questions, cells_at
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.place import known_by
from dither_estimator.nonparametric.rounding import unit_of
from dither_estimator.nonparametric.support import Support
from dither_estimator.nonparametric.unknowns import Unknowns

__all__ = ["Templates", "looking_farther", "quantile_questions", "whole_questions"]

_HORIZON = 3.0
"""Questions are planned for this many times the answers that there are."""
_MIN_KNOWN = 400.0
"""The least information, in answers without noise, by which cells are chosen.

With less, two groups may look like one, and what then seems best would hardly tell them apart.
"""

_SHIFTS = 8
"""The most cells between quantiles that take turns once the place is found: they cut the population finely enough."""
_LOOKING, _OUTSIDE = 8, 0.01
"""Every so many questions about cells have an outermost cut beyond which so few people are believed to be at most.

Where hardly anybody is believed to be, no question tells much; but then nobody would find those who are there.
"""
_AT_BOUNDS, _RARELY, _FEW = 4, 4, 0.02
"""One of so many questions between quantiles has a cut that tells people at a bound from all others; where at most this
share of all are believed to be at the bound, one of so many of these.

No other question does: as far as it can tell, many at a bound are many just beside it.
"""
_MARGIN = 1e-12
_MIN_ROUNDINGS = 4
"""The least distance between two levels of an interval, in distances between neighbouring numbers."""


@dataclass(frozen=True)
class Templates:
    """Queries of the mechanism and at the ε of the questions that are made `with_edges` or `on` an interval."""

    cells: Query
    """For questions that cut all of the population into cells."""
    threshold: Query
    """For questions with one edge."""

    @classmethod
    def of(cls, query: Query) -> "Templates":
        """Both are like the query; an interval with one level is a threshold."""
        return cls(query, query.with_levels(1) if on_interval(query) else query)


def whole_questions(
    distribution: Distribution, templates: Templates, cells: int | None, size: int, counts: Counts, first: int = 0
) -> list[Query]:
    """`size` queries at the templates' ε about all of a distribution, of which `counts` were learnt.

    They come in the order in which to ask them. `cells` and `first` as for `quantile_questions`.
    """
    template = templates.cells
    if not isinstance(distribution.base, FittedBase):
        return quantile_questions(distribution, templates, cells, size, first)
    known = template.merges and sum(known_by(counts).values()) >= _MIN_KNOWN
    unknowns = Unknowns.of_draws(distribution) if known else None
    if unknowns is None or unknowns.none:
        return list(islice(cycle(quantile_questions(distribution, templates, cells, min(size, _SHIFTS), first)), size))
    planned = _HORIZON * total_answers(counts)
    asked = [query for query in counts if query.merges and query.epsilon == template.epsilon]
    asked = [query for query in asked if cells is None or query.n_cells == cells]
    found = cell_questions(unknowns, template, cells, planned, min(size, DISTINCT), asked)
    return list(islice(cycle(looking_farther(found, unknowns.mean)), size))


def looking_farther(queries: Sequence[Query], mean: Distribution) -> list[Query]:
    """The queries about cells, of which some look where hardly anybody is believed to be, above and below in turn."""
    low, high = _values_at(mean, np.array([_OUTSIDE, 1 - _OUTSIDE])).tolist()
    found = list(queries)
    for turn in range(_LOOKING - 1, len(found), _LOOKING):
        edges = found[turn].edges
        if len(edges) > 1:
            above = turn // _LOOKING % 2 == 0
            cuts = (*edges[:-1], max(high, edges[-1])) if above else (min(low, edges[0]), *edges[1:])
            found[turn] = found[turn].with_edges(cuts, "identity")
    return found


def quantile_questions(
    distribution: Distribution, templates: Templates, cells: int | None = None, shifts: int = 8, first: int = 0
) -> list[Query]:
    """`shifts` queries at the templates' ε, to be asked equally often.

    Where a template has cells of its own choice, query t is cut at the posterior mean's quantiles at the levels
    `(i + (t + ½) / shifts) / m`, i below m, so that all queries together cut the population into equal parts, and
    around one of the atoms in turn, from number `first` on, or at a bound. There are `cells`, by default what is best
    at this ε. Queries on an interval are about half of the population; around an atom they are about a threshold.
    """
    mean, template = distribution.mean, templates.cells
    if on_interval(template):
        found = isinstance(mean.base, FittedBase)
        return (
            _intervals(mean, template, templates.threshold, shifts, first)
            if found
            else _thresholds(mean, templates.threshold, shifts, first)
        )
    number = _usual_cells(mean.support, template.epsilon) if cells is None else cells
    edges = number - 1 if template.merges else len(template.edges)
    if edges == 1:
        return _thresholds(mean, templates.threshold, shifts, first)
    return [
        template.with_edges(_cuts(mean, edges, (shift + 0.5) / shifts, first + shift), "identity")
        for shift in range(shifts)
    ]


def _usual_cells(support: Support, epsilon: Fraction) -> int:
    """As many as usually tell most, and one more where an atom between the bounds takes a cell out of the middle.

    There are no more than values, but two.
    """
    number = cells_at(epsilon) + any(len(support.around(atom)) == 2 for atom in support.atoms)
    return int(max(min(number, support.value_count), 2))


def _cuts(mean: Distribution, edges: int, offset: float, turn: int) -> tuple[float, ...]:
    """This many strictly increasing cuts inside the support, at quantiles and around an atom or a bound."""
    support = mean.support
    special: tuple[float, ...] = ()
    number, rest = divmod(turn, _AT_BOUNDS)
    bound = None if rest else _bound_in_turn(mean, number)
    if bound is not None:
        special = support.around(bound)
    elif support.atoms:
        special = support.around(support.atoms[turn % len(support.atoms)])
    if len(special) >= edges:
        special = special[-edges:] if turn % 2 else special[:edges]
    others = edges - len(special)
    levels = (np.arange(others) + offset) / max(others, 1)
    return _increasing(_values_at(mean, levels).tolist(), special, support)


def _bound_in_turn(mean: Distribution, turn: int) -> float | None:
    """A bound that is no atom, by turns; None if there is none, or few are believed to be at it and it may wait."""
    support = mean.support
    bounds = [number for number, point in enumerate(support.points) if point not in support.atoms]
    if not bounds:
        return None
    number = bounds[turn % len(bounds)]
    asked = turn // len(bounds) % _RARELY == 0 or mean.masses[0, BINS + number] > _FEW
    return support.points[number] if asked else None


def _values_at(mean: Distribution, levels: FloatArray) -> FloatArray:
    """The values below which are shares `levels` of the people who are at no atom; strictly inside the support."""
    below = np.append(0.0, np.cumsum(mean.masses[0, :BINS]))
    places = np.interp(levels * below[-1], below, np.linspace(0.0, 1.0, BINS + 1)).clip(_MARGIN, 1 - _MARGIN)
    return mean.support.inside(mean.support.value(mean.base.quantile(places)))


def _increasing(cuts: list[float], fixed: tuple[float, ...], support: Support) -> tuple[float, ...]:
    """All of the cuts, moved to the nearest that are free where several are equal; if none is, to other numbers."""
    taken = set(fixed)
    for cut in cuts:
        free = _free(cut + 0.0, taken, support)
        if free is None:
            free = _free(cut + 0.0, taken, replace(support, decimals=None))
        assert free is not None
        taken.add(free)
    return tuple(sorted(taken))


def _free(cut: float, taken: Container[float], support: Support) -> float | None:
    """The cut nearest to another that is not taken; None if all are."""
    low, high = support.inside(np.array([-math.inf, math.inf])).tolist()
    above = below = cut
    while above in taken and below in taken:
        if (below, above) == (low, high):
            return None
        above, below = min(support.next_cut(above, math.inf), high), max(support.next_cut(below, -math.inf), low)
    return below if above in taken else above


def _thresholds(mean: Distribution, question: Query, shifts: int, first: int) -> list[Query]:
    """Questions with one cut each, at quantiles and around atoms and bounds."""
    around = _around_points(mean, shifts, first)
    number = shifts - len(around)
    cuts = _values_at(mean, (np.arange(number) + 0.5) / number).tolist()
    return [question.with_edges((cut,), "identity") for cut in (*around, *cuts)]


def _intervals(mean: Distribution, template: IntervalQuery, threshold: Query, shifts: int, first: int) -> list[Query]:
    """Intervals of half of the population, and thresholds around atoms and bounds."""
    around = _around_points(mean, shifts, first)
    number = shifts - len(around)
    offsets = (np.arange(number) + 0.5) / number / 2
    lows, highs = _values_at(mean, offsets), _values_at(mean, offsets + 0.5)
    least = _MIN_ROUNDINGS * template.levels * np.spacing(np.maximum(np.abs(lows), np.abs(highs)))
    if mean.support.decimals is not None:
        least = np.maximum(least, template.levels * unit_of(mean.support.decimals))
    lows, highs = np.minimum(lows, highs - least), np.maximum(highs, lows + least)
    ends = zip(lows.tolist(), highs.tolist(), strict=True)
    return [
        *(threshold.with_edges((cut,), "identity") for cut in around),
        *(template.on(low, high, "identity") for low, high in ends),
    ]


def _around_points(mean: Distribution, shifts: int, first: int) -> list[float]:
    """The cuts around atoms and bounds, from number `first` on, as far as there is room for them among all."""
    support, bound = mean.support, _bound_in_turn(mean, first)
    points = [*support.atoms, *([] if bound is None else [bound])]
    cuts = list(chain.from_iterable(support.around(point) for point in points))
    return [cuts[(first + turn) % len(cuts)] for turn in range(min(len(cuts), shifts * 3 // 4))]
