"""Queries on a lattice: a design's question in standard units, moved to members of the family and rounded.

Rounding keeps the number of distinct queries, and so the count table, small. What is rounded is
where a question lies and how wide it is, never the distance between its levels: an interval tells what it tells by its
ends, however many levels it has. All coordinates are dyadic, so that every machine computes the same cells. Centres lie
on multiples of a step, the power of two nearest to a tenth of the scale, widths keep their leading bits, and neither is
too fine for floating point at the location.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from dither_client import IntervalQuery, Query, Transform
from dither_estimator.families import FloatArray

__all__ = [
    "BITS_OF_WIDE",
    "Address",
    "addresses",
    "edges_at",
    "interval_addresses",
    "on_interval",
    "power_of_two",
    "query_at",
    "rebuilt",
    "rounded",
    "threshold",
    "with_bits",
    "with_fewer_levels",
    "with_levels_of",
]

_FINE = 1_024
"""Cuts in standard units are rounded to a 1,024th, far below what the information can tell."""
_BITS = 40
"""A step is no finer than this many bits below the location: the other bits of a double are for what lies between."""
_WIDE = 8
"""An interval is wide from so many steps on: what it tells depends on its width, which keeps more bits."""
BITS_OF_WIDE = 4
_BITS_OF_NARROW = 2
_NARROWEST = 1 / 8
"""An interval between edges that have fallen together is so many steps wide."""
_ENOUGH = 16
"""More levels on the same interval tell the same of where it should lie."""

Address = tuple[float, float]
"""Where a query lies on the lattice: its centre, and the distance between its levels (of cuts: the unit of length)."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """A question in standard units: its edges lie at `centre + unit * offsets`."""

    centre: float
    unit: float
    offsets: npt.NDArray[Any]
    levels: float
    """The width in units; infinite for cuts, whose unit always keeps the bits of a wide interval's."""


@lru_cache(maxsize=4096)
def _frame(standard: Query) -> _Frame:
    if standard.n_cells == 2:
        return _Frame(standard.edges[0], 0.0, np.zeros(1), 1)
    if isinstance(standard, IntervalQuery):
        unit = (standard.high - standard.low) / standard.levels
        return _Frame((standard.low + standard.high) / 2, unit, _offsets(standard.levels), standard.levels)
    return _Frame(0.0, 1.0, np.round(np.array(standard.edges) * _FINE) / _FINE, np.inf)


def _offsets(levels: int) -> FloatArray:
    """Edges of an interval, in units from its centre."""
    return np.arange(levels, dtype=np.float64) - np.float64((levels - 1) / 2)


def addresses(standard: Query, locations: FloatArray, scales: FloatArray, step: float = 0.0) -> list[Address]:
    """The lattice points nearest to `standard`, a query in standard units, asked of the members (location, scale).

    Both have shape (n,). Centres need be no nearer than `step` makes them, widths keep to the scale.
    """
    frame = _frame(standard)
    wanted = locations + scales * frame.centre
    finest = _finest(np.maximum(np.abs(wanted), scales))
    steps = np.maximum(power_of_two(np.maximum(scales / 10, step)), finest)
    centres = np.rint(wanted / steps) * steps
    units = np.zeros_like(steps)
    if frame.unit:
        wide = frame.unit * frame.levels >= _WIDE / 10
        units = with_bits(scales * frame.unit, BITS_OF_WIDE if wide else _BITS_OF_NARROW, finest)
    return list(zip(centres.tolist(), units.tolist(), strict=True))


def interval_addresses(
    levels: int, first: FloatArray, last: FloatArray, steps: FloatArray, bits: int | None = None
) -> list[Address]:
    """The lattice points nearest to intervals of `levels` levels, 2 at least, with these first and last edges.

    All of shape (n,). An edge so near to 0 that the step would move it to another order of magnitude keeps its place
    instead of the centre. The width keeps as many bits as given, or as are worth it.
    """
    finest = _finest(np.maximum(np.abs(first), np.abs(last)))
    widths = np.maximum(last - first, _NARROWEST * steps)
    if bits is None:
        leading = np.where(widths >= _WIDE * steps, BITS_OF_WIDE, _BITS_OF_NARROW)
    else:
        leading = np.full(len(widths), bits)
    units = with_bits(widths / (levels - 1), leading, finest)
    half = units * (levels - 1) / 2
    steps = np.maximum(steps, finest)
    centres = np.rint((first + last) / 2 / steps) * steps
    centres = np.where((first > 0) & (first < 8 * steps), rounded(first, steps) + half, centres)
    centres = np.where((last < 0) & (last > -8 * steps), rounded(last, steps) - half, centres)
    return list(zip(centres.tolist(), units.tolist(), strict=True))


def power_of_two(values: FloatArray) -> FloatArray:
    """The power of two nearest to each positive value."""
    powers: FloatArray = np.exp2(np.rint(np.log2(values)))
    return powers


def _finest(magnitudes: FloatArray) -> FloatArray:
    """The finest step at locations of these magnitudes."""
    finest: FloatArray = np.ldexp(1.0, np.frexp(magnitudes)[1] - _BITS)
    return finest


def with_bits(values: FloatArray, bits: npt.NDArray[Any] | int, finest: FloatArray | float = 0.0) -> FloatArray:
    """The nearest numbers of so many leading bits that are multiples of `finest`, and not 0."""
    last_bits = np.maximum(np.ldexp(1.0, np.frexp(values)[1] - bits), finest)
    numbers: FloatArray = np.maximum(np.rint(values / last_bits), 1.0) * last_bits
    return numbers


def edges_at(standard: Query, at: Sequence[Address], judged: Query | None = None) -> FloatArray:
    """The edges of the queries at some addresses, shape (n_cells - 1, n).

    With `judged` those of a question of other levels on the same intervals.
    """
    frame = _frame(standard)
    offsets = frame.offsets
    if isinstance(judged, IntervalQuery) and isinstance(standard, IntervalQuery) and judged is not standard:
        offsets = _offsets(judged.levels) * (standard.levels / judged.levels)
    centres, units = np.array(at).T
    edges: FloatArray = centres + offsets[:, np.newaxis] * units
    return edges


@lru_cache(maxsize=1 << 16)
def query_at(standard: Query, at: Address, transform: Transform) -> Query:
    """The query at an address. Raises `InvalidQuery` where floating point cannot hold it."""
    centre, unit = at
    if standard.n_cells == 2:
        return threshold(centre, standard, transform)
    if isinstance(standard, IntervalQuery):
        half = unit * standard.levels / 2
        return standard.on(centre - half, centre + half, transform)
    return standard.with_edges((centre + unit * _frame(standard).offsets).tolist(), transform)


@lru_cache(maxsize=1 << 16)
def threshold(cut: float, question: Query, transform: Transform) -> Query:
    """`question`, of two cells, with this dyadic cut."""
    return question.with_edges((cut,), transform)


def rebuilt(question: Query, edges: Sequence[float], transform: Transform) -> Query:
    """`question` with these dyadic edges. Raises `InvalidQuery` where it cannot have them."""
    return threshold(edges[0], question, transform) if len(edges) == 1 else question.with_edges(edges, transform)


@lru_cache(maxsize=4096)
def with_fewer_levels(question: Query) -> Query:
    """What to judge a question by: of many levels, the same with 16 on the same interval, with as much noise for it."""
    return question.with_levels(_ENOUGH) if on_interval(question) and question.levels > _ENOUGH else question


def with_levels_of(question: Query, judged: Query) -> Query:
    """`question` on the interval of `judged`, which is of its kind and has fewer levels, with dyadic edges."""
    if not on_interval(question) or not on_interval(judged) or judged.levels == question.levels:
        return judged
    unit = with_bits(np.array((judged.high - judged.low) / question.levels), BITS_OF_WIDE)
    return query_at(question, ((judged.low + judged.high) / 2, float(unit)), judged.transform)


def on_interval(question: Query) -> TypeGuard[IntervalQuery]:
    """Whether a question's edges are evenly spaced, so that the first and the last say where it lies."""
    return isinstance(question, IntervalQuery) and question.levels > 1


def rounded(values: FloatArray, steps: FloatArray) -> FloatArray:
    """The lattice points for cuts: by the step, or finer close to 0, but never too fine for floating point."""
    magnitudes = np.frexp(values)[1]
    finer = np.ldexp(1.0, magnitudes - 4)
    steps = np.where((values != 0) & (np.abs(values) < 8 * steps), finer, steps)
    steps = np.maximum(steps, np.ldexp(1.0, magnitudes - _BITS))
    points: FloatArray = np.rint(values / steps) * steps
    return points
