"""The way of the busiest calls past FastAPI's own routing, which would cost an answer as much as its row does.

They are ordinary routes of the application as well: what is documented, other methods and everything else about their
addresses comes from there.
"""

import re
from collections.abc import Awaitable, Callable, Mapping

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dither_server.http.problems import FORESEEN, problem_response

__all__ = ["Call", "Shortcut"]

Call = Callable[[Request], Awaitable[Response]]

_PATH = re.compile(r"/v1/collections/([^/]+)/([a-z/]+)")


class Shortcut:
    """ASGI middleware: a `POST` to one of `calls`, by the end of its path, is answered here, as its route would."""

    def __init__(self, app: ASGIApp, calls: Mapping[str, Call]) -> None:
        self._app = app
        self._calls = calls

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

    def _call(self, scope: Scope) -> Call | None:
        """The call that a request is for, if it is one; `scope` then says so, as after routing."""
        # Behind a prefix, which the path then begins with, the routes know better.
        if scope["type"] != "http" or scope["method"] != "POST" or scope.get("root_path"):
            return None
        found = _PATH.fullmatch(scope["path"])
        call = self._calls.get(found[2]) if found else None
        if found and call:
            scope["endpoint"] = call
            scope["path_params"] = {"collection_id": found[1]}
        return call
