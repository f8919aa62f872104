"""Processes on one database tell each other to look, so that learning need not wait for the next poll.

A notification says nothing but that there is something to read; the sender hears it as well. It may be lost: whoever
polls finds what there is, too. On PostgreSQL it is a `NOTIFY`; on SQLite, where all processes are on one machine, the
time of a file beside the database.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, text

from dither_server.database.engine import DATABASE_TROUBLE, reading

__all__ = ["FileNotifications", "Notifications", "PostgresNotifications", "notifications_of"]

_NOTIFY = text("NOTIFY dither")
_LISTEN = text("LISTEN dither")
_LOOK_SECONDS = 0.005
"""How often the file is looked at."""


class Notifications(Protocol):
    """What processes say to all of them, and hear. `send` is for any thread, the rest for one."""

    def send(self) -> None:
        """Tells every process to look. Does nothing where the database does not answer."""

    def wait(self, seconds: float) -> bool:
        """Whether a process said so; within `seconds`, perhaps sooner. Raises what the database raises."""

    def close(self) -> None:
        """Hears no more."""


class FileNotifications:
    """The time of `file`, in nanoseconds."""

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
            time.sleep(_LOOK_SECONDS)
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
    """`NOTIFY`, and a connection that listens once `wait` is called."""

    def __init__(self, engine: Engine) -> None:
        self._engine = reading(engine)
        self._listening: Connection | None = None

    def send(self) -> None:
        with suppress(*DATABASE_TROUBLE), self._engine.connect() as connection:
            connection.execute(_NOTIFY)

    def wait(self, seconds: float) -> bool:
        try:
            return bool(list(self._driver().notifies(timeout=seconds, stop_after=1)))
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
        """The driver's own connection, which listens."""
        if self._listening is None:
            listening = self._engine.connect()
            listening.execute(_LISTEN)
            listening.detach()  # it is not one for the pool, nor for those who look how long one is in use
            self._listening = listening
        return self._listening.connection.dbapi_connection


def notifications_of(engine: Engine) -> Notifications:
    """Those of the processes on the engine's database."""
    if engine.dialect.name == "postgresql":
        return PostgresNotifications(engine)
    return FileNotifications(Path(f"{engine.url.database}-notify"))
