"""Reads what is typed into a field of the form for a new collection."""

from dither_client.errors import InvalidValue
from dither_client.typed_numbers import read_typed
from dither_estimator.specification.specification import SpecificationError

__all__ = ["lines_in", "number_in", "parts_in", "share_in", "whole_number"]

_LARGEST_WHOLE = 1e15
"""From here on a float does not hold every whole number."""


def whole_number(name: str, text: str) -> int:
    """The whole number that `text` writes, such as 5000 or 5,000. Raises `SpecificationError`."""
    try:
        number = read_typed(text, 0).value
    except InvalidValue:
        number = -1.0
    if not 0 <= number < _LARGEST_WHOLE:
        raise SpecificationError(f"{name} must be a whole number")
    return int(number)


def number_in(text: str, wrong: str) -> float:
    """The number as people write it: 2,000 or 2 000 is two thousand. Raises `SpecificationError`."""
    try:
        return read_typed(text).value
    except InvalidValue:
        raise SpecificationError(wrong) from None


def share_in(text: str, wrong: str) -> float:
    """The share that is written as 0.2 or 20%. Raises `SpecificationError`."""
    number = number_in(text.removesuffix("%").rstrip(), wrong)
    return number / 100 if text.endswith("%") else number


def lines_in(text: str) -> list[str]:
    """The lines of `text` that are not empty, without the blanks around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def parts_in(text: str) -> list[str]:
    """What stands between the commas of `text`, without the blanks around it."""
    return [part.strip() for part in text.split(",")]
