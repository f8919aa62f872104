"""Queries on a lattice: a design's question in standard units, moved to members of the family and rounded.

Rounding keeps the number of distinct queries, and so the count table, small. It applies to the position and the width
of a question, not to the distance between its levels: the information of an interval depends on its ends, however many
levels it has. All coordinates are dyadic, so that every machine computes the same cells. Centres lie on multiples of a
step, the power of two nearest to a tenth of the scale; widths keep their leading bits; neither is finer than floating
point allows at the location.
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

_CUTS_PER_UNIT = 1_024
"""Cuts in standard units are rounded to different multiples of 1/1,024, which hardly affects the information."""
_MAX_BITS_BELOW_LOCATION = 40
"""A step is at most this many bits finer than the location; a double's other bits are for points in between."""
_WIDE_FROM_STEPS = 8
"""An interval at least this many steps wide keeps more bits of its width, on which its information depends."""
BITS_OF_WIDE = 4
_BITS_OF_NARROW = 2
_MIN_WIDTH_STEPS = 1 / 8
"""The width, in steps, of an interval whose edges coincide after rounding."""
_MAX_JUDGED_LEVELS = 16
"""Questions are judged with at most this many levels: more hardly affect where an interval should lie."""

Address = tuple[float, float]
"""A query's position on the lattice: its centre, and the distance between its levels (for cuts, the unit of length)."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """A question in standard units: its edges lie at `centre + unit * offsets`."""

    centre: float
    unit: float
    offsets: npt.NDArray[Any]
    levels: float
    """The width in units; infinite for cuts, whose unit always keeps the bits of a wide interval."""


@lru_cache(maxsize=4096)
def _frame(standard: Query) -> _Frame:
    if standard.n_cells == 2:
        return _Frame(standard.edges[0], 0.0, np.zeros(1), 1)
    if isinstance(standard, IntervalQuery):
        unit = (standard.high - standard.low) / standard.levels
        return _Frame((standard.low + standard.high) / 2, unit, _offsets(standard.levels), standard.levels)
    steps, places = np.round(np.array(standard.edges) * _CUTS_PER_UNIT), np.arange(len(standard.edges))
    apart = np.maximum.accumulate(steps - places) + places
    return _Frame(0.0, 1.0, apart / _CUTS_PER_UNIT, np.inf)


def _offsets(levels: int) -> FloatArray:
    """The edges of an interval relative to its centre, in units."""
    return np.arange(levels, dtype=np.float64) - np.float64((levels - 1) / 2)


def addresses(standard: Query, locations: FloatArray, scales: FloatArray, step: float = 0.0) -> list[Address]:
    """The lattice points nearest to `standard`, a query in standard units, moved to members (location, scale).

    Both have shape (n,). Centres may be as coarse as `step`; widths always follow the scale.
    """
    frame = _frame(standard)
    wanted = locations + scales * frame.centre
    finest = _finest(np.maximum(np.abs(wanted), scales))
    steps = np.maximum(power_of_two(np.maximum(scales / 10, step)), finest)
    centres = np.rint(wanted / steps) * steps
    units = np.zeros_like(steps)
    if frame.unit:
        wide = frame.unit * frame.levels >= _WIDE_FROM_STEPS / 10
        units = with_bits(scales * frame.unit, BITS_OF_WIDE if wide else _BITS_OF_NARROW, finest)
    return list(zip(centres.tolist(), units.tolist(), strict=True))


def interval_addresses(
    levels: int, first: FloatArray, last: FloatArray, steps: FloatArray, bits: int | None = None
) -> list[Address]:
    """The lattice points nearest to intervals with these first and last edges and at least 2 levels.

    All arrays have shape (n,). An edge so close to 0 that the step would change its order of magnitude is kept instead
    of the centre. The width keeps `bits` leading bits, by default as many as are useful.
    """
    finest = _finest(np.maximum(np.abs(first), np.abs(last)))
    widths = np.maximum(last - first, _MIN_WIDTH_STEPS * steps)
    if bits is None:
        leading = np.where(widths >= _WIDE_FROM_STEPS * steps, BITS_OF_WIDE, _BITS_OF_NARROW)
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
    """The power of two nearest to each of the positive values."""
    return np.exp2(np.rint(np.log2(values)))


def _finest(magnitudes: FloatArray) -> FloatArray:
    """The finest steps at locations of these magnitudes."""
    return np.ldexp(1.0, np.frexp(magnitudes)[1] - _MAX_BITS_BELOW_LOCATION)


def with_bits(values: FloatArray, bits: npt.NDArray[Any] | int, finest: FloatArray | float = 0.0) -> FloatArray:
    """The nearest positive numbers with this many leading bits that are multiples of `finest`."""
    last_bits = np.maximum(np.ldexp(1.0, np.frexp(values)[1] - bits), finest)
    return np.maximum(np.rint(values / last_bits), 1.0) * last_bits


def edges_at(standard: Query, at: Sequence[Address], judged: Query | None = None) -> FloatArray:
    """The edges of the queries at some addresses, shape (n_cells - 1, n).

    With `judged`, those of a question with other levels on the same intervals.
    """
    frame = _frame(standard)
    offsets = frame.offsets
    if isinstance(judged, IntervalQuery) and isinstance(standard, IntervalQuery) and judged is not standard:
        offsets = _offsets(judged.levels) * (standard.levels / judged.levels)
    centres, units = np.array(at).T
    return centres + offsets[:, np.newaxis] * units


@lru_cache(maxsize=1 << 16)
def query_at(standard: Query, at: Address, transform: Transform) -> Query:
    """The query at an address. Raises `InvalidQuery` if floating point cannot represent it."""
    centre, unit = at
    if standard.n_cells == 2:
        return threshold(centre, standard, transform)
    if isinstance(standard, IntervalQuery):
        half = unit * standard.levels / 2
        return standard.on(centre - half, centre + half, transform)
    return standard.with_edges((centre + unit * _frame(standard).offsets).tolist(), transform)


@lru_cache(maxsize=1 << 16)
def threshold(cut: float, question: Query, transform: Transform) -> Query:
    """`question`, which has two cells, with this dyadic cut."""
    return question.with_edges((cut,), transform)


def rebuilt(question: Query, edges: Sequence[float], transform: Transform) -> Query:
    """`question` with these dyadic edges. Raises `InvalidQuery` if it cannot have them."""
    return threshold(edges[0], question, transform) if len(edges) == 1 else question.with_edges(edges, transform)


@lru_cache(maxsize=4096)
def with_fewer_levels(question: Query) -> Query:
    """The question to judge `question` by: if it has over 16 levels, one with 16 on the same interval, as noisy."""
    return (
        question.with_levels(_MAX_JUDGED_LEVELS)
        if on_interval(question) and question.levels > _MAX_JUDGED_LEVELS
        else question
    )


def with_levels_of(question: Query, judged: Query) -> Query:
    """`question` on the interval of `judged`, which is of the same kind and has fewer levels; its edges are dyadic."""
    if not on_interval(question) or not on_interval(judged) or judged.levels == question.levels:
        return judged
    unit = with_bits(np.array((judged.high - judged.low) / question.levels), BITS_OF_WIDE)
    return query_at(question, ((judged.low + judged.high) / 2, float(unit)), judged.transform)


def on_interval(question: Query) -> TypeGuard[IntervalQuery]:
    """Whether a question's edges are evenly spaced, so that the first and the last determine the others."""
    return isinstance(question, IntervalQuery) and question.levels > 1


def rounded(values: FloatArray, steps: FloatArray) -> FloatArray:
    """Cuts rounded to multiples of the steps, or finer close to 0, but never too fine for floating point."""
    magnitudes = np.frexp(values)[1]
    finer = np.ldexp(1.0, magnitudes - 4)
    steps = np.where((values != 0) & (np.abs(values) < 8 * steps), finer, steps)
    steps = np.maximum(steps, np.ldexp(1.0, magnitudes - _MAX_BITS_BELOW_LOCATION))
    return np.rint(values / steps) * steps
