"""What is done for every request: an id, the time it took, safe headers, and a problem document if all else fails.

Pure ASGI, and one class, because it is in the way of every answer.
"""

import logging
import os
import time
import traceback

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dither_server.metrics import Metrics
from dither_server.problems import problem_response

__all__ = ["Observer"]

_SAFE_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
"""Everything served is JSON or a page without scripts; an answer or a ticket is in no cache."""

_GONE = 499
"""Counted as the status of a request whose sender left before the end of its body."""

_log = logging.getLogger(__name__)


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
        request_id = os.urandom(8).hex()
        headers = [(b"x-request-id", request_id.encode()), *_SAFE_HEADERS]
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except ClientDisconnect:
            status = _GONE
        except Exception as error:
            # The text of an unforeseen error may hold what the request contained: say where it was, not what.
            where = "".join(traceback.format_tb(error.__traceback__))
            facts = {"request_id": request_id, "error": type(error).__name__, "where": where}
            _log.error("request failed", extra=facts)
            if not status:
                await problem_response(error)(scope, receive, send_on)
        seconds = time.perf_counter() - began
        call = getattr(scope.get("endpoint"), "__name__", "none")
        self._metrics.requested(call, status, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            line = {"request_id": request_id, "call": call, "status": status, "seconds": round(seconds, 6)}
            _log.debug("request", extra=line)
