"""A number that nobody has declared, and that so many people have that questions about others are hardly asked.

Questions follow the people, so that they soon are about ranges in which floating point leaves no others. Such a number
is taken for one that many people have exactly, like a declared atom: then others are looked for elsewhere. Since its
questions have a cut just before it, which no others have, the answers mostly show from then on which number that is.

Where values are rounded that is a value between the quantiles of the middle half. Elsewhere three conditions hold:
(1) a fifth of the people lie between two quantiles that differ by 10⁻¹⁰ of their size or less, or by 10⁻⁶ of the range
of all but the outermost; (2) a number with few digits is so near to these that only one in a thousand middles would
have one; (3) floating point can represent a cut on either side of it.
"""

import math

import numpy as np

from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import Base, FittedBase
from dither_estimator.nonparametric.support import Support

__all__ = ["numbers_asked", "with_heap"]

_LEVELS, _MANY = np.linspace(0.05, 0.95, 91), 20
"""A fifth of the people, between the first of these levels and the last, are many."""
_ENDS = np.array([0.01, 0.99])
_HALF = np.array([-0.25, 0.0, 0.25])
"""Half of the people, around the middle, are many where values are rounded, of which many people have each."""
_ALIKE, _NARROW = 1e-10, 1e-6
"""Many nearly have one number if they lie in so small a part of it, or of the range of all but the outermost people,
once it is known where these are."""
_ZERO = 1e-2
"""As near to 0, numbers are compared with this."""
_NEAR, _FARTHEST = 4.0, 100.0
"""How far the number may be from the middle of the many: the first is in ranges that these lie in, and grows tenfold up
to the second, in ranges that are narrow. Where they lie may be known less well than how alike they are."""
_BY_CHANCE = 1e-3
"""It has so few digits that none of these would be as near to any other middle, but for so few."""
_SMALLEST = float(np.finfo(float).smallest_normal)
_DIGITS = 8
"""A number that many people have has no more digits."""


def with_heap(support: Support, base: Base, share: float = 1.0) -> Support:
    """The support with the number as an atom that many of the people whom a base describes nearly have, if any is.

    It describes this `share` of all people, who count where values are rounded.
    """
    if support.decimals is not None:
        if share <= 2 * _HALF[-1]:
            return support
        low, middle, high = support.value(base.quantile(0.5 + _HALF / share)).tolist()
        return support.beside([middle]) if low == high and _may_be_found(middle, support) else support
    values = support.smooth_value(base.quantile(_LEVELS))
    first = int(np.argmin(values[_MANY:] - values[:-_MANY]))
    low, middle, high = values[first : first + _MANY + 1 : _MANY // 2].tolist()
    alike = _ALIKE * max(abs(middle), _ZERO)
    spread = float(np.ptp(support.smooth_value(base.quantile(_ENDS)))) if isinstance(base, FittedBase) else 0.0
    narrow = max(alike, _NARROW * spread)
    if not high - low <= narrow:
        return support
    near = _NEAR * max(high - low, _BY_CHANCE * alike)
    while near <= _FARTHEST * narrow:
        number = round(middle, -math.ceil(math.log10(2 * near / _BY_CHANCE)))
        if abs(number - middle) <= near and _may_be_found(number, support):
            return support.beside([number])
        near *= 10.0
    return support


def numbers_asked(support: Support, counts: Counts) -> list[float]:
    """The numbers that were asked about like atoms, with a cut just before them, and are none; increasing.

    Where values are rounded, such a cut is that of any question.
    """
    if support.decimals is not None:
        return []
    numbers = {math.nextafter(cut, math.inf) for query in counts for cut in query.edges}
    return sorted(each for each in numbers if float(f"{each:.{_DIGITS}g}") == each and _may_be_found(each, support))


def _may_be_found(number: float, support: Support) -> bool:
    is_told = number == 0 or abs(number) >= _SMALLEST  # a cut at 0 is just before the smallest float
    return is_told and number not in support.points and len(support.around(number)) == 2
