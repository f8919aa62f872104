"""Questions of one member of a family, asked of another: moved, and rounded to the lattice.

In a location-scale family a question moves with the member (Theorem 3 of Yıldırım 2024). In any other the cuts go to
the points at which the other member has the same probability below; what is lost by a change of shape is little, and
designs are made afresh where the shape has changed much (`anchor`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import IntervalQuery, Query, Staircase, Transform
from dither_estimator.channels import Cells, channel_of
from dither_estimator.families import Family, FloatArray
from dither_estimator.lattice import addresses, edges_at, query_at, rebuilt, rounded

__all__ = ["Offers", "anchor", "offers"]

_KNOWN = 0.5
"""A shape is known when the standard deviation of its unconstrained coordinate is below this; until then the standard
member's shape serves."""
_SHAPE_STEP = 0.5
"""Shapes are rounded to this step of the unconstrained coordinate, so that designs can be cached."""
_COARSE = 0.3
"""While the posterior is wide, locations of questions are rounded to a step of so many of the distances between its
quartiles. That adds 1 or 2% to the mean square by which they miss, and halves the number of questions."""
_FEW = 16
"""Not so for more members than this: those are for many people at once, whose questions are to differ."""
_RIM = 1e-6


@dataclass(frozen=True, eq=False)
class Offers(Cells):
    """One question, as it would be asked of several members: distinct cells, and a query once one is wanted."""

    query: Callable[[int], Query]
    """The query with the cells of a column of `edges`. Raises `InvalidQuery` where floating point cannot hold it."""


def anchor(family: Family, coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The member whose optimal questions are asked, given particles: the standard one but for shapes that are known."""
    if not family.shapes:
        return family.standard
    base = family.unconstrain(family.standard[None])
    mean = weights @ coordinates
    sd = np.sqrt(weights @ (coordinates - mean) ** 2)
    for j in family.shapes:
        if sd[j] < _KNOWN:
            base[0, j] = round(mean[j] / _SHAPE_STEP) * _SHAPE_STEP
    member: FloatArray = family.constrain(base)[0]
    return member


def offers(
    family: Family, home: FloatArray, questions: Sequence[Query], members: FloatArray, transform: Transform
) -> list[Offers]:
    """The questions of the member `home` (d,), each as it would be asked of `members` (n, d)."""
    if family.location_scale:
        step = _COARSE * _spread(members[:, 0]) if len(members) <= _FEW else 0.0
        return [_moved(question, members, step, transform) for question in questions]
    edges = [np.asarray(question.edges) for question in questions]
    below = family.cdf(home[None], np.concatenate(edges))[0]
    levels = np.concatenate([np.clip(below, _RIM, 1 - _RIM), [0.16, 0.84]])
    points = family.quantiles(members, levels)
    points = points[np.isfinite(points).all(axis=1)]
    steps = _steps(points[:, -1] - points[:, -2])
    cuts = np.floor(points) + 0.5 if family.discrete else rounded(points, steps[:, np.newaxis])
    ends = np.cumsum([len(some) for some in edges])
    columns = zip(questions, np.split(cuts[:, :-2], ends[:-1], axis=1), strict=True)
    return [offer for question, some in columns for offer in _rebuilt(question, some, steps, transform)]


def _spread(locations: FloatArray) -> float:
    """The distance between quartiles; 0 for fewer than four."""
    ordered, quarter = np.sort(locations), len(locations) // 4
    return float(ordered[-quarter] - ordered[quarter - 1]) if quarter else 0.0


def _moved(question: Query, members: FloatArray, step: float, transform: Transform) -> Offers:
    at = list(dict.fromkeys(addresses(question, members[:, 0], members[:, 1], step)))
    return Offers(channel_of(question), edges_at(question, at), lambda i: query_at(question, at[i], transform))


def _rebuilt(question: Query, cuts: FloatArray, steps: FloatArray, transform: Transform) -> list[Offers]:
    """Offers of the question's kind with these cuts (n, k); `laplace` has equally spaced ones from the first on.

    Where cuts have fallen together, so have their cells, and the channel is another one.
    """
    if isinstance(question, IntervalQuery):
        width = np.maximum(cuts[:, -1] - cuts[:, 0], steps) / max(1, question.levels - 1)
        rungs = np.exp2(np.rint(np.log2(width)))  # powers of two, so that every edge is dyadic
        cuts = cuts[:, :1] + rungs[:, np.newaxis] * np.arange(question.levels)
    by_number: dict[int, dict[tuple[float, ...], None]] = {}
    for row in cuts.tolist():
        distinct = tuple(sorted(set(row)))
        by_number.setdefault(len(distinct), {})[distinct] = None
    if isinstance(question, Staircase):  # its sets need every cell
        by_number = {number: rows for number, rows in by_number.items() if number == len(question.cuts)}
    return [_offers(question, list(rows), transform) for rows in by_number.values()]


def _offers(question: Query, rows: Sequence[tuple[float, ...]], transform: Transform) -> Offers:
    def query(i: int) -> Query:
        return rebuilt(question, rows[i], transform)

    return Offers(channel_of(query(0)), np.array(rows).T.copy(), query)


def _steps(widths: FloatArray) -> FloatArray:
    """The power of two nearest to a twentieth of each distance between the 16% and the 84% quantiles."""
    steps: FloatArray = np.exp2(np.rint(np.log2(np.where(widths > 0, widths, 2.0**-16) / 20)))
    return steps
