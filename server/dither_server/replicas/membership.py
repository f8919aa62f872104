"""A process's membership among those on one database: a slot, which it keeps by a heartbeat each second.

- The processes that are alive share the particle systems (`leases.py`).
- The slot only serves speed: each slot has count rows of its own, so that processes rarely wait for each other. Counts
  stay right even if two processes add to the rows of one slot.
- Times are by the database's clock, so that the clocks of machines may differ.
- A process that cannot reach the database for a while may lose its slot, and then takes another.
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
"""A process without a heartbeat for this long counts as dead."""

_log = logging.getLogger(__name__)


class Membership:
    """Keeps a process's membership. `took_slot` is called with its first slot and with every later one."""

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
        """Takes a slot, and starts the thread that keeps it. Raises what the database raises."""
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and gives the slot up, so that other processes need not wait until it expires."""
        self._stopped.set()
        self._thread.join()
        try:
            self._transact(lambda connection: _leave(connection, self.holder))
        except Exception as error:
            _log.warning("the slot was not given up and will expire", extra={"error": type(error).__name__})

    @property
    def slot(self) -> int | None:
        """The process's slot; None before it has one."""
        return self._slot

    @property
    def alive(self) -> bool:
        """Whether this process has sent a heartbeat within `LEASE_SECONDS` and has not stopped."""
        return time.monotonic() < self._beaten_at + LEASE_SECONDS and not self._stopped.is_set()

    def _run(self) -> None:
        failing = False
        while not self._stopped.wait(BEAT_SECONDS):
            try:
                self._beat()
            except Exception as error:  # the next heartbeat may succeed
                if not failing:
                    _log.warning("heartbeats fail to reach the database", extra={"error": type(error).__name__})
                failing = True
            else:
                if failing:
                    _log.info("heartbeats reach the database again")
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
    """Whether every living process has the secret with this fingerprint, as far as their names tell."""
    names = (holder.partition("-") for holder in alive_holders(connection))
    return all(theirs in ("", fingerprint) for _, _, theirs in names)


def _beat(connection: Connection, holder: str) -> int:
    """Records a heartbeat, and returns the process's slot: the one that it has, or else the lowest free one."""
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
        # If several processes want a slot, one gets it; the others wait for its transaction and find the slot taken.
        claim = claim.on_conflict_do_update(
            index_elements=["slot"], set_={"holder": holder, "expires_at": until}, where=not_(_alive(connection))
        )
        if connection.execute(claim.returning(replicas.c.slot)).scalar_one_or_none() is not None:
            return slot
    raise AssertionError


def _leave(connection: Connection, holder: str) -> None:
    connection.execute(delete(replicas).where(replicas.c.holder == holder))


def _alive(connection: Connection) -> ColumnElement[bool]:
    """The condition that a row of `replicas` belongs to a living process.

    An expiry later than now plus the lease was written before the database's clock was set back, and does not count.
    """
    now = database_time(connection.dialect.name)
    return and_(replicas.c.expires_at > now, replicas.c.expires_at <= now + int(LEASE_SECONDS * 1000))
