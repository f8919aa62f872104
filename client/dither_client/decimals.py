"""Numbers as the protocol writes them: JSON's grammar in ASCII, with a bound on their length.

Every amount and every number in JSON, in a table or on a command line is read by this one grammar, whose ABNF is in
`docs/protocol.md`. Text that does not match is refused before any arithmetic, so reading takes time linear in its
length.
"""

import math
import re
from decimal import Decimal

__all__ = ["MAX_TEXT", "MAX_WHOLE", "read_decimal", "read_whole"]

MAX_TEXT = 64
"""The largest number of characters in which a number may be written."""

MAX_WHOLE = (1 << 128) - 1
"""The largest magnitude of a whole number."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")


def read_decimal(text: str) -> Decimal:
    """The exact number that `text` writes. Raises `ValueError` if it is not a number, or too large for a double."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"a number must be written in at most {MAX_TEXT} characters")
    if _NUMBER.fullmatch(text) is None:
        raise ValueError('a number must be written as a decimal, such as "0.5" or "2e-3"')
    if not math.isfinite(float(text)):
        raise ValueError("its numbers must be finite")
    return Decimal(text)


def read_whole(text: str) -> int:
    """The whole number that `text` writes without a point or an exponent. Raises `ValueError` beyond `MAX_WHOLE`."""
    if len(text) > MAX_TEXT or _WHOLE.fullmatch(text) is None or abs(number := int(text)) > MAX_WHOLE:
        raise ValueError("a whole number must be below 2^128")
    return number
