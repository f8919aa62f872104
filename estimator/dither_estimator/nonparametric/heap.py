"""A number that nobody has declared, and that so many people have that questions about others are hardly asked.

Questions follow the people, so that they soon are about ranges in which floating point leaves no others. Such a number
is taken for one that many people have exactly, like a declared atom: then others are looked for elsewhere.
"""

import numpy as np

from dither_estimator.nonparametric.base import Base
from dither_estimator.nonparametric.support import Support

__all__ = ["with_heap"]

_ALIKE = 1e-10
"""Numbers that differ by less, relatively, are one."""
_ZERO = 1e-2
"""As near to 0, numbers are compared with this."""
_DIGITS = 8
"""A number that many people have has no more digits."""
_LEVELS, _MANY = np.linspace(0.05, 0.95, 91), 20
"""A fifth of the people, between the first of these levels and the last, are many."""


def with_heap(support: Support, base: Base) -> Support:
    """The support with the number as an atom that many of the people whom a base describes nearly have, if any is."""
    values = support.value(base.quantile(_LEVELS))
    first = int(np.argmin(values[_MANY:] - values[:-_MANY]))
    low, middle, high = values[first : first + _MANY + 1 : _MANY // 2].tolist()
    apart = _ALIKE * max(abs(middle), _ZERO)
    number = float(f"{middle:.{_DIGITS}g}") if abs(middle) > apart else 0.0
    is_one = high - low <= apart and abs(number - middle) <= apart
    inside = support.inside(np.array([number]))[0] == number
    if not is_one or not inside or number in support.points:
        return support
    return Support(support.minimum, support.maximum, tuple(sorted({*support.atoms, number})))
