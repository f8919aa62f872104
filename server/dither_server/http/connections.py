"""Limits of one connection: the size of a request's head, pieces of its body, time to send and to read the reply.

uvicorn bounds none of these: a silent connection, an endless head, a body in chunks of one byte, and a client that
stops reading would each be kept for ever, or cost more than they send.

When all connections are in use, a few more are accepted for health checks.
"""

import asyncio
import resource
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NoReturn, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dither_server.errors import AddressTooLong, HeadTooLarge, Overloaded, Refusal
from dither_server.http.bodies import ARRIVED_BODY, MAX_BODY
from dither_server.http.problems import problem_response
from dither_server.http.replies import SAFE_HEADERS, written

__all__ = [
    "HEAD_SECONDS",
    "MAX_ADDRESS",
    "MAX_CONNECTIONS",
    "MAX_HEAD",
    "MAX_HEADERS",
    "MAX_PIPELINED",
    "MAX_SEMICOLONS",
    "SPARE_CONNECTIONS",
    "STALL_SECONDS",
    "BoundedConnection",
    "Sweeper",
    "bounded_to",
    "room",
]

MAX_CONNECTIONS = 10_000
"""Concurrent connections; fewer if the process may open fewer files."""
SPARE_CONNECTIONS = 16
"""Connections beyond these, only for the paths in `_HEALTH_PATHS`."""
MAX_HEAD = 16 * 1024
"""Bytes in a request's address and headers."""
MAX_ADDRESS = 4 * 1024
"""Bytes in the address, path and query: every route reads all of them, and escapes are decoded."""
MAX_HEADERS = 100
"""Headers in a request: browsers behind several proxies send about thirty."""
MAX_SEMICOLONS = 256
"""Semicolons in the headers: they separate cookies, of which browsers keep up to 180 for a site."""
MAX_PIPELINED = 32
"""Requests of a connection that wait until an earlier one is answered; few clients send any."""
HEAD_SECONDS = 10
"""Time for a connection to send a whole head, from its start or from the previous reply."""
STALL_SECONDS = 30
"""Time for which a reply may wait without its reader taking anything."""

_HEALTH_PATHS = ("/healthz", "/readyz", "/metrics")
"""The paths that are served even if there are too many connections."""
_AROUND_HEADER = len(b": \r\n")
_PIECES, _BYTES_A_PIECE = 256, 512
"""Pieces that any body may come in, and the average number of bytes for each further piece."""

_BODY_BYTES_PER_FRAMING = 16
"""Bytes of a body that each further byte of its framing, beyond `MAX_HEAD`, must bring: usual chunks bring hundreds."""

_MAX_UNREAD = 256 * 1024
"""Bytes of a body that are still accepted after the reply was sent, so that its sender can read the reply."""

_OTHER_FILES = 200
"""Open files that are not connections: the database, threads, modules."""
_ADDRESS_TOO_LONG = AddressTooLong(f"The address must have at most {MAX_ADDRESS:,} bytes.")
_HEAD_TOO_LARGE = HeadTooLarge(
    f"A request may have at most {MAX_HEADERS} headers, {MAX_HEAD:,} bytes in headers and address, and "
    f"{MAX_SEMICOLONS} semicolons in headers: send fewer cookies."
)
_TOO_MANY_CONNECTIONS = Overloaded("There are too many connections: try again later.")


def room() -> int:
    """How many connections the process can hold, after raising its limit on open files as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, soft - _OTHER_FILES))


@dataclass
class _Gate:
    """The limit of connections, and the spare connections beyond it, oldest first."""

    room: int
    spare: "dict[BoundedConnection, None]" = field(default_factory=dict)


def bounded_to(room: int) -> "type[BoundedConnection]":
    """The connection class of one server, which accepts `room` connections and the spare ones."""
    return type("BoundedConnection", (BoundedConnection,), {"gate": _Gate(room)})


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, with limits on the number of connections, on heads, and on the pieces of a body."""

    gate = _Gate(MAX_CONNECTIONS)

    _unfinished = 0
    """Bytes read since the last complete head, in reads that ended within a head."""
    _framing = 0
    """Bytes inside the body that are not part of it."""
    _pieces = 0
    _body = 0
    """Pieces and bytes of the body so far."""
    _too_much: Refusal | None = None
    """The reason for not parsing the head any further."""
    _answered: RequestResponseCycle | None = None
    """The cycle that is answered, or was last; `cycle` is that of the newest request, which may wait for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Accepts the connection, only for health checks if there are too many already."""
        super().connection_made(transport)
        spare = self.gate.spare
        if len(self.connections) - len(spare) > self.gate.room:
            spare[self] = None
            self.app = _HealthAlone(self.app)
            if len(spare) > SPARE_CONNECTIONS:
                # By now, a health check has sent its request, or is being answered.
                silent = next((one for one in spare if one.cycle is None), self)
                silent._refuse(_TOO_MANY_CONNECTIONS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Makes room for another connection."""
        self.gate.spare.pop(self, None)
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses the data, and refuses a head that is too long as soon as it is."""
        cycle, body = self.cycle, self._body
        super().data_received(data)
        # A request has a scope from its first byte on, and a cycle once its head is complete.
        if self.scope is None or (self.cycle is not None and self.cycle.scope is self.scope):
            self._unfinished = 0
            if cycle is not None and self.cycle is cycle and cycle.more_body:
                self._bound_framing(len(data) - (self._body - body))
            return
        self._unfinished += len(data)
        if self.scope is not None and len(self.url) > MAX_ADDRESS:
            self._refuse(_ADDRESS_TOO_LONG)
        elif self._unfinished > MAX_HEAD:
            self._refuse(_HEAD_TOO_LARGE)

    def _bound_framing(self, size: int) -> None:
        """Counts what came inside a body and is none of it: chunks' lengths and extensions, and trailers."""
        self._framing += size
        if self._framing > MAX_HEAD + self._body // _BODY_BYTES_PER_FRAMING:
            if self.cycle.response_started:
                self.transport.close()
            else:
                self._refuse(_HEAD_TOO_LARGE)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Counts the headers."""
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS:
            self._give_up(_HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Measures the whole head at once: measuring header by header costs more than all other checks here."""
        self._pieces = self._body = self._framing = 0
        if len(self.url) > MAX_ADDRESS:
            self._give_up(_ADDRESS_TOO_LONG)
        content = b"".join(chain.from_iterable(self.headers))
        size = len(self.url) + len(content) + _AROUND_HEADER * len(self.headers)
        if size > MAX_HEAD or content.count(b";") > MAX_SEMICOLONS:
            self._give_up(_HEAD_TOO_LARGE)
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests wait")  # ends the parsing
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Counts pieces, since parsing a piece costs as much as many bytes."""
        self._pieces += 1
        self._body += len(body)
        if self._pieces > _PIECES + self._body // _BYTES_A_PIECE:
            raise ValueError("a body in too many pieces")  # ends the parsing: uvicorn replies with 400
        if self._body > _MAX_UNREAD and self.cycle.response_complete:
            self.transport.close()  # refused, but still sending
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Leaves a small body where it can be read at once, unless a part has been read already."""
        if len(self.cycle.body) == self._body <= MAX_BODY:
            cast(Scope, self.scope)[ARRIVED_BODY] = bytes(self.cycle.body)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Replies to a request that cannot be parsed, or whose head exceeds a limit."""
        if self._too_much is not None:
            self._refuse(self._too_much)
        elif self._leave():
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _give_up(self, error: Refusal) -> NoReturn:
        self._too_much = error
        raise ValueError("a head beyond the limits")  # ends the parsing

    def _refuse(self, error: Refusal) -> None:
        if self.transport.is_closing():
            return
        if self._leave():
            self.transport.close()
            return
        reply = problem_response(error)
        headers = [*reply.raw_headers, *SAFE_HEADERS, (b"connection", b"close")]
        self.transport.write(written(reply.status_code, headers, bytes(reply.body)))
        self.transport.close()

    def _leave(self) -> bool:
        """Tells the request that is being answered, if there is one, that nobody reads its reply.

        Whether a refusal would be read as its reply, or as the rest of it, though it is not about this request's body.
        """
        cycle = self._answered
        if cycle is None or cycle.response_complete:
            return False
        cycle.disconnected = True
        cycle.message_event.set()
        in_body = cycle.more_body and cycle.scope is self.scope
        return cycle.response_started or not in_body


class _HealthAlone:
    """The application of a spare connection: it answers one health check."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        app = self._app if scope["path"] in _HEALTH_PATHS else problem_response(_TOO_MANY_CONNECTIONS)
        await app(scope, receive, send_last)


@dataclass(slots=True)
class _Seen:
    cycle: RequestResponseCycle | None
    since: float
    """When it was first seen waiting for a head after that cycle."""
    unread: int
    stalled_since: float
    """When this many bytes were first seen unread."""


class Sweeper:
    """Checks all connections at intervals, and closes those that block a place.

    It costs requests nothing, unlike a timer for each.
    """

    def __init__(self) -> None:
        self._seen: dict[BoundedConnection, _Seen] = {}

    def sweep(self, connections: Iterable[BoundedConnection], now: float) -> None:
        """Closes the connections whose time is over at `now` (seconds, monotonic)."""
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
