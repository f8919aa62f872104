"""The busiest calls, which bypass FastAPI: for an answer, its routing would cost as much as storing the row.

Each is declared once, as a `BusyCall`, which gives its route (for other methods and prefixed addresses), its shortcut
past the routes, and its OpenAPI.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from dither_server.http.problems import FORESEEN, problem_response

__all__ = ["BusyCall", "Shortcut", "add_busy_routes"]

_COLLECTIONS_PATH = "/v1/collections/"


@dataclass(frozen=True)
class BusyCall:
    """A `POST` below a collection's address; `end` is the last part of its path."""

    end: str
    function: Callable[[Request], Awaitable[Response]]
    document: Mapping[str, Any]
    """Its OpenAPI operation."""
    models: tuple[type[BaseModel], ...]
    """The models that the document refers to."""

    @property
    def path(self) -> str:
        """The path of its route."""
        return f"{_COLLECTIONS_PATH}{{collection_id}}/{self.end}"


def add_busy_routes(app: FastAPI, calls: Sequence[BusyCall]) -> None:
    """Adds the routes of the calls, which refuse other methods and serve addresses behind a prefix."""
    for call in calls:
        app.add_route(call.path, call.function, methods=["POST"], include_in_schema=False)


class Shortcut:
    """ASGI middleware that answers the busy calls as their routes would, without going through the framework."""

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
        """The function of the busy call that a request is for, or None; sets in `scope` what routing would set."""
        # Behind a prefix the path begins with it, which the routes handle.
        if scope["type"] != "http" or scope["method"] != "POST" or scope.get("root_path"):
            return None
        path: str = scope["path"]
        collection_id, _, end = path.removeprefix(_COLLECTIONS_PATH).partition("/")
        function = self._functions.get(end) if path.startswith(_COLLECTIONS_PATH) and collection_id else None
        if function is not None:
            scope["endpoint"] = function
            scope["path_params"] = {"collection_id": collection_id}
        return function
