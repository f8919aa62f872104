"""The busiest calls, which pass FastAPI's own routing by: it would cost an answer as much as its row does.

Each is declared once, as a `BusyCall`: from that come its route, which other methods and prefixed addresses find, its
way past the routes, and its OpenAPI.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from dither_server.http.problems import FORESEEN, problem_response

__all__ = ["BusyCall", "Shortcut", "add_busy_routes"]

_BELOW = "/v1/collections/"


@dataclass(frozen=True)
class BusyCall:
    """A `POST` below a collection's address; `end` is the rest of its path."""

    end: str
    function: Callable[[Request], Awaitable[Response]]
    document: Mapping[str, Any]
    """Its OpenAPI operation."""
    models: tuple[type[BaseModel], ...]
    """Those that the document refers to."""

    @property
    def path(self) -> str:
        """The path of its route."""
        return f"{_BELOW}{{collection_id}}/{self.end}"


def add_busy_routes(app: FastAPI, calls: Sequence[BusyCall]) -> None:
    """Adds the routes of the calls, which refuse other methods and serve behind a prefix."""
    for call in calls:
        app.add_route(call.path, call.function, methods=["POST"], include_in_schema=False)


class Shortcut:
    """ASGI middleware: answers the busy calls as their routes would, without looking for these."""

    def __init__(self, app: ASGIApp, calls: Sequence[BusyCall]) -> None:
        self._app = app
        self._functions = {call.end: call.function for call in calls}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = self._call(scope)
        if call is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await call(Request(scope, receive, send))
        except FORESEEN as error:
            response = problem_response(error)
        await response(scope, receive, send)

    def _call(self, scope: Scope) -> Callable[[Request], Awaitable[Response]] | None:
        """The function of the call that a request is for, if it is one; `scope` then says so, as after routing."""
        # Behind a prefix, which the path then begins with, the routes know better.
        if scope["type"] != "http" or scope["method"] != "POST" or scope.get("root_path"):
            return None
        path: str = scope["path"]
        collection_id, _, end = path.removeprefix(_BELOW).partition("/")
        function = self._functions.get(end) if path.startswith(_BELOW) and collection_id else None
        if function is not None:
            scope["endpoint"] = function
            scope["path_params"] = {"collection_id": collection_id}
        return function
