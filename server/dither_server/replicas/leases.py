"""Leases, which decide which process runs which particle system: a collection's lease names the process that holds it.

- Every process computes the same owner for a collection by rendezvous hashing (Thaler & Ravishankar 1998). So
  collections are spread evenly, and few change owner when a process starts or stops.
- A holder that is not the owner gives the lease up. The owner takes it once no living process holds it.
- Each new holder has a higher term. A holder's writes commit only while its term lasts, which the same transaction
  checks.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, and_, bindparam, insert, or_, select, update

from dither_server.database.schema import leases
from dither_server.replicas.membership import alive_holders

__all__ = [
    "Lease",
    "LeaseLost",
    "Leases",
    "free_leases",
    "held",
    "insert_lease",
    "preferred",
    "read_leases",
    "take_leases",
]

T = TypeVar("T")


class LeaseLost(Exception):
    """Another process has taken over the collection."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a collection's particle system."""

    collection: int
    holder: str
    term: int


@dataclass(frozen=True, slots=True)
class Leases:
    """All leases as they were at one moment."""

    alive: frozenset[str]
    """The names of the processes that are alive."""
    held: Mapping[int, Lease]
    """The leases that living processes hold, by collection."""
    free: frozenset[int]
    """The collections whose lease no living process holds."""


def preferred(collection: int, holders: Iterable[str]) -> str:
    """The process among `holders` that should hold the collection's lease."""
    return max(holders, key=lambda holder: hashlib.sha256(f"{collection} {holder}".encode()).digest())


def read_leases(connection: Connection) -> Leases:
    """Reads all leases."""
    alive = alive_holders(connection)
    rows = connection.execute(select(leases.c.collection, leases.c.holder, leases.c.term)).all()
    held = {number: Lease(number, holder, term) for number, holder, term in rows if holder in alive}
    return Leases(frozenset(alive), held, frozenset(number for number, *_ in rows if number not in held))


def insert_lease(connection: Connection, collection: int, holder: str) -> None:
    """Inserts the lease of a collection that the same transaction creates."""
    connection.execute(insert(leases).values(collection=collection, holder=holder, term=1))


def take_leases(connection: Connection, wanted: Collection[int], holder: str) -> list[Lease]:
    """Takes the `wanted` leases that are free or whose holder is dead, and returns them."""
    alive = alive_holders(connection)
    if holder not in alive:
        return []
    free = select(leases.c.collection).where(
        leases.c.collection.in_(bindparam("wanted", expanding=True)),
        or_(leases.c.holder.is_(None), leases.c.holder.not_in(bindparam("alive", expanding=True))),
    )
    # Leases that a transaction is writing under are skipped rather than waited for: the next poll can take them.
    taking = update(leases).where(leases.c.collection.in_(free.with_for_update(skip_locked=True).scalar_subquery()))
    taken = connection.execute(
        taking.values(holder=holder, term=leases.c.term + 1).returning(leases.c.collection, leases.c.term),
        {"wanted": list(wanted), "alive": list(alive)},
    )
    return [Lease(collection, holder, term) for collection, term in taken]


def free_leases(connection: Connection, given_up: Iterable[Lease]) -> None:
    """Frees the given leases whose terms still last."""
    for lease in given_up:
        connection.execute(update(leases).where(_is(lease)).values(holder=None))


def held(lease: Lease, job: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Wraps `job` so that its transaction locks the lease until it ends, or raises `LeaseLost` if the lease is gone."""

    def run(connection: Connection) -> T:
        if connection.execute(select(leases.c.term).where(_is(lease)).with_for_update(read=True)).first() is None:
            raise LeaseLost
        return job(connection)

    return run


def _is(lease: Lease) -> ColumnElement[bool]:
    """The condition that a row of `leases` is this lease, and its term still lasts."""
    return and_(leases.c.collection == lease.collection, leases.c.holder == lease.holder, leases.c.term == lease.term)
