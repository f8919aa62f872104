"""The distribution of the clipped discrete Gaussian in outward-rounded arithmetic: its channel, and its pure ε and ρ.

With noise `P(Z = z)` proportional to `exp(-a z²)`, `a = ρ / levels²`, an answer is ρ-zCDP (sensitivity `levels`, σ² =
levels² / (2ρ): Canonne, Kamath & Steinke 2020, Theorem 4). Clipping, which is post-processing, makes the pure ε finite:
`log(P(Z ≥ 0) / P(Z ≥ levels))`. The end answers attain it. With tails `T(d) = Σ_{z ≥ d} exp(-a z²)` their columns run
from `T(0)` to `T(levels)`, those of inner answers from 1 down to `exp(-a (levels - 1)²)` at the most, and `T(levels) ≤
exp(-a levels²) T(0)` term by term. That also gives `ε ≥ ρ`.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.epsilon import MICRO
from dither_client.mechanisms.interval import check_levels

__all__ = ["Bounds", "clipped_epsilon", "clipped_probabilities", "gaussian_epsilon", "gaussian_rho", "tail_bounds"]

_MAX_RHO = 50
"""A larger ρ is refused: its pure ε is larger still."""

_DOWN = Context(prec=60, rounding=ROUND_FLOOR)
_UP = Context(prec=60, rounding=ROUND_CEILING)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
"""π rounded down; the next decimal of this precision lies above it."""
_MAX_POISSON_RATE = Fraction(1, 16)
"""Below this rate the sum of all weights comes from Poisson's formula, above it from its first few terms."""
_POISSON_ERROR = Decimal("1E-67")
_TERMS = 52
"""At rates of `_MAX_POISSON_RATE` and more the next weight is below `exp(-169)`."""


class Bounds(NamedTuple):
    """Two decimals that a real number lies between."""

    lower: Decimal
    upper: Decimal


@lru_cache(maxsize=1024)
def gaussian_epsilon(levels: int, rho: Fraction) -> Fraction:
    """An upper bound of the clipped channel's pure ε, in whole micro-ε: at most 1e-6 and a hair above it.

    Raises `InvalidQuery` for levels or ρ that no query can have.
    """
    _check(levels, rho)
    return Fraction(_micro_epsilon(levels, rho), MICRO)


@lru_cache(maxsize=1024)
def gaussian_rho(levels: int, epsilon: Fraction) -> Fraction:
    """The largest ρ in whole micro-ρ whose `gaussian_epsilon` is at most ε.

    Raises `InvalidQuery` if there is none: below ε = 0.00113 or so, a ρ of six decimals may be too much already.
    """
    _check(levels, Fraction(1))
    low, high = 0, math.floor(min(epsilon, Fraction(_MAX_RHO)) * MICRO) + 1  # ρ ≤ ε
    while high - low > 1:  # ε grows with ρ: its derivative is (E[Z² | Z ≥ levels] - E[Z² | Z ≥ 0]) / levels²
        middle = (low + high) // 2
        if _micro_epsilon(levels, Fraction(middle, MICRO)) <= epsilon * MICRO:
            low = middle
        else:
            high = middle
    if low == 0:
        raise InvalidQuery("epsilon is too small for gaussian noise: its rho would be below 0.000001")
    return Fraction(low, MICRO)


def _micro_epsilon(levels: int, rho: Fraction) -> int:
    return math.ceil(_UP.multiply(clipped_epsilon(levels, rho).upper, MICRO))


def clipped_epsilon(levels: int, rho: Fraction) -> Bounds:
    """The clipped channel's pure ε."""
    tails, _ = tail_bounds(levels, rho)
    first, last = tails[0], tails[-1]
    lower = _DOWN.divide(first.lower, last.upper).ln(_DOWN)
    upper = _UP.divide(first.upper, last.lower).ln(_UP)
    return Bounds(lower.next_minus(_DOWN), upper.next_plus(_UP))


def clipped_probabilities(levels: int, rho: Fraction) -> tuple[list[float], list[float]]:
    """`P(Z ≥ d)` for `d = 0..levels` and `P(Z = d)` for `d = 0..levels - 1`, to floating point's own precision."""
    bounds, total = tail_bounds(levels, rho)
    tails = [_DOWN.divide(tail.lower, total.lower) for tail in bounds]
    return [float(tail) for tail in tails], [float(_DOWN.subtract(tail, after)) for tail, after in pairwise(tails)]


def tail_bounds(levels: int, rho: Fraction) -> tuple[list[Bounds], Bounds]:
    """`T(0), …, T(levels)`, and the sum of all weights: probabilities times that sum."""
    weights = _weights(rho / levels**2, levels)
    total = _total(rho / levels**2)
    lower, upper = (_half(total.lower, _DOWN), _half(total.upper, _UP))
    tails = [Bounds(lower, upper)]
    for weight in weights:
        lower, upper = _DOWN.subtract(lower, weight.upper), _UP.subtract(upper, weight.lower)
        tails.append(Bounds(lower, upper))
    return tails, total


def _half(total: Decimal, context: Context) -> Decimal:
    """`T(0)`: the weights are symmetric, and that of 0 is 1."""
    return context.divide(context.add(total, 1), 2)


def _total(rate: Fraction) -> Bounds:
    """`Σ_z exp(-a z²)` over all integers."""
    if rate < _MAX_POISSON_RATE:
        # Poisson's formula: sqrt(π/a) (1 + 2 Σ_{k ≥ 1} exp(-π² k² / a)), and that sum is below exp(-157) here.
        a = _decimal(rate)
        lower = _DOWN.divide(_PI, a.upper).sqrt(_DOWN).next_minus(_DOWN)
        upper = _UP.divide(_PI.next_plus(_UP), a.lower).sqrt(_UP).next_plus(_UP)
        return Bounds(lower, _UP.multiply(upper, _UP.add(1, _POISSON_ERROR)))
    weights = _weights(rate, _TERMS + 1)
    lower = upper = Decimal(0)
    for weight in weights[:0:-1]:
        lower, upper = _DOWN.add(lower, weight.lower), _UP.add(upper, weight.upper)
    # Weights fall faster than by halves from there on: the rest is below the last one.
    upper = _UP.add(upper, weights[-1].upper)
    return Bounds(_DOWN.add(1, _DOWN.multiply(2, lower)), _UP.add(1, _UP.multiply(2, upper)))


def _weights(rate: Fraction, count: int) -> list[Bounds]:
    """`exp(-a z²)` for `z = 0, …, count - 1`, each from the one before by the factor `exp(-a (2z + 1))`."""
    factor = _exponential(rate)
    square = _exponential(2 * rate)
    weight, weights = Bounds(Decimal(1), Decimal(1)), []
    for _ in range(count):
        weights.append(weight)
        weight, factor = _product(weight, factor), _product(factor, square)
    return weights


def _product(first: Bounds, second: Bounds) -> Bounds:
    return Bounds(_DOWN.multiply(first.lower, second.lower), _UP.multiply(first.upper, second.upper))


def _exponential(rate: Fraction) -> Bounds:
    """`exp(-a)`: `Decimal.exp` is correctly rounded, to nearest whatever the context, so the neighbours bound it."""
    a = _decimal(rate)
    lower, upper = a.upper.copy_negate().exp(_DOWN), a.lower.copy_negate().exp(_UP)
    return Bounds(lower.next_minus(_DOWN), upper.next_plus(_UP))


def _decimal(number: Fraction) -> Bounds:
    numerator, denominator = Decimal(number.numerator), Decimal(number.denominator)
    return Bounds(_DOWN.divide(numerator, denominator), _UP.divide(numerator, denominator))


def _check(levels: int, rho: Fraction) -> None:
    check_levels(levels)
    if not 0 < rho <= _MAX_RHO:
        raise InvalidQuery(f"rho must be above 0 and at most {_MAX_RHO}")
