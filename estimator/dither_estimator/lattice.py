"""Queries on a lattice: a design's question in standard units, moved to members of the family and rounded.

Rounding keeps the number of distinct queries, and so the count table, small (design section 2). All coordinates are
dyadic, so that every machine computes the same cells; the step is the power of two nearest to a tenth of the scale, but
never too fine for floating point at the location.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import IntervalQuery, InvalidQuery, Query, RandomizedResponse, Staircase, Transform
from dither_estimator.families import FloatArray

__all__ = ["Address", "addresses", "edges_at", "query_at", "rebuilt", "rounded", "threshold", "with_edges"]

_FINE = 1_024
"""Cuts in standard units are rounded to a 1,024th, far below what the information can tell."""
_BITS = 40
"""A step is no finer than this many bits below the location: the other bits of a double are for what lies between."""

Address = tuple[int, int, int]
"""Where a query lies on the lattice: the step's exponent, and its centre and its unit of width in steps."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """A question in standard units: its edges lie at `centre + unit * offsets`."""

    centre: float
    unit: float
    offsets: npt.NDArray[Any]


@lru_cache(maxsize=4096)
def _frame(standard: Query) -> _Frame:
    if standard.n_cells == 2:
        return _Frame(standard.edges[0], 0.0, np.zeros(1))
    if isinstance(standard, IntervalQuery):
        offsets = np.arange(standard.levels) - (standard.levels - 1) / 2
        return _Frame((standard.low + standard.high) / 2, (standard.high - standard.low) / standard.levels, offsets)
    return _Frame(0.0, 1.0, np.round(np.array(standard.edges) * _FINE) / _FINE)


def addresses(standard: Query, locations: FloatArray, scales: FloatArray, step: float = 0.0) -> list[Address]:
    """The lattice points nearest to `standard`, a query in standard units, asked of the members (location, scale).

    Both have shape (n,). No step of the lattice is to be finer than `step`, but for rounding to a power of two.
    """
    frame = _frame(standard)
    centres = locations + scales * frame.centre
    coarse = np.frexp(np.maximum(np.abs(centres), scales))[1] - _BITS
    exponents = np.maximum(np.rint(np.log2(np.maximum(scales / 10, step))), coarse).astype(int)
    steps = np.ldexp(1.0, exponents)
    units = np.maximum(np.rint(scales * frame.unit / steps), 1.0) if frame.unit else np.zeros_like(steps)
    whole = np.rint(centres / steps).tolist()
    return list(zip(exponents.tolist(), map(int, whole), map(int, units.tolist()), strict=True))


def edges_at(standard: Query, at: Sequence[Address]) -> FloatArray:
    """The edges of the queries at some addresses, shape (n_cells - 1, n)."""
    frame = _frame(standard)
    exponents, centres, units = (np.array(column, dtype=float) for column in zip(*at, strict=True))
    edges: FloatArray = np.exp2(exponents) * (centres + frame.offsets[:, np.newaxis] * units)
    return edges


@lru_cache(maxsize=1 << 16)
def query_at(standard: Query, at: Address, transform: Transform) -> Query:
    """The query at an address. Raises `InvalidQuery` where floating point cannot hold it."""
    exponent, centre_steps, unit_steps = at
    step = 2.0**exponent
    centre, unit = centre_steps * step, unit_steps * step
    if isinstance(standard, IntervalQuery):
        if standard.levels == 1:
            return threshold(centre, standard, transform)
        half = unit * standard.levels / 2
        return standard.on(centre - half, centre + half, transform)
    if isinstance(standard, RandomizedResponse) and len(standard.cuts) == 1:
        return _single_cut(centre, standard.epsilon, transform)
    cuts = [centre] if standard.n_cells == 2 else (centre + unit * _frame(standard).offsets).tolist()
    if isinstance(standard, RandomizedResponse):
        return RandomizedResponse(cuts, standard.epsilon, transform)
    if isinstance(standard, Staircase):
        return Staircase(cuts, standard.sets, standard.weights, standard.epsilon, transform)
    raise TypeError(f"no lattice for {type(standard).__name__}")


@lru_cache(maxsize=1 << 16)
def threshold(cut: float, question: IntervalQuery, transform: Transform) -> IntervalQuery:
    """`question`, of one level, with this dyadic cut, `j 2^k` with j odd: `low` and `high` are `(j ± 1) 2^k`."""
    if cut == 0:
        return question.on(-1.0, 1.0, transform)
    numerator, denominator = cut.as_integer_ratio()
    unit = (numerator & -numerator) / denominator
    return question.on(cut - unit, cut + unit, transform)


def with_edges(question: IntervalQuery, edges: Sequence[float], transform: Transform) -> IntervalQuery:
    """`question` with these dyadic, equally spaced edges. Raises `InvalidQuery` unless each level has one."""
    if len(edges) != question.levels:
        raise InvalidQuery(f"{question.levels} levels have as many edges, not {len(edges)}")
    if question.levels == 1:
        return threshold(edges[0], question, transform)
    rung = edges[1] - edges[0]
    low = edges[0] - rung / 2
    return question.on(low, low + rung * question.levels, transform)


def rebuilt(question: Query, cuts: Sequence[float], transform: Transform) -> Query:
    """A query of the question's kind with these dyadic edges. Raises `InvalidQuery` where it cannot have them."""
    if isinstance(question, RandomizedResponse):
        return RandomizedResponse(cuts, question.epsilon, transform)
    if isinstance(question, Staircase):
        return Staircase(cuts, question.sets, question.weights, question.epsilon, transform)
    if not isinstance(question, IntervalQuery):
        raise TypeError(f"no lattice for {type(question).__name__}")
    return with_edges(question, cuts, transform)


def rounded(values: FloatArray, steps: FloatArray) -> FloatArray:
    """The lattice points for cuts: by the step, or finer close to 0, but never too fine for floating point."""
    magnitudes = np.frexp(values)[1]
    finer = np.ldexp(1.0, magnitudes - 4)
    steps = np.where((values != 0) & (np.abs(values) < 8 * steps), finer, steps)
    steps = np.maximum(steps, np.ldexp(1.0, magnitudes - _BITS))
    points: FloatArray = np.rint(values / steps) * steps
    return points


@lru_cache(maxsize=1 << 16)
def _single_cut(cut: float, epsilon: Fraction, transform: Transform) -> RandomizedResponse:
    return RandomizedResponse((cut,), epsilon, transform)
