"""ε as an exact number: a decimal of at most six places on the wire, an integer of micro-ε in the ledger."""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dither_client.errors import InvalidEpsilon

__all__ = [
    "MICRO",
    "by_epsilon_lines",
    "epsilon_text",
    "json_epsilon",
    "listed",
    "micro_epsilon",
    "parse_epsilon",
    "wire_epsilon",
]

MICRO = 1_000_000
"""Micro-ε in one ε."""

_MAX_TEXT = 64


def parse_epsilon(value: str | int | float | Decimal | Fraction, name: str = "epsilon") -> Fraction:
    """The exact ε, or other amount called `name`, that `value` writes.

    A string is a decimal (`"0.1"`) or a rational (`"1/3"`). A float is read as the shortest decimal that prints it,
    so `0.1` is a tenth and not the binary fraction beside it. Raises `InvalidEpsilon` unless positive and finite.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Fraction):
        raise InvalidEpsilon(f"{name} must be a number or a decimal string, not {type(value).__name__}")
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        raise InvalidEpsilon(f"{name} must be written in at most {_MAX_TEXT} characters")
    try:
        if isinstance(value, int | Fraction) or (isinstance(value, str) and "/" in value):
            epsilon = Fraction(value)
        else:
            decimal = Decimal(repr(value) if isinstance(value, float) else value)
            if not decimal.is_finite() or abs(decimal.adjusted()) > _MAX_TEXT:
                raise InvalidEpsilon(f"{name} must be a positive, finite number")
            epsilon = Fraction(decimal)
    except (InvalidOperation, ValueError, ZeroDivisionError) as error:
        if isinstance(error, InvalidEpsilon):
            raise
        raise InvalidEpsilon(f'{name} must be a decimal such as "0.5" or a rational such as "1/3"') from None
    if epsilon <= 0:
        raise InvalidEpsilon(f"{name} must be above 0")
    return epsilon


def wire_epsilon(value: str | int | float | Decimal | Fraction, name: str = "epsilon") -> Fraction:
    """`parse_epsilon`, and at most six decimals: what a query or a collection may carry."""
    epsilon = parse_epsilon(value, name)
    if MICRO % epsilon.denominator:
        raise InvalidEpsilon(f"{name} must have at most six decimals")
    return epsilon


def micro_epsilon(epsilon: Fraction) -> int:
    """ε in integer micro-ε, rounded up, so that a charge is never below what was sampled."""
    return -(-epsilon.numerator * MICRO // epsilon.denominator)


def json_epsilon(epsilon: Fraction) -> int | float:
    """ε of at most six decimals as the JSON number that writes exactly that decimal."""
    if epsilon.denominator == 1:
        return epsilon.numerator
    return float(epsilon)


def epsilon_text(epsilon: Fraction) -> str:
    """ε of at most six decimals for people and for tables: `"0.1"`, `"2"`."""
    return f"{Decimal(micro_epsilon(epsilon)) / MICRO:f}"


def listed(epsilons: Iterable[Fraction]) -> str:
    """Several ε for people: `"0.5, 1, 2"`."""
    return ", ".join(map(epsilon_text, epsilons))


def by_epsilon_lines(answers: Mapping[Fraction, int] | Mapping[str, int]) -> list[str]:
    """A line on how many answers came at each ε, or none if all came at one."""
    if len(answers) < 2:
        return []
    ordered = sorted((Fraction(epsilon), n) for epsilon, n in answers.items())
    return ["answers at ε = " + ", ".join(f"{epsilon_text(epsilon)}: {n:,}" for epsilon, n in ordered)]
