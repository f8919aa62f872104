"""What one connection may take: bytes of a request's head, time to send it, time to read the reply.

uvicorn bounds none of these by itself: a connection that has sent nothing, a head without end and a client that has
stopped reading would each be kept for ever.
"""

import asyncio
import resource
from collections.abc import Iterable
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dither_server.errors import Overloaded
from dither_server.problems import problem_response

__all__ = ["HEAD_SECONDS", "MAX_CONNECTIONS", "MAX_HEAD", "STALL_SECONDS", "BoundedConnection", "Sweeper", "room"]

MAX_CONNECTIONS = 10_000
"""Connections at once; fewer where the process may open fewer files."""
MAX_HEAD = 64 * 1024
"""Bytes that a request's line and headers may have."""
HEAD_SECONDS = 10
"""How long a connection may take to send a whole head, from its start or the reply before on."""
STALL_SECONDS = 30
"""How long a reply may lie without its reader taking anything."""

_OTHER_FILES = 200
"""Files that are open for something else than a connection: the database, threads, modules."""
_STATUS = {431: b"431 Request Header Fields Too Large", 503: b"503 Service Unavailable"}


def room() -> int:
    """How many connections there is room for; the process's limit on open files is raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, soft - _OTHER_FILES))


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, which refuses to be one too many, and heads without end."""

    _head = 0
    """Bytes in reads that ended within a head, since the last whole one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection, or says that there are too many."""
        super().connection_made(transport)
        # uvicorn's own limit is one more, and so never reached: it refuses without saying when to come again.
        limit = self.config.limit_concurrency
        if limit is not None and len(self.connections) >= limit:
            self._refuse(503)

    def data_received(self, data: bytes) -> None:
        """Parses what has come, and refuses to wait for more of too long a head."""
        super().data_received(data)
        # A request has a scope when its first byte is there, a cycle when its head is whole.
        if self.scope is None or (self.cycle is not None and self.cycle.scope is self.scope):
            self._head = 0
            return
        self._head += len(data)
        if self._head > MAX_HEAD:
            self._refuse(431)

    def _refuse(self, status: int) -> None:
        if self.transport.is_closing():
            return
        head = [b"HTTP/1.1 " + _STATUS[status], b"connection: close"]
        body = b""
        if status == 503:
            reply = problem_response(Overloaded("There are too many connections: try again later."))
            body = bytes(reply.body)
            head += [name + b": " + value for name, value in reply.raw_headers]
        else:
            head.append(b"content-length: 0")
        self.transport.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
        self.transport.close()


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
