"""Questions of one member's design transported to other members of the family and rounded to the lattice.

In a location-scale family a question moves with the member (Theorem 3 of Yıldırım 2024). In any other family each cut
moves to the point with the same probability below it. A change of shape loses little, and designs are recomputed when
the shape has changed much (`anchor`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

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
from dither_estimator.weighted.moments import Moments

__all__ = ["Offers", "anchor", "offers"]

_KNOWN_SHAPE_SD = 0.5
"""A shape counts as known if the standard deviation of its unconstrained coordinate is below this; until then the
standard member's shape is used."""
_SHAPE_STEP = 0.5
"""Shapes are rounded to multiples of this in the unconstrained coordinate, so that designs can be cached."""
_MIN_SHAPE_STEP = 2.0**-4
"""The finest such step, for discrete families with few values."""
_CONTINUOUS_FROM_INTEGERS = 16.0
"""With at least this many integers between the 16% and 84% quantiles, discreteness hardly matters."""
_LOCATION_STEP = 0.3
"""Locations of questions are rounded to this multiple of the interquartile range of the members' locations. That adds 1
or 2% to the mean squared distance from the best location and halves the number of distinct questions."""
_MAX_ROUNDED_MEMBERS = 16
"""Not with more members than this: they are for many people at once, whose questions should differ."""
_MIN_PROBABILITY = 1e-6
_STRETCHES = np.concatenate([[1.0], np.geomspace(0.5, 2.0, 129)])


@dataclass(frozen=True, eq=False)
class Offers(Cells):
    """One question as asked of several members: the distinct cells, and a query on demand.

    An interval with many levels is represented by the cells of one with fewer levels, by which it is judged.
    """

    query: Callable[[int], Query]
    """Returns the query for a column of `edges`. Raises `InvalidQuery` if floating point cannot represent it."""

    def taking(self, columns: npt.NDArray[np.intp]) -> "Offers":
        """These columns alone."""
        return Offers(self.channel, self.edges[:, columns], lambda i: self.query(int(columns[i])))


def anchor(family: Family, coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The member whose design is used, given particles: the standard member with those shapes that are known."""
    if not family.shapes:
        return family.standard
    base = family.unconstrain(family.standard[None])
    moments = Moments.of(coordinates, weights)
    mean, sd = moments.mean, moments.sd
    step = np.full(len(mean), _SHAPE_STEP)
    if family.discrete and (sd < _KNOWN_SHAPE_SD).all():
        step = _whole_number_steps(family, mean, sd)
    for j in family.shapes:
        if sd[j] < _KNOWN_SHAPE_SD:
            base[0, j] = np.rint(mean[j] / step[j]) * step[j]
    return family.constrain(base)[0]


def _whole_number_steps(family: Family, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """The steps to which shapes of discrete families are rounded: finer if values are few, but not finer than known.

    The designs of discrete families change with each value that a cell gains or loses.
    """
    low, high = family.quantiles(family.constrain(mean[None]), np.array([0.16, 0.84]))[0]
    if high - low >= _CONTINUOUS_FROM_INTEGERS:
        return np.full(len(sd), _SHAPE_STEP)
    return np.clip(np.exp2(np.floor(np.log2(np.maximum(sd, _MIN_SHAPE_STEP)))), _MIN_SHAPE_STEP, _SHAPE_STEP)


def offers(
    family: Family, home: FloatArray, questions: Sequence[Query], members: FloatArray, transform: Transform
) -> list[Offers]:
    """The questions of the member `home` (d,), each transported to `members` (n, d)."""
    if family.location_scale:
        step = _LOCATION_STEP * _spread(members[:, 0]) if len(members) <= _MAX_ROUNDED_MEMBERS else 0.0
        return [_moved(question, members, step, transform) for question in questions]
    edges = [_carried_edges(question, family.discrete) for question in questions]
    below = share_below(family, home, np.concatenate(edges))
    points = points_above(
        family, members, np.concatenate([np.clip(below, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY), [0.16, 0.84]])
    )
    points = points[np.isfinite(points).all(axis=1)]
    steps = _steps(points[:, -1] - points[:, -2])
    ends = np.cumsum([len(some) for some in edges])
    columns = zip(questions, np.split(points[:, :-2], ends[:-1], axis=1), strict=True)
    return [offer for question, some in columns for offer in _placed(family, question, some, steps, transform)]


def _carried_edges(question: Query, whole_numbers: bool) -> FloatArray:
    """The edges that are mapped to the same probability in the other member; of an interval, the first and the last."""
    edges = np.asarray(question.edges)
    if not on_interval(question):
        return edges
    return _amid_whole_numbers(question) if whole_numbers else edges[[0, -1]]


@lru_cache(maxsize=4096)
def _amid_whole_numbers(question: IntervalQuery) -> FloatArray:
    """The ends (2,) of an interval whose cells hold the same integers, with the most room on either side.

    A design may end anywhere between the points at which a cell gains or loses an integer.
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
    return (lowest[best] + highest[best]) / 2 + widths[best] * offsets[[0, -1]]


def _spread(locations: FloatArray) -> float:
    """The interquartile range; 0 for fewer than four locations."""
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
    """Offers of the question's kind with cuts near `points` (n, k), or on intervals from the first to the last point.

    Where cuts coincide after rounding, their cells merge and the channel changes.
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
    """The power of two nearest to a twentieth of each distance between the 16% and 84% quantiles."""
    return power_of_two(np.where(widths > 0, widths, 2.0**-16) / 20)
