"""A process's place among those on one database: a slot, kept by saying each second that the process is alive.

Who is alive decides who runs the particle systems (`leases.py`). The slot is only for speed: processes with slots of
their own have count rows of their own, and count rows of one slot add up whoever adds to them. Times are by the
database's clock, so that clocks of machines may differ. A database that is away for a while only means that the place
may be lost, and is taken anew.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, delete, not_, select, update

from dither_server.database.engine import database_time, insert_into
from dither_server.database.schema import replicas

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "Membership", "Transact", "alive_holders", "have_secret"]

T = TypeVar("T")
Transact = Callable[[Callable[[Connection], Any]], Any]
"""Runs a job in a transaction that may write, and returns its result."""

BEAT_SECONDS = 1.0
LEASE_SECONDS = 3.0
"""A process that has not been heard of for so long is taken for dead."""

_log = logging.getLogger(__name__)


class Membership:
    """Keeps a process's place. `took_slot` is told the slot, at first and whenever it is another."""

    def __init__(self, transact: Transact, took_slot: Callable[[int], None], fingerprint: str) -> None:
        self.holder = f"{secrets.token_hex(8)}-{fingerprint}"
        """The process's name in the database, which ends with the fingerprint of its secret."""
        self._transact = transact
        self._took_slot = took_slot
        self._slot: int | None = None
        self._beaten_at = -LEASE_SECONDS
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-membership", daemon=True)

    def start(self) -> None:
        """Takes a place, and starts the thread that keeps it. Raises what the database raises."""
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and gives up the place: nobody has to wait for its end."""
        self._stopped.set()
        self._thread.join()
        try:
            self._transact(lambda connection: _leave(connection, self.holder))
        except Exception as error:
            _log.warning("the place is left to expire", extra={"error": type(error).__name__})

    @property
    def slot(self) -> int | None:
        """The slot; None before there is one."""
        return self._slot

    @property
    def alive(self) -> bool:
        """Whether the database has been told lately that this process is alive."""
        return time.monotonic() < self._beaten_at + LEASE_SECONDS and not self._stopped.is_set()

    def _run(self) -> None:
        failing = False
        while not self._stopped.wait(BEAT_SECONDS):
            try:
                self._beat()
            except Exception as error:  # whatever it was, the next beat may go well
                if not failing:
                    _log.warning("the database does not hear this process", extra={"error": type(error).__name__})
                failing = True
            else:
                if failing:
                    _log.info("the database hears this process again")
                failing = False

    def _beat(self) -> None:
        began = time.monotonic()
        slot: int = self._transact(lambda connection: _beat(connection, self.holder))
        self._beaten_at = began
        if slot != self._slot:
            self._slot = slot
            self._took_slot(slot)


def alive_holders(connection: Connection) -> set[str]:
    """The names of the processes that are alive."""
    return set(connection.execute(select(replicas.c.holder).where(_alive(connection))).scalars())


def have_secret(connection: Connection, fingerprint: str) -> bool:
    """Whether all processes that are alive have the secret with this fingerprint, as far as their names tell."""
    names = (holder.partition("-") for holder in alive_holders(connection))
    return all(theirs in ("", fingerprint) for _, _, theirs in names)


def _beat(connection: Connection, holder: str) -> int:
    """Says that the process is alive, and returns its slot: that which it has, or the lowest that is free."""
    until = database_time(connection.dialect.name) + int(LEASE_SECONDS * 1000)
    kept = update(replicas).where(replicas.c.holder == holder).values(expires_at=until).returning(replicas.c.slot)
    slot = connection.execute(kept).scalar_one_or_none()
    if slot is not None:
        return int(slot)
    taken = set(connection.execute(select(replicas.c.slot).where(_alive(connection))).scalars())
    for slot in count():
        if slot in taken:
            continue
        claim = insert_into(connection.dialect.name, replicas).values(slot=slot, holder=holder, expires_at=until)
        # Of several that want one slot, one gets it; the others wait for that transaction and see the slot taken.
        claim = claim.on_conflict_do_update(
            index_elements=["slot"], set_={"holder": holder, "expires_at": until}, where=not_(_alive(connection))
        )
        if connection.execute(claim.returning(replicas.c.slot)).scalar_one_or_none() is not None:
            return slot
    raise AssertionError


def _leave(connection: Connection, holder: str) -> None:
    connection.execute(delete(replicas).where(replicas.c.holder == holder))


def _alive(connection: Connection) -> ColumnElement[bool]:
    """Whether a row of `replicas` is that of a process that is alive.

    A time beyond the lease is from before the database's clock was put back, and says nothing.
    """
    now = database_time(connection.dialect.name)
    return and_(replicas.c.expires_at > now, replicas.c.expires_at <= now + int(LEASE_SECONDS * 1000))
