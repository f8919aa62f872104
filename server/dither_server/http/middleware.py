"""What is done for every request: an id, the time it took, safe headers, and a problem document if all else fails.

Pure ASGI, and one class, because it is in the way of every answer.
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
"""For whatever does not bring its own, as pages and their files do; an answer or a ticket is in no cache."""

_HTTPS_ALONE = (b"strict-transport-security", b"max-age=31536000")
"""For what came by https: browsers come that way again, for a year. Other names of the domain are not ours to bind."""
_MOST_PARAMETERS = 100
"""Parameters that an address may have: forms of the dashboard have some tens, calls a few."""

_GONE = 499
"""Counted as the status of a request whose sender left before the end of its body."""

_TOO_MANY = InvalidBody(f"The address must have at most {_MOST_PARAMETERS} parameters.")

_log = logging.getLogger(__name__)


@lru_cache(maxsize=64)
def _safe_beside(own: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    """The safe headers but for those that a reply with its own of these names brings."""
    return [header for header in SAFE_HEADERS if header[0] not in own]


class Observer:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        # Always one of our own: what a request brings along could be anything, and it would be in every log line.
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
                    message["headers"].append(_HTTPS_ALONE)
            await send(message)

        try:
            if scope["query_string"].count(b"&") >= _MOST_PARAMETERS:
                await problem_response(_TOO_MANY)(scope, receive, send_on)
            else:
                await self._app(scope, receive, send_on)
        except ClientDisconnect:
            status = _GONE
        except asyncio.CancelledError:  # the server stops, and has waited for as long as it does
            if not status:
                await problem_response(Unavailable("The server is stopping."))(scope, receive, send_on)
        except Exception as error:
            # The text of an unforeseen error may hold what the request contained: say where it was, not what.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("request failed", extra={"error": type(error).__name__, "where": where})
            if not status:
                await problem_response(error)(scope, receive, send_on)
        seconds = time.perf_counter() - began
        call = getattr(scope.get("endpoint"), "__name__", "none")
        self._metrics.requested(call, status, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("request", extra={"call": call, "status": status, "seconds": round(seconds, 6)})
