"""What one connection may take: the size of a request's head, pieces of its body, time to send and to read the reply.

uvicorn bounds none of these by itself: a connection that has sent nothing, a head without end, a body in chunks of one
byte and a client that has stopped reading would each be kept for ever, or cost more than it sends.

When there are as many connections as there is room for, some more are taken for whoever asks how the server is.
"""

import asyncio
import resource
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from dither_server.errors import AddressTooLong, HeadTooLarge, Overloaded, Refusal
from dither_server.http.middleware import SAFE_HEADERS
from dither_server.http.problems import problem_response

__all__ = [
    "HEAD_SECONDS",
    "MAX_ADDRESS",
    "MAX_CONNECTIONS",
    "MAX_HEAD",
    "MAX_HEADERS",
    "MAX_SEMICOLONS",
    "SPARE_CONNECTIONS",
    "STALL_SECONDS",
    "BoundedConnection",
    "Sweeper",
    "bounded_to",
    "room",
]

MAX_CONNECTIONS = 10_000
"""Connections at once; fewer where the process may open fewer files."""
SPARE_CONNECTIONS = 16
"""Connections beyond these, for `_HEALTH` alone."""
MAX_HEAD = 16 * 1024
"""Bytes that a request's line and headers may have."""
MAX_ADDRESS = 4 * 1024
"""Bytes that its address may have, path and query: every route looks at all of them, and escapes are decoded."""
MAX_HEADERS = 100
"""Headers that it may have: browsers behind several proxies send some thirty."""
MAX_SEMICOLONS = 256
"""Semicolons in its headers: each parts two cookies, of which browsers keep up to 180 for one site."""
HEAD_SECONDS = 10
"""How long a connection may take to send a whole head, from its start or the reply before on."""
STALL_SECONDS = 30
"""How long a reply may lie without its reader taking anything."""

_HEALTH = ("/healthz", "/readyz", "/metrics")
"""What is answered though there are too many connections."""
_PIECES, _BYTES_A_PIECE = 256, 512
"""Pieces that a body may come in at first, and bytes that each further one must bring on average."""

_UNREAD = 256 * 1024
"""Bytes of a body that are still taken though the reply was sent, so that its sender gets to read that."""

_OTHER_FILES = 200
"""Files that are open for something else than a connection: the database, threads, modules."""
_LONG_ADDRESS = AddressTooLong(f"The address must have at most {MAX_ADDRESS:,} bytes.")
_LARGE_HEAD = HeadTooLarge(
    f"There must be at most {MAX_HEADERS} headers, of {MAX_HEAD:,} bytes with the address, and {MAX_SEMICOLONS} "
    "semicolons in them: send fewer cookies."
)
_FULL = Overloaded("There are too many connections: try again later.")


def room() -> int:
    """How many connections there is room for; the process's limit on open files is raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, soft - _OTHER_FILES))


@dataclass
class _Gate:
    """How many connections there may be, and those beyond, the one that came first at the beginning."""

    room: int
    spare: "dict[BoundedConnection, None]" = field(default_factory=dict)


def bounded_to(room: int) -> "type[BoundedConnection]":
    """The kind of connection of one server, which takes up to `room` of them, and the spare ones."""
    return type("BoundedConnection", (BoundedConnection,), {"gate": _Gate(room)})


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, which refuses to be one too many, heads without end and bodies in crumbs."""

    gate = _Gate(MAX_CONNECTIONS)

    _unfinished = 0
    """Bytes in reads that ended within a head, since the last whole one."""
    _head = 0
    _semicolons = 0
    """Bytes, and semicolons, of the head that is being read, or was read last, as far as it has been parsed."""
    _pieces = 0
    _body = 0
    """Pieces, and bytes, of the body so far."""
    _too_much: Refusal | None = None
    """Why the head is not read any further."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection, for questions of health alone if there are too many already."""
        super().connection_made(transport)
        spare = self.gate.spare
        if len(self.connections) - len(spare) > self.gate.room:
            spare[self] = None
            self.app = _HealthAlone(self.app)
            if len(spare) > SPARE_CONNECTIONS:
                # Whoever asks for health has asked by now, or is being answered.
                silent = next((one for one in spare if one.cycle is None), self)
                silent._refuse(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Makes room."""
        self.gate.spare.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses what has come, and refuses to wait for more of too long a head."""
        super().data_received(data)
        # A request has a scope when its first byte is there, a cycle when its head is whole.
        if self.scope is None or (self.cycle is not None and self.cycle.scope is self.scope):
            self._unfinished = 0
            return
        self._unfinished += len(data)
        if self._unfinished > MAX_HEAD:
            self._refuse(_LARGE_HEAD)

    def on_message_begin(self) -> None:
        """Begins to count."""
        self._head = self._semicolons = self._pieces = self._body = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Counts the address's bytes."""
        super().on_url(url)
        if len(self.url) > MAX_ADDRESS:
            self._give_up(_LONG_ADDRESS)
        self._head += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Counts headers, their bytes and their parts."""
        super().on_header(name, value)
        self._head += len(name) + len(value) + 4
        self._semicolons += value.count(b";")
        if self._head > MAX_HEAD or len(self.headers) > MAX_HEADERS or self._semicolons > MAX_SEMICOLONS:
            self._give_up(_LARGE_HEAD)

    def on_body(self, body: bytes) -> None:
        """Counts pieces: parsing each costs as much as many bytes do."""
        self._pieces += 1
        self._body += len(body)
        if self._pieces > _PIECES + self._body // _BYTES_A_PIECE:
            raise ValueError("a body in crumbs")  # ends the parsing: uvicorn replies with 400
        if self._body > _UNREAD and self.cycle.response_complete:
            self.transport.close()  # it was refused, and goes on
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Replies to what cannot be parsed, or was not parsed any further."""
        if self._too_much is None:
            super().send_400_response(msg)
        else:
            self._refuse(self._too_much)

    def _give_up(self, error: Refusal) -> NoReturn:
        self._too_much = error
        raise ValueError("a head of too much")  # ends the parsing

    def _refuse(self, error: Refusal) -> None:
        if self.transport.is_closing():
            return
        reply = problem_response(error)
        headers = [*reply.raw_headers, *SAFE_HEADERS, (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[reply.status_code], *lines, b"\r\n", bytes(reply.body)]))
        self.transport.close()


class _HealthAlone:
    """The application of a connection beyond those there is room for: it answers one question, of health."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        app = self._app if scope["path"] in _HEALTH else problem_response(_FULL)
        await app(scope, receive, send_last)


@dataclass(slots=True)
class _Seen:
    cycle: RequestResponseCycle | None
    since: float
    """When it was first seen waiting for another head, after that cycle."""
    unread: int
    stalled_since: float
    """When so many bytes were first seen unread."""


class Sweeper:
    """Looks at all connections now and then, and closes those that keep others from a place.

    Nothing of this is in the way of a request: a timer for each would be.
    """

    def __init__(self) -> None:
        self._seen: dict[BoundedConnection, _Seen] = {}

    def sweep(self, connections: Iterable[BoundedConnection], now: float) -> None:
        """Closes the connections of which `now` (seconds, monotonic) is too late."""
        seen = {}
        for connection in connections:
            before = self._seen.get(connection)
            seen[connection] = known = _look(connection, before, now)
            if now - known.stalled_since > STALL_SECONDS:
                connection.transport.abort()
            elif now - known.since > HEAD_SECONDS and not known.unread:
                connection.transport.close()
        self._seen = seen


def _look(connection: BoundedConnection, before: _Seen | None, now: float) -> _Seen:
    cycle = connection.cycle
    waiting = cycle is None or cycle.response_complete
    unread = connection.transport.get_write_buffer_size()
    known = _Seen(cycle if waiting else None, now, unread, now)
    if before is not None:
        if waiting and before.cycle is cycle:
            known.since = before.since
        if 0 < before.unread <= unread:
            known.stalled_since = before.stalled_since
    return known
