"""The outermost ASGI function: it answers the busy calls itself, and hands everything else to the framework.

For an answer, the framework's routing would cost as much as storing the row. A busy call is declared once, as a
`BusyCall`: its address, its function, its OpenAPI. All requests get an id, safe headers, metrics, and a problem
document if they fail unexpectedly.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from random import getrandbits
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dither_server.errors import InvalidBody, MethodNotAllowed, Unavailable
from dither_server.http.path_ids import check_id
from dither_server.http.problems import FORESEEN, problem_response
from dither_server.http.replies import SAFE_HEADERS, Header, Reply, send_reply
from dither_server.logs import request_id
from dither_server.metrics import Metrics

__all__ = ["BusyCall", "FrontDoor"]

_COLLECTIONS_PATH = "/v1/collections/"
_METHOD = "POST"
"""The method of every busy call."""
_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""For replies over https: browsers then use https for a year. It leaves out subdomains, which may not be ours."""
_MAX_PARAMETERS = 100
"""Parameters in an address: forms of the dashboard have a few dozen, calls a few."""
_CLIENT_LEFT = 499
"""The status counted for a request whose sender left before the end of its body."""
_TOO_MANY_PARAMETERS = InvalidBody(f"The address must have at most {_MAX_PARAMETERS} parameters.")

_Function = Callable[[Request, str], Awaitable[Reply]]
"""Takes a request and the id of the collection that it is for."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BusyCall:
    """A `POST` below a collection's address; `end` is the last part of its path."""

    end: str
    function: _Function
    document: Mapping[str, Any]
    """Its OpenAPI operation."""
    models: tuple[type[BaseModel], ...]
    """The models that the document refers to."""

    @property
    def path(self) -> str:
        """The pattern of its address."""
        return f"{_COLLECTIONS_PATH}{{collection_id}}/{self.end}"


class FrontDoor:
    """What uvicorn calls. `framework` serves whatever is no busy call of `app`; `cors` is what is around it."""

    def __init__(
        self,
        app: FastAPI,
        framework: ASGIApp,
        calls: Sequence[BusyCall],
        metrics: Metrics,
        cors: CORSMiddleware | None = None,
    ) -> None:
        self._app = app
        self._framework = framework if cors is None else cors
        self._functions = {call.end: call.function for call in calls}
        self._metrics = metrics
        self._cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._framework(scope, receive, send)
            return
        began = time.perf_counter()
        # Always a new id: one sent with the request could be anything, and would be in every log line.
        own_id = f"{getrandbits(64):016x}"  # unique, not secret: the system's generator would be a system call
        request_id.set(own_id)  # uvicorn gives each request a context of its own
        own = [(b"x-request-id", own_id.encode())]
        if scope["scheme"] == "https":
            own.append(_HTTPS_ONLY)
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                theirs = message["headers"]
                message["headers"] = [*theirs, *own, *_safe_beside(tuple([name for name, _ in theirs]))]
            await send(message)

        try:
            if scope["query_string"].count(b"&") >= _MAX_PARAMETERS:
                await problem_response(_TOO_MANY_PARAMETERS)(scope, receive, send_on)
            elif (found := self._busy(scope)) is not None:
                reply = await _answered(*found, Request(scope, receive))
                status = reply.status_code
                await send_reply(self._across_origins(scope, send), reply, own)
            else:
                await self._framework(scope, receive, send_on)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        except asyncio.CancelledError:  # the server is stopping and has waited its full time
            if not status:
                await problem_response(Unavailable("The server is stopping."))(scope, receive, send_on)
        except Exception as error:
            # The text of an unexpected error may repeat the request, so log only where it happened.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("request failed", extra={"error": type(error).__name__, "where": where})
            if not status:
                await problem_response(error)(scope, receive, send_on)
        seconds = time.perf_counter() - began
        call = getattr(scope.get("endpoint"), "__name__", "none")
        self._metrics.requested(call, status, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("request", extra={"call": call, "status": status, "seconds": round(seconds, 6)})

    def _busy(self, scope: Scope) -> tuple[_Function, str] | None:
        """The function of the busy call that a request is for, with the collection's id; it becomes the endpoint."""
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        if not path.startswith(_COLLECTIONS_PATH):
            return None
        collection_id, _, end = path[len(_COLLECTIONS_PATH) :].partition("/")
        function = self._functions.get(end)
        if function is None or not collection_id or (self._cors is not None and scope["method"] == "OPTIONS"):
            return None
        scope["app"], scope["endpoint"] = self._app, function
        return function, collection_id

    def _across_origins(self, scope: Scope, send: Send) -> Send:
        """`send` with the headers for pages of other origins, which the framework's replies get on their way."""
        if self._cors is None:
            return send
        headers = Headers(scope=scope)
        return partial(self._cors.send, send=send, request_headers=headers) if "origin" in headers else send


async def _answered(function: _Function, collection_id: str, request: Request) -> Reply | Response:
    """The reply to a busy call."""
    if request.method != _METHOD:
        refused = problem_response(MethodNotAllowed())
        refused.headers["Allow"] = _METHOD
        return refused
    try:
        check_id(collection_id)
        return await function(request, collection_id)
    except FORESEEN as error:
        return problem_response(error)


@lru_cache(maxsize=64)
def _safe_beside(own: tuple[bytes, ...]) -> list[Header]:
    """The safe headers without those that a reply sets itself."""
    return [header for header in SAFE_HEADERS if header[0] not in own]
