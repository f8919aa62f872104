"""Reads request bodies: bounded in bytes and time while they stream in, and parsed as strict JSON.

Anyone may send a body, so reading one must cost little more than the bytes that the call needs. Its size is bounded by
the kind of call before it is read, its commas, colons and brackets are counted before it is parsed, and only one error
is built however much is wrong.
"""

import asyncio
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import ClientDisconnect

from dither_client import strict_json
from dither_server.errors import BodyTooLarge, BodyTooSlow, InvalidBody, MalformedJson
from dither_server.http.problems import invalid

__all__ = [
    "ARRIVED_BODY",
    "BODY_REFUSALS",
    "MAX_ANSWER_BODY",
    "MAX_BATCH_BODY",
    "MAX_BODY",
    "MAX_TICKET_BODY",
    "MAX_UNKNOWN_BATCH_BODY",
    "Body",
    "check_marks",
    "parse_json",
    "read_body",
    "validate_body",
    "with_floats",
]

ARRIVED_BODY = "dither.arrived_body"
"""The key of a request's scope under which its connection leaves a body of at most `MAX_BODY` once it is all here."""

BODY_REFUSALS = (MalformedJson, InvalidBody, BodyTooLarge, BodyTooSlow)
"""The refusals that any call with a body may end in."""

MAX_BODY = 64 * 1024
"""Bytes in a body from an admin or an institution."""
MAX_TICKET_BODY = 4 * 1024
"""Bytes in a request for tickets: a few hundred are enough."""
MAX_ANSWER_BODY = 16 * 1024
"""Bytes in a body with one answer: a ticket has up to 12,000, and nearly always about 100."""
MAX_BATCH_BODY = 16 * 1024 * 1024
"""Bytes in a batch that comes with a gateway's token."""
MAX_UNKNOWN_BATCH_BODY = 256 * 1024
"""Bytes in a batch without a gateway's token."""
_BODY_SECONDS = 10
_BYTES_A_SECOND = 256 * 1024
"""A body may take `_BODY_SECONDS`, or longer if it may be so large that this rate takes longer."""

_MARKS = (b",", b":", b"[", b"{")
"""Every field, item, list and object in JSON has one of these."""


class Body(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    most_marks: ClassVar[int] = 2_000
    """The limit of commas, colons and opening brackets in the JSON, above that of any valid body."""


_Model = TypeVar("_Model", bound=Body)


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body of a request.

    Raises `BodyTooLarge` if it has more than `limit` bytes: before anything is read if its header says so, otherwise as
    soon as they have come. Raises `BodyTooSlow` if it has not arrived in time.
    """
    arrived: bytes | None = request.scope.get(ARRIVED_BODY)
    if arrived is not None:  # together with its head, as most small ones: to wait for it would be waste
        if len(arrived) > limit:
            raise _too_large(limit)
        return arrived
    _check_length(request, limit)
    seconds = max(_BODY_SECONDS, limit // _BYTES_A_SECOND)
    try:
        async with asyncio.timeout(seconds):
            return await _read(request, limit)
    except TimeoutError:
        raise BodyTooSlow(f"The body must arrive within {seconds} seconds.") from None


async def _read(request: Request, limit: int) -> bytes:
    """The body, however long it takes."""
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise _too_large(limit)
        more = message.get("more_body", False)
    return b"".join(chunks)


def check_marks(body: bytes, most: int) -> None:
    """Raises `InvalidBody` if the JSON in `body` has more than `most` fields and items, without parsing it.

    Each has a comma, a colon or a bracket. Those inside strings count as well, so `most` must leave room for them.
    """
    if len(body) > most and sum(map(body.count, _MARKS)) > most:
        raise InvalidBody(
            "The body has more fields or items than this call accepts: leave out those that it does not know."
        )


def parse_json(body: bytes) -> Any:
    """The strict JSON in `body`, as `strict_json.decode`, with floats as exact decimals. Raises `MalformedJson`."""
    try:
        return strict_json.decode(body)
    except ValueError:
        raise MalformedJson from None


def with_floats(value: Any) -> Any:
    """JSON from `parse_json`, with floats instead of decimals."""
    if isinstance(value, dict):
        return {key: with_floats(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_floats(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value


def validate_body(model: type[_Model], body: bytes) -> _Model:
    """Validates the JSON `body` strictly against `model`. Raises `MalformedJson` or `InvalidBody`.

    The validator works on the bytes and builds nothing that is not in the model.
    """
    check_marks(body, model.most_marks)
    try:
        valid: _Model = model.__pydantic_validator__.validate_json(body, strict=True)
    except ValidationError as error:
        raise invalid(error, model) from None
    # The validator takes the last of several values with one name, whereas a proxy may have taken the first. A model
    # has no unknown names, and every name has a colon: with as many colons as fields, no name is repeated.
    colons = body.count(b":")
    if colons != len(valid.model_fields_set) and colons != _fields(valid):
        parse_json(body)
    return valid


def _check_length(request: Request, limit: int) -> None:
    # A header that is not a number is ignored, since bytes are counted anyway. Twenty digits are enough to compare.
    for name, value in request.scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise _too_large(limit)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body must have at most {limit:,} bytes.")


def _fields(model: BaseModel) -> int:
    """The number of fields set in a model and in the models in its lists."""
    lists = [value for value in model.__dict__.values() if isinstance(value, list)]
    inner = sum(len(part.model_fields_set) for some in lists for part in some if isinstance(part, BaseModel))
    return len(model.model_fields_set) + inner
