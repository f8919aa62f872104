"""Queries on a lattice: a design's question in standard units, moved to a member of the family and rounded.

Rounding keeps the number of distinct queries, and so the count table, small (design section 2). All coordinates are
dyadic, so that every machine computes the same cells; the step is the power of two nearest to a tenth of the scale.
"""

import math
from fractions import Fraction
from functools import lru_cache

from dither_client import Laplace, Query, RandomizedResponse, Staircase, Transform

__all__ = ["Address", "address", "query_at", "threshold"]

_FINE = 1_024
"""Cuts in standard units are rounded to a 1,024th, far below what the information can tell."""


Address = tuple[int, int, int]
"""Where a query lies on the lattice: the step's exponent, and its centre and its unit of width in steps."""


def address(standard: Query, location: float, scale: float) -> Address:
    """The lattice point nearest to `standard`, a query in standard units, asked of the member (location, scale)."""
    exponent = round(math.log2(scale / 10))
    step = 2.0**exponent
    if standard.n_cells == 2:
        return exponent, round((location + scale * standard.edges[0]) / step), 0
    if isinstance(standard, Laplace):
        centre = (standard.low + standard.high) / 2
        rung = (standard.high - standard.low) / standard.levels
        return exponent, round((location + scale * centre) / step), max(1, round(scale * rung / step))
    return exponent, round(location / step), round(scale / step)


@lru_cache(maxsize=1 << 16)
def query_at(standard: Query, at: Address, transform: Transform) -> Query:
    """The query at an address. Raises `InvalidQuery` where floating point cannot hold it."""
    exponent, centre_steps, unit_steps = at
    step = 2.0**exponent
    centre, unit = centre_steps * step, unit_steps * step
    if isinstance(standard, Laplace):
        if standard.levels == 1:
            return threshold(centre, standard.epsilon, transform)
        half = unit * standard.levels / 2
        return Laplace(centre - half, centre + half, standard.levels, standard.epsilon, transform)
    if isinstance(standard, RandomizedResponse):
        if len(standard.cuts) == 1:
            return _single_cut(centre, standard.epsilon, transform)
        cuts = tuple(centre + unit * round(cut * _FINE) / _FINE for cut in standard.cuts)
        return RandomizedResponse(cuts, standard.epsilon, transform)
    if isinstance(standard, Staircase):
        cuts = (
            (centre,) if not unit_steps else tuple(centre + unit * round(cut * _FINE) / _FINE for cut in standard.cuts)
        )
        return Staircase(cuts, standard.sets, standard.weights, standard.epsilon, transform)
    raise TypeError(f"no lattice for {type(standard).__name__}")


@lru_cache(maxsize=1 << 16)
def threshold(cut: float, epsilon: Fraction, transform: Transform) -> Laplace:
    """The `laplace` query of one level with this dyadic cut, `j 2^k` with j odd: `low` and `high` are `(j ± 1) 2^k`."""
    if cut == 0:
        return Laplace(-1.0, 1.0, 1, epsilon, transform)
    numerator, denominator = cut.as_integer_ratio()
    unit = (numerator & -numerator) / denominator
    return Laplace(cut - unit, cut + unit, 1, epsilon, transform)


@lru_cache(maxsize=1 << 16)
def _single_cut(cut: float, epsilon: Fraction, transform: Transform) -> RandomizedResponse:
    return RandomizedResponse((cut,), epsilon, transform)
