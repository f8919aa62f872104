"""What `docs/protocol.md` says of JSON and of decimals, for `third_client`."""

import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

__all__ = ["Refused", "micro", "read", "require"]

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


class Refused(Exception):
    """What the protocol refuses: `BadResponse`, `InvalidQuery`, `InvalidEpsilon` or `OverCap`."""


def read(body: str | bytes) -> Any:
    """Strict JSON; numbers with a point or an exponent are decimals."""

    def number(text: str) -> Decimal | int:
        parts = _NUMBER.fullmatch(text) if len(text) <= 64 else None
        if parts is None or math.isinf(float(text)):
            raise ValueError
        if parts[3] or parts[4]:
            return Decimal(text)
        if abs(int(text)) >= 2**128:
            raise ValueError
        return int(text)

    def no_constant(text: str) -> None:
        raise ValueError

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        for name, _ in pairs:
            name.encode()
        return dict(pairs)

    def walk(value: Any, depth: int) -> None:
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, list | dict):
            if depth == 32:
                raise ValueError
            for part in value.values() if isinstance(value, dict) else value:
                walk(part, depth + 1)

    try:
        text = body.decode() if isinstance(body, bytes) else body
        decoder = json.JSONDecoder(
            parse_float=number, parse_int=number, parse_constant=no_constant, object_pairs_hook=members
        )
        value = decoder.decode(text)
        walk(value, 0)
    except (ValueError, RecursionError):
        raise Refused("BadResponse") from None
    return value


def micro(value: Any) -> int:
    """Micro-ε of a decimal of at most six places."""
    if type(value) not in (int, Decimal, str):
        raise Refused("InvalidQuery")
    if isinstance(value, str) and (len(value) > 64 or not _NUMBER.fullmatch(value) or math.isinf(float(value))):
        raise Refused("InvalidQuery")
    exact = Fraction(Decimal(value))
    if exact <= 0 or (exact * 1_000_000).denominator != 1:
        raise Refused("InvalidQuery")
    return int(exact * 1_000_000)


def require(*conditions: bool) -> None:
    if not all(conditions):
        raise Refused("InvalidQuery")
