"""Who runs which particle system: one row for each collection names a process, which holds it while it is alive.

Whom a collection belongs to is the same computation everywhere (rendezvous hashing: Thaler & Ravishankar 1998), so that
collections are spread evenly and few move when a process comes or goes. A holder that a collection does not belong to
gives it up; whom it belongs to takes it once nobody alive holds it. Each new holder has a higher term, and what a
holder writes is written only while its term lasts, in the same transaction.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, bindparam, insert, or_, select, update

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
    """All leases as they were at one time."""

    alive: frozenset[str]
    """The processes that are alive."""
    held: Mapping[int, Lease]
    """By collection; those that nobody alive holds are left out."""
    free: frozenset[int]
    """The collections of the others."""


def preferred(collection: int, holders: Iterable[str]) -> str:
    """Which of the processes the collection belongs to."""
    return max(holders, key=lambda holder: hashlib.sha256(f"{collection} {holder}".encode()).digest())


def read_leases(connection: Connection) -> Leases:
    """All leases."""
    alive = alive_holders(connection)
    rows = connection.execute(select(leases.c.collection, leases.c.holder, leases.c.term)).all()
    held = {number: Lease(number, holder, term) for number, holder, term in rows if holder in alive}
    return Leases(frozenset(alive), held, frozenset(number for number, *_ in rows if number not in held))


def insert_lease(connection: Connection, collection: int, holder: str) -> None:
    """The lease of a collection that is made in the same transaction."""
    connection.execute(insert(leases).values(collection=collection, holder=holder, term=1))


def take_leases(connection: Connection, wanted: Collection[int], holder: str) -> list[Lease]:
    """Takes those of the leases that are free or whose holder is dead, and returns them."""
    alive = alive_holders(connection)
    if holder not in alive:
        return []
    free = select(leases.c.collection).where(
        leases.c.collection.in_(bindparam("wanted", expanding=True)),
        or_(leases.c.holder.is_(None), leases.c.holder.not_in(bindparam("alive", expanding=True))),
    )
    # A lease under which something is being written is not waited for: it can be taken a moment later.
    taking = update(leases).where(leases.c.collection.in_(free.with_for_update(skip_locked=True).scalar_subquery()))
    taken = connection.execute(
        taking.values(holder=holder, term=leases.c.term + 1).returning(leases.c.collection, leases.c.term),
        {"wanted": list(wanted), "alive": list(alive)},
    )
    return [Lease(collection, holder, term) for collection, term in taken]


def free_leases(connection: Connection, given_up: Iterable[Lease]) -> None:
    """Frees those of the leases that still last."""
    for lease in given_up:
        connection.execute(
            update(leases)
            .where(
                leases.c.collection == lease.collection, leases.c.holder == lease.holder, leases.c.term == lease.term
            )
            .values(holder=None)
        )


def held(lease: Lease, job: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """`job`, to be run in a transaction that holds the lease till it ends; raises `LeaseLost` if another has it."""

    def run(connection: Connection) -> T:
        row = select(leases.c.term).where(
            leases.c.collection == lease.collection, leases.c.holder == lease.holder, leases.c.term == lease.term
        )
        if connection.execute(row.with_for_update(read=True)).first() is None:
            raise LeaseLost
        return job(connection)

    return run
