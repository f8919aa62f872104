"""Reading request bodies: bounded while they stream in, and JSON without what JSON has not."""

import json
import math
from decimal import Decimal
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from dither_server.errors import BodyTooLarge, MalformedJson
from dither_server.problems import invalid

__all__ = ["MAX_BATCH_BODY", "MAX_BODY", "parse_json", "read_body", "validate_body", "with_floats"]

MAX_BODY = 64 * 1024
"""Bytes that a body may have."""
MAX_BATCH_BODY = 16 * 1024 * 1024
"""Bytes that the body of a batch may have."""

_Model = TypeVar("_Model", bound=BaseModel)


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body. Raises `BodyTooLarge` as soon as it is longer than `limit` bytes, whatever its header said."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise BodyTooLarge(f"The body must have at most {limit:,} bytes.")
        chunks.append(chunk)
    return b"".join(chunks)


def parse_json(body: bytes) -> Any:
    """The JSON in `body`, with floats as exact decimals. Raises `MalformedJson`, also for NaN and 1e400."""
    try:
        return json.loads(body.decode(), parse_float=_finite_decimal, parse_constant=_refuse_constant)
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
        return model.__pydantic_validator__.validate_json(body, strict=True)  # type: ignore[no-any-return]
    except ValidationError as error:
        if error.errors(include_input=False, include_url=False, include_context=False)[0]["type"] == "json_invalid":
            raise MalformedJson from None
        raise invalid(error, model) from None


def _finite_decimal(text: str) -> Decimal:
    if not math.isfinite(float(text)):
        raise ValueError
    return Decimal(text)


def _refuse_constant(text: str) -> Any:
    raise ValueError
