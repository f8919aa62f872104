"""A watchdog that cuts PostgreSQL connections in use for too long, so that the waiting thread gets an error.

PostgreSQL itself ends statements that take too long (`engine.py`), but only while it runs and can be reached. Without
the watchdog, a thread would wait forever for one that is frozen or behind a network that drops packets.
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

_CHECK_SECONDS = 0.25


def watch(engine: Engine, seconds: float) -> None:
    """Limits every use of a connection of `engine` to `seconds`. Does nothing for SQLite."""
    if engine.dialect.name == "postgresql":
        _Watchdog(engine, seconds)


class _Watchdog:
    """Records which connections are in use, and since when; its thread cuts those in use for too long."""

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
        # The lock prevents that a socket is closed, and its number reused, while the thread cuts it.
        with self._lock:
            self._used.pop(connection, None)

    def _run(self) -> None:
        while not self._stopped.wait(_CHECK_SECONDS):
            late = time.monotonic() - self._seconds
            with self._lock:
                for connection, since in list(self._used.items()):
                    if since < late:
                        del self._used[connection]
                        _cut(connection)


def _cut(connection: Any) -> None:
    """Shuts down the TCP connection of a psycopg connection that another thread is waiting for.

    The connection may end meanwhile, in any state. Whatever that raises must not end the watchdog's thread.
    """
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.pgconn.socket)) as one:
        one.shutdown(socket.SHUT_RDWR)
