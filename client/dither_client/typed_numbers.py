"""Numbers as people type and read them: thousands separators, decimal commas, currency signs.

`web/typed.js` reads and writes the same, and the vectors in `typed.json` hold both to one table. A number that the
protocol carries is read by `decimals`, more strictly.
"""

import math
import re
import unicodedata
from dataclasses import dataclass, field
from decimal import Decimal

from dither_client.errors import InvalidValue

__all__ = ["MAX_DECIMALS", "Typed", "check_decimals", "read_typed", "written"]

MAX_DECIMALS = 6
"""The most decimals that a collection may ask for."""

_ALIKE = str.maketrans("０１２３４５６７８９．，－＋−’\u00a0\u2009\u202f\u3000", "0123456789.,-+-'    ")
"""Full-width digits and signs, the minus sign, the apostrophe, and blanks of other widths."""
_PLAIN = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EITHER = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
"""One mark before three digits: it may separate thousands or begin the decimals."""
_GROUPS = re.compile(r"[1-9][0-9]{0,2}(?:([.,' ])[0-9]{3})(?:\1[0-9]{3})*(?:(?!\1)[.,][0-9]*)?")
_INDIAN = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?")
_COMMA = re.compile(r"[0-9]*,[0-9]+")
_CURRENCY = "¤"
_NO_NUMBER = "the value must be a finite number, such as 42 or -3.5"


@dataclass(frozen=True, slots=True)
class Typed:
    """What a text is understood as. `other` is the other number that it could mean, None if there is none."""

    value: float = field(repr=False)
    other: float | None = field(default=None, repr=False)


def read_typed(text: str, decimals: int | None = None) -> Typed:
    """The number that a person has typed into a field for numbers of so many `decimals`, None for any.

    `1,250` and `1.250` have two readings. A comma is taken to separate thousands and a point to begin the decimals,
    unless the field has no place for three of them. Raises `InvalidValue`, whose text never repeats what was typed.
    """
    core, sign = _unsigned(text.translate(_ALIKE))
    if _EITHER.fullmatch(core):
        thousands, fraction = (_finite(sign + core.replace(core[-4], mark)) for mark in ("", "."))
        small = decimals is None or decimals >= 3
        typed = Typed(fraction, thousands) if core[-4] == "." and small else Typed(thousands, fraction)
    else:
        typed = Typed(_finite(sign + _plain(core)))
    check_decimals(typed.value, decimals)
    return typed


def check_decimals(value: float, decimals: int | None) -> None:
    """Raises `InvalidValue` if the shortest text that writes the value has more decimals than that; None for any."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    if decimals is not None and -int(exponent) > decimals:
        most = f"have at most {decimals} decimal{'' if decimals == 1 else 's'}"
        raise InvalidValue(f"the value must {most if decimals else 'be a whole number'}")


def written(value: float) -> str:
    """The number with a comma between thousands and a decimal point; with an exponent only where it is far from 1."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)).normalize() + 0:,f}"
    return re.sub(r"e([+-])0", r"e\1", repr(value).replace(".0e", "e"))


def _unsigned(text: str) -> tuple[str, str]:
    """The number without its sign and without one currency sign before or after it, and the sign."""
    core = "".join(_CURRENCY if unicodedata.category(letter) == "Sc" else letter for letter in text.strip(" \t\r\n"))
    currency = _CURRENCY if core.count(_CURRENCY) == 1 else ""
    core = core.removesuffix(currency).rstrip(" ").removeprefix(currency).lstrip(" ")
    sign = core[:1] if core[:1] in ("+", "-") else ""
    return core.removeprefix(sign).lstrip(" ").removeprefix(currency).lstrip(" "), sign


def _plain(core: str) -> str:
    """The same number with nothing but digits and a decimal point, or an exponent."""
    if _PLAIN.fullmatch(core):
        return core
    groups = _GROUPS.fullmatch(core)
    if groups:
        return core.replace(groups[1], "").replace(",", ".")
    if _INDIAN.fullmatch(core):
        return core.replace(",", "")
    if _COMMA.fullmatch(core):
        return core.replace(",", ".")
    raise InvalidValue(_NO_NUMBER)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidValue(_NO_NUMBER)
    return value
