"""The law of every mechanism, written out from its definition in decimals that are rounded outwards.

`exact_channel(query)` encloses each probability in an interval of relative width 1e-40 or less. The exponential of a
`Decimal` is correctly rounded, so that its neighbours enclose it, and every operation on ends rounds outwards; ε is a
rational, and is never a float. So what these tests say of a law holds of the real numbers, not of their rounding.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from dither_client import ComponentQuery, JointQuery, Laplace, Query, RandomizedResponse
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse

__all__ = ["EXACT_CHANNELS", "Interval", "exact_channel", "exponential", "largest_ratio"]

_DOWN = Context(prec=100, rounding=ROUND_FLOOR, Emin=-9999, Emax=9999)
_UP = Context(prec=100, rounding=ROUND_CEILING, Emin=-9999, Emax=9999)


@dataclass(frozen=True)
class Interval:
    """A number above 0 that lies between `low` and `high`. Operations enclose theirs."""

    low: Decimal
    high: Decimal

    @classmethod
    def of(cls, value: int | Fraction) -> "Interval":
        exact = Fraction(value)
        top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
        return cls(_DOWN.divide(top, bottom), _UP.divide(top, bottom))

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(_DOWN.add(self.low, other.low), _UP.add(self.high, other.high))

    def __sub__(self, other: "Interval") -> "Interval":
        return Interval(_DOWN.subtract(self.low, other.high), _UP.subtract(self.high, other.low))

    def __mul__(self, other: "Interval") -> "Interval":
        return Interval(_DOWN.multiply(self.low, other.low), _UP.multiply(self.high, other.high))

    def __truediv__(self, other: "Interval") -> "Interval":
        return Interval(_DOWN.divide(self.low, other.high), _UP.divide(self.high, other.low))

    def __contains__(self, value: int | Fraction) -> bool:
        return Fraction(self.low) <= Fraction(value) <= Fraction(self.high)

    @property
    def width(self) -> Decimal:
        """Relative to the number."""
        return _UP.divide(_UP.subtract(self.high, self.low), self.low)


ONE = Interval.of(1)


def exponential(exponent: Fraction) -> Interval:
    """`exp(exponent)`."""
    at = Interval.of(abs(exponent))
    size = Interval(_DOWN.next_minus(_DOWN.exp(at.low)), _UP.next_plus(_UP.exp(at.high)))
    return size if exponent >= 0 else ONE / size


def _laplace(query: Laplace) -> list[list[Interval]]:
    """Geometric noise on the levels: `(1 - α) / (1 + α) α^|z|` between the ends, whose answers collect a tail each.

    A tail from distance k is `(1 - α) / (1 + α) · α^k / (1 - α)`.
    """
    rate = query.epsilon / query.levels
    powers = [exponential(-rate * k) for k in range(query.levels + 1)]
    inner, end = (ONE - powers[1]) / (ONE + powers[1]), ONE / (ONE + powers[1])
    answers = range(query.levels + 1)
    return [
        [powers[abs(level - s)] * (inner if 0 < s < query.levels else end) for s in answers]
        for level in range(query.levels + 1)
    ]


def _randomized_response(query: RandomizedResponse) -> list[list[Interval]]:
    cells = range(len(query.cuts) + 1)
    own = exponential(query.epsilon)
    total = own + Interval.of(len(query.cuts))
    return [[(own if answer == cell else ONE) / total for answer in cells] for cell in cells]


def _staircase(query: Any) -> list[list[Interval]]:
    """An answer is as probable as its weight, and `e^ε` times that from a cell of its set."""
    own = exponential(query.epsilon)
    rows = [
        [
            Interval.of(weight) * (own if cell in some else ONE)
            for some, weight in zip(query.sets, query.weights, strict=True)
        ]
        for cell in range(len(query.cuts) + 1)
    ]
    return [[entry / sum(row[1:], row[0]) for entry in row] for row in rows]


def _gaussian(query: Any) -> list[list[Interval]]:
    """Noise with `P(Z = z) ∝ exp(-a z²)`, `a = ρ / levels²`, on the levels: term by term, and a bound on the rest.

    Beyond M the terms fall by `exp(-2 a M)` or more from one to the next.
    """
    rate, last = query.rho / query.levels**2, query.levels
    most = last + math.isqrt(math.ceil(240 / rate))
    terms = [exponential(-rate * z**2) for z in range(most + 1)]
    rest = Interval(Decimal(0), (terms[-1] / (ONE - exponential(-2 * rate * most))).high)
    tails = [rest]
    for term in reversed(terms):
        tails.append(tails[-1] + term)
    tails.reverse()
    total = tails[0] + tails[1]
    # From a level k the end answers collect all noise beyond them: k and more down, last - k and more up.
    beyond = [tail / total for tail in tails[: last + 1]]
    inner = [term / total for term in terms[: last + 1]]
    return [
        [beyond[level], *(inner[abs(level - answer)] for answer in range(1, last)), beyond[last - level]]
        for level in range(last + 1)
    ]


def _grouped_randomized_response(query: GroupedRandomizedResponse) -> list[list[Interval]]:
    """An answer is `e^ε` times as probable from the categories of its group as from any other."""
    own = exponential(query.epsilon)
    total = own + Interval.of(len(query.groups) - 1)
    return [
        [(own if category in group else ONE) / total for group in query.groups] for category in range(query.n_cells)
    ]


def _component(query: ComponentQuery) -> list[list[Interval]]:
    """That of the query inside."""
    return exact_channel(query.query)


def _joint(query: JointQuery) -> list[list[Interval]]:
    """That of the channel, whose cells are the states."""
    return exact_channel(query.answered_by)


EXACT_CHANNELS: Mapping[str, Callable[..., list[list[Interval]]]] = MappingProxyType(
    {
        "component": _component,
        "gaussian": _gaussian,
        "grouped_randomized_response": _grouped_randomized_response,
        "joint": _joint,
        "laplace": _laplace,
        "randomized_response": _randomized_response,
        "staircase": _staircase,
    }
)
"""The law of each mechanism, a matrix `[cell][answer]`."""


@lru_cache(maxsize=1024)
def exact_channel(query: Query) -> list[list[Interval]]:
    """The probability of each answer, given each cell. Raises `KeyError` if the mechanism's law is not given here."""
    return EXACT_CHANNELS[query.mechanism](query)


def largest_ratio(channel: list[list[Interval]]) -> Interval:
    """The largest ratio of two probabilities of one answer, whatever the two values: `e^ε` of the ε it truly has."""
    columns = list(zip(*channel, strict=True))
    ratios = [
        Interval(
            _DOWN.divide(max(p.low for p in column), min(p.high for p in column)),
            _UP.divide(max(p.high for p in column), min(p.low for p in column)),
        )
        for column in columns
    ]
    return Interval(max(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios))
