"""`/ohttp-keys` and `/ohttp`: the gateway of Oblivious HTTP (RFC 9458), for respondents behind a relay.

Gateway and target are one: what a relay forwards is opened here, and its request made in this process. Respondents'
calls alone are let through, and the response goes back sealed, a refusal as well.
"""

import json
import re
from typing import Any

from fastapi import FastAPI, Request, Response

from dither_client.oblivious import binary_http
from dither_client.oblivious.encapsulation import (
    KEYS_TYPE,
    PADDING,
    REPLY_TYPE,
    REQUEST_TYPE,
    UnknownKey,
    decapsulate,
)
from dither_server.access.limits import RELAYED
from dither_server.api.callers import ServiceOf
from dither_server.errors import BodyTooLarge, BodyTooSlow, InvalidBody, NotRelayed, Refusal, RelayKeyUnknown
from dither_server.http.bodies import MAX_ANSWER_BODY, read_body
from dither_server.http.connections import MAX_ADDRESS
from dither_server.http.inner_requests import ask
from dither_server.http.problems import MEDIA_TYPE, problem_of, problems
from dither_server.service.service import Service

__all__ = ["add_routes"]

_PATH = "/ohttp"
_MAX_BODY = MAX_ANSWER_BODY + 4 * 1024
"""Bytes in an encapsulated request: the largest of a respondent, its head and its padding."""
_CACHED = {"Cache-Control": "public, max-age=3600"}
"""A relay keeps the key, so that all people get the same one; it is accepted for a day after it has been replaced."""
_COLLECTION = re.compile(r"(?:/[A-Za-z0-9._~-]+)*?(?P<path>/v1/collections/[A-Za-z0-9_-]{1,128}(?P<end>/[a-z]+)?)")
"""An address below a collection. What precedes it is where a proxy has this server, which the relay went around."""
_CALLS = {("GET", None), ("POST", "/tickets"), ("POST", "/responses")}
"""All that a respondent's client asks for: terms, a ticket, and to store an answer."""
_TELLING = {"authorization", "cookie", "expect"}
"""Headers that say who asks, and one that has no place in a message that is read as a whole."""
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_EXAMPLE = {"examples": {"encapsulated": {"value": "01002000010001…"}}}


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    keys = {"description": "The key configuration.", "content": {KEYS_TYPE: _BINARY}}
    for path, show in (("/ohttp-keys", show_relay_key), (_PATH, show_key_to_relay)):
        app.add_api_route(
            path,
            show,
            methods=["GET"],
            response_class=Response,
            tags=["respondents"],
            responses={200: keys, **problems()},
        )
    app.add_api_route(
        _PATH,
        forward,
        methods=["POST"],
        response_class=Response,
        tags=["respondents"],
        responses={
            200: {"description": "The encapsulated response, whatever it says.", "content": {REPLY_TYPE: _BINARY}},
            **problems(RelayKeyUnknown, InvalidBody, BodyTooLarge, BodyTooSlow),
        },
        openapi_extra={"requestBody": {"required": True, "content": {REQUEST_TYPE: _BINARY | _EXAMPLE}}},
    )


async def show_relay_key(service: ServiceOf) -> Response:
    """Shows the key to which requests through a relay are encapsulated."""
    return _key(service)


async def show_key_to_relay(service: ServiceOf) -> Response:
    """Shows the same key where requests are posted, so that a relay forwards one address."""
    return _key(service)


def _key(service: Service) -> Response:
    return Response(service.oblivious_keys.configurations(), headers=_CACHED, media_type=KEYS_TYPE)


async def forward(request: Request, service: ServiceOf) -> Response:
    """Opens an encapsulated request, makes it, and encapsulates the response."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != REQUEST_TYPE:
        raise InvalidBody(f"The body must be {REQUEST_TYPE}.")
    body = await read_body(request, _MAX_BODY)
    try:
        message, exchange = decapsulate(body, service.oblivious_keys.private)
    except UnknownKey:
        raise RelayKeyUnknown from None
    except ValueError:
        raise InvalidBody("The body is too short for an encapsulated request.") from None
    try:
        response = await ask(request.app, request.scope, _let_through(message), {RELAYED: True})
    except Refusal as error:
        response = _refused(error)
    return Response(exchange.seal(binary_http.write_response(response, PADDING)), media_type=REPLY_TYPE)


def _let_through(message: bytes) -> binary_http.Request:
    """The request in a message. Raises `InvalidBody`, and `NotRelayed` unless it is a respondent's.

    Its authority is not looked at: whoever encapsulates to this server's key means this server, which no other request
    has to name either.
    """
    try:
        inner = binary_http.read_request(message)
    except ValueError:
        raise InvalidBody("The encapsulated message is not a request in binary HTTP.") from None
    found = _COLLECTION.fullmatch(inner.path) if len(inner.path) <= MAX_ADDRESS else None
    if found is None or (inner.method, found["end"]) not in _CALLS:
        raise NotRelayed
    if any(name in _TELLING for name, _ in inner.headers):
        raise NotRelayed("A request through a relay must have neither a token nor cookies, and expect nothing.")
    return inner._replace(path=found["path"])


def _refused(error: Refusal) -> binary_http.Response:
    problem, detail = problem_of(error)
    document = json.dumps(problem.document(detail)).encode()
    return binary_http.Response(problem.status, (("content-type", MEDIA_TYPE),), document)
