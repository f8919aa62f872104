"""Questions of one member of a family, asked of another: moved, and rounded to the lattice.

In a location-scale family a question moves with the member (Theorem 3 of Yıldırım 2024). In any other the cuts go to
the points at which the other member has the same probability below; what is lost by a change of shape is little, and
designs are made afresh where the shape has changed much (`anchor`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dither_client import IntervalQuery, Query, Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.channels import Cells, channel_of
from dither_estimator.mechanisms.lattice import (
    Address,
    addresses,
    edges_at,
    interval_addresses,
    on_interval,
    power_of_two,
    query_at,
    rebuilt,
    rounded,
    with_fewer_levels,
)
from dither_estimator.mechanisms.quantile_map import points_above, share_below
from dither_estimator.particles.moments import Moments

__all__ = ["Offers", "anchor", "offers"]

_KNOWN = 0.5
"""A shape is known when the standard deviation of its unconstrained coordinate is below this; until then the standard
member's shape serves."""
_SHAPE_STEP = 0.5
"""Shapes are rounded to this step of the unconstrained coordinate, so that designs can be cached."""
_FINEST_SHAPE = 2.0**-4
"""The step where values are few whole numbers."""
_MANY_VALUES = 16.0
"""From so many between the 16% and the 84% quantile on, it matters little that values are whole numbers."""
_COARSE = 0.3
"""While the posterior is wide, locations of questions are rounded to a step of so many of the distances between its
quartiles. That adds 1 or 2% to the mean square by which they miss, and halves the number of questions."""
_FEW = 16
"""Not so for more members than this: those are for many people at once, whose questions are to differ."""
_RIM = 1e-6
_STRETCHES = np.concatenate([[1.0], np.geomspace(0.5, 2.0, 129)])


@dataclass(frozen=True, eq=False)
class Offers(Cells):
    """One question, as it would be asked of several members: distinct cells, and a query once one is wanted.

    Of an interval with many levels the cells are those of fewer levels, by which it is judged.
    """

    query: Callable[[int], Query]
    """The query of a column of `edges`. Raises `InvalidQuery` where floating point cannot hold it."""


def anchor(family: Family, coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The member whose optimal questions are asked, given particles: the standard one but for shapes that are known."""
    if not family.shapes:
        return family.standard
    base = family.unconstrain(family.standard[None])
    moments = Moments.of(coordinates, weights)
    mean, sd = moments.mean, moments.sd
    step = np.full(len(mean), _SHAPE_STEP)
    if family.discrete and (sd < _KNOWN).all():
        step = _whole_number_steps(family, mean, sd)
    for j in family.shapes:
        if sd[j] < _KNOWN:
            base[0, j] = np.rint(mean[j] / step[j]) * step[j]
    member: FloatArray = family.constrain(base)[0]
    return member


def _whole_number_steps(family: Family, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """To what shapes are rounded where values are whole numbers: finer while these are few, but not than is known.

    Their designs change with each value that cells gain or lose.
    """
    low, high = family.quantiles(family.constrain(mean[None]), np.array([0.16, 0.84]))[0]
    if high - low >= _MANY_VALUES:
        return np.full(len(sd), _SHAPE_STEP)
    return np.clip(np.exp2(np.floor(np.log2(np.maximum(sd, _FINEST_SHAPE)))), _FINEST_SHAPE, _SHAPE_STEP)


def offers(
    family: Family, home: FloatArray, questions: Sequence[Query], members: FloatArray, transform: Transform
) -> list[Offers]:
    """The questions of the member `home` (d,), each as it would be asked of `members` (n, d)."""
    if family.location_scale:
        step = _COARSE * _spread(members[:, 0]) if len(members) <= _FEW else 0.0
        return [_moved(question, members, step, transform) for question in questions]
    edges = [_carried_edges(question, family.discrete) for question in questions]
    below = share_below(family, home, np.concatenate(edges))
    points = points_above(family, members, np.concatenate([np.clip(below, _RIM, 1 - _RIM), [0.16, 0.84]]))
    points = points[np.isfinite(points).all(axis=1)]
    steps = _steps(points[:, -1] - points[:, -2])
    ends = np.cumsum([len(some) for some in edges])
    columns = zip(questions, np.split(points[:, :-2], ends[:-1], axis=1), strict=True)
    return [offer for question, some in columns for offer in _placed(family, question, some, steps, transform)]


def _carried_edges(question: Query, whole_numbers: bool) -> FloatArray:
    """Those that go where the other member has the same probability: of an interval the first and the last."""
    edges = np.asarray(question.edges)
    if not on_interval(question):
        return edges
    return _amid_whole_numbers(question) if whole_numbers else edges[[0, -1]]


@lru_cache(maxsize=4096)
def _amid_whole_numbers(question: IntervalQuery) -> FloatArray:
    """The ends (2,) of the interval that has the same cells of whole numbers, and most room to either side.

    A design may end anywhere between the places at which a cell gains or loses a number.
    """
    edges = np.asarray(question.edges)
    below = np.floor(edges)
    offsets = np.linspace(-0.5, 0.5, question.levels)
    widths = (edges[-1] - edges[0]) * _STRETCHES[:, np.newaxis]
    lowest = (below - widths * offsets).max(axis=1)
    highest = (below + 1.0 - widths * offsets).min(axis=1)
    best = int(np.argmax(highest - lowest))
    if highest[best] <= lowest[best]:
        return edges[[0, -1]]
    ends: FloatArray = (lowest[best] + highest[best]) / 2 + widths[best] * offsets[[0, -1]]
    return ends


def _spread(locations: FloatArray) -> float:
    """The distance between quartiles; 0 for fewer than four."""
    ordered, quarter = np.sort(locations), len(locations) // 4
    return float(ordered[-quarter] - ordered[quarter - 1]) if quarter else 0.0


def _moved(question: Query, members: FloatArray, step: float, transform: Transform) -> Offers:
    return _at(question, addresses(question, members[:, 0], members[:, 1], step), transform)


def _at(question: Query, addresses: Sequence[Address], transform: Transform) -> Offers:
    at, judged = list(dict.fromkeys(addresses)), with_fewer_levels(question)
    return Offers(channel_of(judged), edges_at(question, at, judged), lambda i: query_at(question, at[i], transform))


def _placed(
    family: Family, question: Query, points: FloatArray, steps: FloatArray, transform: Transform
) -> list[Offers]:
    """Offers of the question's kind, with cuts near these points (n, k), or an interval from the first to the last.

    Where cuts have fallen together, so have their cells, and the channel is another one.
    """
    if on_interval(question):
        return [_at(question, interval_addresses(question.levels, points[:, 0], points[:, 1], steps), transform)]
    cuts = np.floor(points) + 0.5 if family.discrete else rounded(points, steps[:, np.newaxis])
    by_number: dict[int, dict[tuple[float, ...], None]] = {}
    for row in cuts.tolist():
        distinct = tuple(sorted(set(row)))
        by_number.setdefault(len(distinct), {})[distinct] = None
    if not question.merges:
        by_number = {number: rows for number, rows in by_number.items() if number == question.n_cells - 1}
    return [_offers(question, list(rows), transform) for rows in by_number.values()]


def _offers(question: Query, rows: Sequence[tuple[float, ...]], transform: Transform) -> Offers:
    def query(i: int) -> Query:
        return rebuilt(question, rows[i], transform)

    return Offers(channel_of(query(0)), np.array(rows).T.copy(), query)


def _steps(widths: FloatArray) -> FloatArray:
    """The power of two nearest to a twentieth of each distance between the 16% and the 84% quantiles."""
    return power_of_two(np.where(widths > 0, widths, 2.0**-16) / 20)
