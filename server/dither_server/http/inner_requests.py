"""A request that came inside another one: it is made to the application in this process, like any other."""

from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from dither_client.oblivious.binary_http import Fields, Request, Response
from dither_server.http.bodies import ARRIVED_BODY
from dither_server.logs import request_id

__all__ = ["ask"]

_PASSED_ON = ("accept", "accept-language", "content-type")
"""The headers that the application gets to see."""
_SAME = ("type", "asgi", "http_version", "server", "client", "scheme")
_RETURNED = ("content-language", "content-type", "retry-after", "x-request-id")


async def ask(app: ASGIApp, outer: Scope, request: Request, marks: Mapping[str, Any]) -> Response:
    """The application's response. `outer` is the request around it, `marks` are added to the scope.

    The application sees the address that the outer request came from, and its host: the same as if it came itself.
    """
    headers = [(name.encode(), value.encode("latin-1")) for name, value in request.headers if name in _PASSED_ON]
    headers += [(name, value) for name, value in outer["headers"] if name == b"host"]
    headers.append((b"content-length", b"%d" % len(request.body)))
    scope = {
        **{name: outer[name] for name in _SAME if name in outer},
        "method": request.method,
        "root_path": "",
        "path": request.path,
        "raw_path": request.path.encode("ascii"),
        "query_string": b"",
        "headers": headers,
        ARRIVED_BODY: request.body,
        **marks,
    }
    talk = _Talk(request.body)
    outer_id = request_id.get()
    await app(scope, talk.receive, talk.send)
    request_id.set(outer_id)
    return Response(talk.status, _returned(talk.headers), b"".join(talk.parts))


class _Talk:
    """What a connection is to any other request."""

    def __init__(self, body: bytes) -> None:
        self._messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []

    async def receive(self) -> Message:
        return self._messages.pop() if self._messages else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message["headers"]
        else:
            self.parts.append(message.get("body", b""))


def _returned(headers: list[tuple[bytes, bytes]]) -> Fields:
    decoded = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return tuple((name, value) for name, value in decoded if name in _RETURNED)
