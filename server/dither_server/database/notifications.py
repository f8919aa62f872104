"""Notifications between the processes on one database, so that learning need not wait for the next poll.

A notification says only that there is something new to read. A lost one does no harm, since polling finds the same
news. On PostgreSQL it is a `NOTIFY`, whose sender does not hear it. On SQLite, where all processes are on one machine,
it is a change of the modification time of a file beside the database, which its sender hears as well.
"""

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, text

from dither_server.database.engine import DATABASE_TROUBLE, reading

__all__ = ["FileNotifications", "Notifications", "PostgresNotifications", "notifications_of"]

_NOTIFY = text("SELECT pg_notify('dither', :sender)")
_LISTEN = text("LISTEN dither")
_FILE_CHECK_SECONDS = 0.005
"""Time between two checks of the file."""


class Notifications(Protocol):
    """A channel between all processes on a database. Any thread may call `send`, and one thread the rest."""

    def send(self) -> None:
        """Notifies every process. Does nothing if the database does not answer."""

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds` for a notification, and returns whether one came. Raises what the database raises."""

    def close(self) -> None:
        """Stops listening."""


class FileNotifications:
    """Notifies by the modification time of `file`, in nanoseconds."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._heard = self._time()

    def send(self) -> None:
        with suppress(OSError):
            os.close(os.open(self._file, os.O_CREAT | os.O_WRONLY, 0o600))
            os.utime(self._file)

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (now := self._time()) == self._heard:
            if time.monotonic() >= until:
                return False
            time.sleep(_FILE_CHECK_SECONDS)
        self._heard = now
        return True

    def close(self) -> None:
        pass

    def _time(self) -> int:
        try:
            return self._file.stat().st_mtime_ns
        except OSError:
            return 0


class PostgresNotifications:
    """Notifies by `NOTIFY`, and opens a connection that listens at the first `wait`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = reading(engine)
        self._sender = secrets.token_hex(8)
        self._listening: Connection | None = None

    def send(self) -> None:
        with suppress(*DATABASE_TROUBLE), self._engine.connect() as connection:
            connection.execute(_NOTIFY, {"sender": self._sender})

    def wait(self, seconds: float) -> bool:
        try:
            heard = list(self._driver().notifies(timeout=seconds, stop_after=1))
            return any(notification.payload != self._sender for notification in heard)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._listening is not None:
            self._driver().close()
            self._listening.invalidate()
            self._listening.close()
            self._listening = None

    def _driver(self) -> Any:
        """The driver's connection, which listens."""
        if self._listening is None:
            listening = self._engine.connect()
            listening.execute(_LISTEN)
            listening.detach()  # so that it leaves the pool, and the watchdog does not time it
            self._listening = listening
        return self._listening.connection.dbapi_connection


def notifications_of(engine: Engine) -> Notifications:
    """The notifications between the processes on the engine's database."""
    if engine.dialect.name == "postgresql":
        return PostgresNotifications(engine)
    return FileNotifications(Path(f"{engine.url.database}-notify"))
