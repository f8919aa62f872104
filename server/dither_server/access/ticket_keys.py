"""The ticket keys in the database: read regularly, and extended by the next key when it is time.

Any process may create the next key. If two do so at once, both insert the same number, and one insert succeeds.
"""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Engine, select

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, iso_time
from dither_server.database.engine import insert_missing
from dither_server.database.refreshed import Refreshed
from dither_server.database.schema import ticket_keys
from dither_server.tickets.key_ring import KeyRing, TicketKey
from dither_server.tickets.office import TicketOffice

__all__ = ["TicketKeys"]


class TicketKeys:
    """Reads the keys, passes them to a ticket office, and creates the next key when it is due."""

    def __init__(self, engine: Engine, writer: Writer, office: TicketOffice, clock: Clock) -> None:
        self._engine = engine
        self._writer = writer
        self._office = office
        self._clock = clock
        self._ring = KeyRing([], 0)
        self._refreshed = Refreshed(self._read)
        self.refresh()

    def refresh(self) -> None:
        """Reads the keys from the database."""
        self._refreshed.refresh()

    def make_next(self) -> None:
        """Creates the next key if it is due."""
        now = self._clock()
        if self._ring.due(now):
            self._make(self._ring.following(now))

    def rotate(self) -> None:
        """Creates the next key now, unless one is pending; it signs as soon as every process knows it."""
        self.refresh()
        now = self._clock()
        if self._ring.state(self._ring.keys[-1], now) != "pending":
            self._make(self._ring.following(now))

    def list(self) -> list[dict[str, Any]]:
        """The keys as JSON objects, oldest first."""
        ring, now = self._ring, self._clock()
        return [_to_json(ring, key, now) for key in ring.keys]

    @property
    def fresh(self) -> bool:
        """Whether this process knows every key that any process may sign with."""
        return self._ring.fresh(self._clock())

    def _make(self, key: TicketKey) -> None:
        self._writer.submit(lambda connection: insert_missing(connection, ticket_keys, asdict(key))).result()
        self.refresh()

    def _read(self) -> None:
        now = self._clock()
        columns = (ticket_keys.c.number, ticket_keys.c.created_at, ticket_keys.c.signs_from)
        with self._engine.connect() as connection:
            self._ring = KeyRing([TicketKey(*row) for row in connection.execute(select(*columns))], now)
        self._office.use(self._ring)


def _to_json(ring: KeyRing, key: TicketKey, now: float) -> dict[str, Any]:
    last = ring.last_expiry(key.number)
    return {
        "number": key.number,
        "state": ring.state(key, now),
        "created_at": iso_time(key.created_at),
        "signs_from": iso_time(key.signs_from),
        "counts_until": None if last is None else iso_time(last * 1000),
    }
