"""Gives every request an id, safe headers, metrics, and a problem document if it fails unexpectedly.

It is pure ASGI in a single class because every answer passes through it.
"""

import asyncio
import logging
import time
import traceback
from functools import lru_cache
from random import getrandbits

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dither_server.errors import InvalidBody, Unavailable
from dither_server.http.problems import problem_response
from dither_server.logs import request_id
from dither_server.metrics import Metrics

__all__ = ["SAFE_HEADERS", "Observer"]

SAFE_HEADERS = [
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
"""Headers of every reply that does not set its own, as pages do; answers and tickets are never cached."""

_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""For replies over https: browsers then use https for a year. It leaves out subdomains, which may not be ours."""
_MAX_PARAMETERS = 100
"""Parameters in an address: forms of the dashboard have a few dozen, calls a few."""

_CLIENT_LEFT = 499
"""The status counted for a request whose sender left before the end of its body."""

_TOO_MANY_PARAMETERS = InvalidBody(f"The address must have at most {_MAX_PARAMETERS} parameters.")

_log = logging.getLogger(__name__)


@lru_cache(maxsize=64)
def _safe_beside(own: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    """The safe headers without those that a reply sets itself."""
    return [header for header in SAFE_HEADERS if header[0] not in own]


class Observer:
    """The outermost ASGI middleware."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        # Always a new id: one sent with the request could be anything, and would be in every log line.
        own_id = f"{getrandbits(64):016x}"  # unique, not secret: the system's generator would be a system call
        request_id.set(own_id)  # uvicorn gives each request a context of its own
        headers = [(b"x-request-id", own_id.encode())]
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message["headers"]
                message["headers"] = [*own, *headers, *_safe_beside(tuple([name for name, _ in own]))]
                if scope["scheme"] == "https":
                    message["headers"].append(_HTTPS_ONLY)
            await send(message)

        try:
            if scope["query_string"].count(b"&") >= _MAX_PARAMETERS:
                await problem_response(_TOO_MANY_PARAMETERS)(scope, receive, send_on)
            else:
                await self._app(scope, receive, send_on)
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
