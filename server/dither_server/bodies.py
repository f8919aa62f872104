"""Reading request bodies: bounded in bytes and time while they stream in, and JSON without what JSON has not."""

import asyncio
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from dither_server.errors import BodyTooLarge, BodyTooSlow, InvalidBody, MalformedJson
from dither_server.problems import invalid

__all__ = [
    "BODY_REFUSALS",
    "MAX_BATCH_BODY",
    "MAX_BODY",
    "MAX_DEPTH",
    "parse_json",
    "read_body",
    "validate_body",
    "with_floats",
]

BODY_REFUSALS = (MalformedJson, InvalidBody, BodyTooLarge, BodyTooSlow)
"""What any call with a body may be refused with."""

MAX_BODY = 64 * 1024
"""Bytes that a body may have."""
MAX_BATCH_BODY = 16 * 1024 * 1024
"""Bytes that the body of a batch may have."""
_BODY_SECONDS = 10
_BYTES_A_SECOND = 256 * 1024
"""How long a body may take: at least `_BODY_SECONDS`, longer where more bytes are allowed."""

MAX_DEPTH = 32
"""Lists and objects inside each other; whatever walks through them may recurse."""

_Model = TypeVar("_Model", bound=BaseModel)


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body.

    Raises `BodyTooLarge` as soon as it is longer than `limit` bytes, whatever its header said, and `BodyTooSlow` if its
    end has not come in time.
    """
    seconds = max(_BODY_SECONDS, limit // _BYTES_A_SECOND)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise BodyTooLarge(f"The body must have at most {limit:,} bytes.")
                chunks.append(chunk)
    except TimeoutError:
        raise BodyTooSlow(f"The body must arrive within {seconds} seconds.") from None
    return b"".join(chunks)


def parse_json(body: bytes) -> Any:
    """The JSON in `body`, with floats as exact decimals.

    Raises `MalformedJson`, also for NaN, 1e400, an object that has a name twice, and lists in lists without end.
    """
    try:
        value = json.loads(
            body.decode(),
            parse_float=_finite_decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
        _check_depth(value, MAX_DEPTH)
        return value
    except (ValueError, RecursionError):
        raise MalformedJson from None


def with_floats(value: Any) -> Any:
    """What `parse_json` gave, with floats in place of decimals."""
    if isinstance(value, dict):
        return {key: with_floats(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_floats(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value


def validate_body(model: type[_Model], body: bytes) -> _Model:
    """The `model` in the JSON `body`, strictly. Raises `MalformedJson` or `InvalidBody`.

    The validator works on the bytes; nothing is built that is not in the model.
    """
    try:
        valid: _Model = model.__pydantic_validator__.validate_json(body, strict=True)
    except ValidationError as error:
        if error.errors(include_input=False, include_url=False, include_context=False)[0]["type"] == "json_invalid":
            raise MalformedJson from None
        raise invalid(error, model) from None
    # The validator takes the last of several values of one name, and who reads the body before may take the first.
    # A model takes no unknown names, and each name has a colon: as many colons as fields, and none was there twice.
    if body.count(b":") != _fields(valid):
        parse_json(body)
    return valid


def _fields(model: BaseModel) -> int:
    """How many fields were given to a model and to the models in its lists."""
    lists = [value for value in model.__dict__.values() if isinstance(value, list)]
    inner = sum(len(part.model_fields_set) for some in lists for part in some if isinstance(part, BaseModel))
    return len(model.model_fields_set) + inner


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _check_depth(value: Any, room: int) -> None:
    parts: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        if not room:
            raise ValueError
        _check_depth(part, room - 1)


def _finite_decimal(text: str) -> Decimal:
    if not math.isfinite(float(text)):
        raise ValueError
    return Decimal(text)


def _refuse_constant(text: str) -> Any:
    raise ValueError
