"""Transactions with PostgreSQL that do not end: their connections are cut, and whoever waits gets an error.

PostgreSQL itself ends statements that take too long (`database.py`), but only while it runs and can be reached. One
that is frozen, or behind a network that swallows packets, would be waited for without end.
"""

import contextlib
import os
import socket
import threading
import time
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["watch"]

_LOOK_SECONDS = 0.25


def watch(engine: Engine, seconds: float) -> None:
    """From now on no connection of `engine` is in use for longer than `seconds`. Nothing is done for SQLite."""
    if engine.dialect.name == "postgresql":
        _Watchdog(engine, seconds)


class _Watchdog:
    """Knows which connections are in use, and since when; one thread looks at them."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._used: dict[Any, float] = {}
        self._stopped = threading.Event()
        event.listen(engine, "checkout", self._take)
        event.listen(engine, "checkin", self._leave)
        event.listen(engine, "invalidate", self._leave)
        event.listen(engine, "detach", self._leave)
        event.listen(engine, "engine_disposed", lambda engine: self._stopped.set())
        threading.Thread(target=self._run, name="dither-watchdog", daemon=True).start()

    def _take(self, connection: Any, entry: ConnectionPoolEntry, proxy: object) -> None:
        with self._lock:
            self._used[connection] = time.monotonic()

    def _leave(self, connection: Any, entry: ConnectionPoolEntry, error: object = None) -> None:
        # Under the lock, so that a socket is not closed, and its number given to another, while it is being cut.
        with self._lock:
            self._used.pop(connection, None)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            late = time.monotonic() - self._seconds
            with self._lock:
                for connection, since in list(self._used.items()):
                    if since < late:
                        del self._used[connection]
                        _cut(connection)


def _cut(connection: Any) -> None:
    """Ends the TCP connection below a connection of psycopg, which another thread is waiting for."""
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.pgconn.socket)) as one:
        one.shutdown(socket.SHUT_RDWR)
