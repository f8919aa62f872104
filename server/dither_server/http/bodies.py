"""Reading request bodies: bounded in bytes and time while they stream in, and JSON without what JSON has not.

Whoever asks need not be known yet, so nothing here may cost more than the bytes that a call needs: a body is bounded
by its kind before it is read, its commas, colons and brackets are counted before it is parsed, and of everything that
is wrong with it one error is built.
"""

import asyncio
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError

from dither_client import strict_json
from dither_server.errors import BodyTooLarge, BodyTooSlow, InvalidBody, MalformedJson
from dither_server.http.problems import invalid

__all__ = [
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

BODY_REFUSALS = (MalformedJson, InvalidBody, BodyTooLarge, BodyTooSlow)
"""What any call with a body may be refused with."""

MAX_BODY = 64 * 1024
"""Bytes that the body of an admin, or of an institution, may have."""
MAX_TICKET_BODY = 4 * 1024
"""Bytes that a request for tickets may have: some hundred do."""
MAX_ANSWER_BODY = 16 * 1024
"""Bytes that an answer may have: a ticket has up to 12,000, and a hundred nearly always."""
MAX_BATCH_BODY = 16 * 1024 * 1024
"""Bytes that the body of a batch may have that comes with a gateway's token."""
MAX_UNKNOWN_BATCH_BODY = 256 * 1024
"""Bytes that the body of a batch may have that comes from anybody."""
_BODY_SECONDS = 10
_BYTES_A_SECOND = 256 * 1024
"""How long a body may take: at least `_BODY_SECONDS`, longer where more bytes are allowed."""

_MARKS = (b",", b":", b"[", b"{")
"""One of these belongs to each field, item, list and object in JSON."""


class Body(BaseModel):
    """What a request brings: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")

    most_marks: ClassVar[int] = 2_000
    """How many commas, colons and opening brackets the JSON may have: more than any that is right."""


_Model = TypeVar("_Model", bound=Body)


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body.

    Raises `BodyTooLarge`, before anything is read if its header says that it is longer than `limit` bytes, or else as
    soon as it is; and `BodyTooSlow` if its end has not come in time.
    """
    _check_length(request, limit)
    seconds = max(_BODY_SECONDS, limit // _BYTES_A_SECOND)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                chunks.append(chunk)
    except TimeoutError:
        raise BodyTooSlow(f"The body must arrive within {seconds} seconds.") from None
    return b"".join(chunks)


def check_marks(body: bytes, most: int) -> None:
    """Raises `InvalidBody` if the JSON in `body` has more than `most` fields and items: counted, and nothing parsed.

    Each has a comma, a colon or a bracket. Such characters within texts count as well, so `most` leaves room for those.
    """
    if len(body) > most and sum(map(body.count, _MARKS)) > most:
        raise InvalidBody("The body has more fields or items than the call takes: leave out what it does not know.")


def parse_json(body: bytes) -> Any:
    """The strict JSON in `body`, as `strict_json.decode`, with floats as exact decimals. Raises `MalformedJson`."""
    try:
        return strict_json.decode(body)
    except ValueError:
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
    check_marks(body, model.most_marks)
    try:
        valid: _Model = model.__pydantic_validator__.validate_json(body, strict=True)
    except ValidationError as error:
        raise invalid(error, model) from None
    # The validator takes the last of several values of one name, and who reads the body before may take the first.
    # A model takes no unknown names, and each name has a colon: as many colons as fields, and none was there twice.
    if body.count(b":") != _fields(valid):
        parse_json(body)
    return valid


def _check_length(request: Request, limit: int) -> None:
    # A header that is no number is none: what comes is counted. Twenty digits say whether it is too much.
    for name, value in request.scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise _too_large(limit)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body must have at most {limit:,} bytes.")


def _fields(model: BaseModel) -> int:
    """How many fields were given to a model and to the models in its lists."""
    lists = [value for value in model.__dict__.values() if isinstance(value, list)]
    inner = sum(len(part.model_fields_set) for some in lists for part in some if isinstance(part, BaseModel))
    return len(model.model_fields_set) + inner
