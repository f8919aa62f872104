"""ε as an exact number: a decimal of at most six places on the wire, an integer of micro-ε in the ledger."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from dither_client.decimals import MAX_TEXT, MAX_WHOLE, read_decimal
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

_MAX_EXPONENT = 999 + MAX_TEXT
"""The largest exponent of a number in the protocol's grammar, written as whole digits times a power of ten."""


def parse_epsilon(value: str | int | float | Decimal | Fraction, name: str = "epsilon") -> Fraction:
    """The exact ε, or other amount called `name`, that `value` writes.

    A string is a number in the protocol's one grammar (`"0.1"`, `"1e-3"`). A float is read as the shortest decimal that
    prints it, so `0.1` is a tenth and not the binary fraction beside it. Raises `InvalidEpsilon` unless positive and
    finite, and for a number that is longer than the grammar lets any be.
    """
    if isinstance(value, Fraction):
        epsilon = value
    elif isinstance(value, Decimal):
        epsilon = _fraction(value, name)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        epsilon = _fraction(_written(value, name), name)
    else:
        raise InvalidEpsilon(f"{name} must be a number or a decimal string")
    if epsilon <= 0:
        raise InvalidEpsilon(f"{name} must be above 0")
    return epsilon


def _written(value: str | int | float, name: str) -> Decimal:
    """The number that a text, or the shortest text for a number, writes. Raises `InvalidEpsilon`."""
    short = not isinstance(value, int) or abs(value) <= MAX_WHOLE
    text = (value if isinstance(value, str) else repr(value)) if short else ""
    if not short or len(text) > MAX_TEXT:
        raise InvalidEpsilon(f"{name} must be written in at most {MAX_TEXT} characters")
    try:
        return read_decimal(text)
    except ValueError:
        raise InvalidEpsilon(f'{name} must be a decimal such as "0.5"') from None


def _fraction(number: Decimal, name: str) -> Fraction:
    """The number exactly. Raises `InvalidEpsilon` for one that is not finite, and for one that no short text writes."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidEpsilon(f"{name} must be a finite number")
    if len(digits) > MAX_TEXT or abs(exponent) > _MAX_EXPONENT:
        raise InvalidEpsilon(f"{name} must be written in at most {MAX_TEXT} characters")
    return Fraction(number)


def wire_epsilon(value: str | int | float | Decimal | Fraction, name: str = "epsilon") -> Fraction:
    """Reads ε as `parse_epsilon` does, and refuses more than the six decimals that a query or a collection may have."""
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
    whole, millionths = divmod(micro_epsilon(epsilon), MICRO)
    return f"{whole}.{millionths:06}".rstrip("0").rstrip(".")


def listed(epsilons: Iterable[Fraction]) -> str:
    """Several ε for people: `"0.5, 1, 2"`."""
    return ", ".join(map(epsilon_text, epsilons))


def by_epsilon_lines(answers: Mapping[Fraction, int] | Mapping[str, int]) -> list[str]:
    """A line on how many answers came at each ε, or none if all came at one."""
    if len(answers) < 2:
        return []
    ordered = sorted((parse_epsilon(epsilon), n) for epsilon, n in answers.items())
    return ["answers at ε = " + ", ".join(f"{epsilon_text(epsilon)}: {n:,}" for epsilon, n in ordered)]
