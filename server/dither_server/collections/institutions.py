"""Noisy counts of members, which each institution shares once; an institution is identified by its token."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Engine, func, select

from dither_client import InvalidQuery, MemberCounts
from dither_client.mechanisms.member_counts import MemberTable, member_table
from dither_server.answers.closing import is_closed
from dither_server.collections.collection import Collection
from dither_server.database.engine import insert_missing
from dither_server.database.schema import collections, member_counts
from dither_server.errors import (
    AlreadyShared,
    CollectionClosed,
    CollectionDeleted,
    CollectionPaused,
    InvalidAnswer,
    NoMemberCounts,
)

__all__ = ["Institutions", "Share", "check_share", "store_share", "table_of"]


@dataclass(frozen=True)
class Share:
    """The size and the noisy counts of one institution."""

    institution: str
    """The id of its token."""
    size: int
    counts: tuple[int, ...]
    received_at: int
    """Milliseconds."""


class Institutions:
    """Reads what institutions have shared; each method reads in a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def shares(self, collection: int) -> list[Share]:
        """The shares of a collection, in a fixed order."""
        with self._engine.connect() as connection:
            return _shares(connection, collection)

    def totals(self, collections: Sequence[int]) -> dict[int, int]:
        """The number of institutions that have shared, by collection; collections without any are left out."""
        if not collections:
            return {}
        of = member_counts.c.collection
        found = select(of, func.count()).where(of.in_(collections)).group_by(of)
        with self._engine.connect() as connection:
            return {number: int(total) for number, total in connection.execute(found)}


def check_share(collection: Collection, size: int, counts: Sequence[int]) -> None:
    """Raises `NoMemberCounts` or `InvalidAnswer` unless size and counts answer the collection's question."""
    question = _question(collection, size)
    if len(counts) != len(question.groups) or any(k > n for k, n in zip(counts, question.groups, strict=False)):
        raise InvalidAnswer(
            f"There must be {len(question.groups)} counts, one for each cut, none above the size of its group."
        )


def table_of(collection: Collection, shares: Sequence[Share]) -> MemberTable:
    """The shares as a table, which is all that the posterior uses of them."""
    return member_table((_question(collection, share.size), share.counts) for share in shares)


def store_share(connection: Connection, collection: int, share: Share) -> bool:
    """Stores a share in the connection's transaction; False if the same share was stored before.

    That holds whatever the collection's state is now. Raises `AlreadyShared` if another share was stored, else
    `CollectionClosed`, `CollectionDeleted` or `CollectionPaused` if the collection is.
    """
    if _stored(connection, collection, share):
        return False
    columns = (collections.c.state, collections.c.closes_at, collections.c.deleted_at)
    # The lock lasts until the commit, so that nothing is stored in a collection that has been closed.
    found = select(*columns).where(collections.c.number == collection).with_for_update(read=True)
    standing = connection.execute(found).one_or_none()
    if standing is None or standing.deleted_at is not None:
        raise CollectionDeleted
    state, closes_at, _ = standing
    if is_closed(state, closes_at, share.received_at):
        raise CollectionClosed
    if state == "paused":
        raise CollectionPaused("The collection is paused and accepts no counts of members: try again later.")
    row = {"collection": collection, **asdict(share), "counts": json.dumps(share.counts)}
    # The second of two concurrent requests waits here for the first one's transaction.
    return insert_missing(connection, member_counts, row) or not _stored(connection, collection, share)


def _stored(connection: Connection, collection: int, share: Share) -> bool:
    """Whether the same share is stored. Raises `AlreadyShared` if the institution has shared something else."""
    known = _shares(connection, collection, share.institution)
    if known and (known[0].size, known[0].counts) != (share.size, share.counts):
        raise AlreadyShared
    return bool(known)


def _shares(connection: Connection, collection: int, institution: str | None = None) -> list[Share]:
    table = member_counts.c
    found = select(table.institution, table.size, table.counts, table.received_at).where(table.collection == collection)
    if institution is not None:
        found = found.where(table.institution == institution)
    rows = connection.execute(found.order_by(table.institution))
    return [Share(name, size, tuple(json.loads(counts)), at) for name, size, counts, at in rows]


def _question(collection: Collection, size: int) -> MemberCounts:
    spec = collection.specification
    if spec.member_cuts is None:
        raise NoMemberCounts
    try:
        return MemberCounts(spec.member_cuts, size, spec.epsilon, spec.transform)
    except InvalidQuery as error:
        raise InvalidAnswer(f"size: {error}.") from None
