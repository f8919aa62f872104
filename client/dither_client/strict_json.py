"""Strict JSON: the profile of JSON that the clients and the server read, described in `docs/protocol.md`.

A text that two readers could understand differently is refused: a name that occurs twice in an object, an unpaired
surrogate, NaN. Numbers and depth are bounded, so that reading takes time linear in the text's length.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from dither_client.decimals import MAX_TEXT, read_decimal, read_whole
from dither_client.errors import BadResponse

__all__ = ["MAX_DEPTH", "decode", "decode_json"]

MAX_DEPTH = 32
"""The largest depth of nested lists and objects, the outermost included."""

_TOO_DEEP_MESSAGE = f"lists and objects are nested more than {MAX_DEPTH} deep"
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(body: bytes, exact: bool = True) -> Any:
    """The value that the UTF-8 JSON text `body` writes.

    A number with a point or an exponent is a `Decimal` if `exact`, otherwise a float. Raises `ValueError`; if the text
    is not JSON at all, this is a `json.JSONDecodeError` with the line.
    """
    text = body.decode()
    try:
        value = (_EXACT if exact else _FLOATING).decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP_MESSAGE) from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if b"\\u" in body:
        _check_texts(value)
    return value


def decode_json(body: bytes, exact: bool = True) -> Any:
    """`decode` for text from a server or a file. Raises `BadResponse`, whose message repeats none of the text."""
    try:
        return decode(body, exact)
    except ValueError:
        raise BadResponse("the server's response is not strict JSON") from None


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for outer in level for part in _parts(outer) if isinstance(part, list | dict)]
        if not level:
            return
    raise ValueError(_TOO_DEEP_MESSAGE)


def _check_texts(value: Any) -> None:
    """Raises `ValueError` for an unpaired surrogate: UTF-8 cannot encode one, but a JSON escape can."""
    rest = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            if _SURROGATE.search(part):
                raise ValueError("a string has an unpaired surrogate")
        elif isinstance(part, list | dict):
            rest.extend(part)  # the items of a list, the names of an object
            if isinstance(part, dict):
                rest.extend(part.values())


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same name twice")
    return found


def _float(text: str) -> float:
    number = float(text) if len(text) <= MAX_TEXT else math.inf
    if not math.isfinite(number):
        raise ValueError("a number must be finite, and written in at most 64 characters")
    return number


def _no_constant(_: str) -> NoReturn:
    raise ValueError("its numbers must be finite")


def _decoder(read_float: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=read_float, parse_int=read_whole, parse_constant=_no_constant, object_pairs_hook=_object
    )


_EXACT = _decoder(read_decimal)
_FLOATING = _decoder(_float)
