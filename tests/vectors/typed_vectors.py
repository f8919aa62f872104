"""Vectors of numbers as people type them, for `make_vectors`: what is understood, and how a number is shown."""

from typing import Any

from dither_client.errors import InvalidValue
from dither_client.typed_numbers import read_typed, written

__all__ = ["typed_vectors"]

_TEXTS = [
    "1250", "1,250", "1.250", "1 250", "1'250", "1’250", "1\u00a0250", "1\u202f250", "1,250.50", "1.250,50", "1.250,00",
    "1 250,5", "1'250.5", "1,250,000", "1.250.000", "1 250 000", "1,00,000", "12,34,567.5", "12,5", "12,50", "0,125",
    "0.125", "1250,5", "1250.500", "12345,678", "12,500,", "1,250.", "5.", ".5", ",5", "-.5e-3", "1E5", "1e-400", "0",
    "120 €", "120€", "€ 120", "€120", "$1,250.50", "-$5", "$-5", "- 5", "−12,5", "+5", "¥１２", "１２",
    "１，２５０．５", " 42 ", "\t42\r\n", "12　500", "99 999,99 ₽",
    "1,234", "-1.234", "999.999", "1000.250", "+1,234 kr",
    "", " ", "abc", "1,25,00", "1,2,3", "1.2.3", "1..5", "1,,5", "1 25", "1'25", "12 34", "--5", "5-", "$$5", "$5$",
    "€", "-", "+", ".", ",", "1_0", "٣", "0x1", "1e999", "-1e999", "nan", "Infinity", "1/2", "12%", "5 apples", "1e",
    "1,250e3", "1.250e3", "1 250.500,5", "1,250,00", "1.250.00", "½", "²",
]  # fmt: skip
_WITH_DECIMALS = [
    ("12", 0), ("12.00", 0), ("12.5", 0), ("1.250", 0), ("1,250", 0), ("1e3", 0), ("1e-1", 0), ("12.5", 1),
    ("12.55", 1), ("1.250", 2), ("1.255", 2), ("12,55", 2), ("12.555", 2), ("0.125", 2), ("1.250", 3), ("1,250", 3),
    ("1.2555", 3), ("0.000001", 6), ("0.0000001", 6), ("1e-7", 6), ("1e21", 0), ("-0.5", 0), ("-1.250,50", 1),
]  # fmt: skip
_NUMBERS = [
    0, 1, -1, 12, 999, 1000, -1000, 1250.5, 123456.789, 1e6, 0.1, 0.125, 1e-6, 1e-7, 1.5e-9, 1e15, 1e20, 1e21, 1.5e300,
    123456789012345680, -98765.4321, 5e-324, 0.30000000000000004,
]  # fmt: skip


def _typed(text: str, decimals: int | None) -> dict[str, Any]:
    try:
        found = read_typed(text, decimals)
    except InvalidValue as error:
        return {"text": text, "decimals": decimals, "value": None, "other": None, "reason": str(error)}
    return {"text": text, "decimals": decimals, "value": found.value, "other": found.other, "reason": None}


def typed_vectors() -> dict[str, list[Any]]:
    """The lists of `typed.json`."""
    return {
        "typed": [_typed(text, None) for text in _TEXTS] + [_typed(*case) for case in _WITH_DECIMALS],
        "written": [{"value": number, "text": written(float(number))} for number in _NUMBERS],
    }
