"""What institutions share: noisy counts of their members, once each, an institution being whoever holds a token."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, func, select

from dither_client import InvalidQuery, MemberCounts
from dither_client.mechanisms.member_counts import MemberTable, member_table
from dither_server.answers.closing import is_closed
from dither_server.collections.collections import Collection
from dither_server.database.engine import insert_into
from dither_server.database.schema import collections, member_counts
from dither_server.errors import AlreadyShared, CollectionClosed, CollectionPaused, InvalidAnswer, NoMemberCounts

__all__ = ["Institutions", "Share", "check_share", "store_share", "table_of"]


@dataclass(frozen=True)
class Share:
    """One institution's size and noisy counts."""

    institution: str
    """The id of its token."""
    size: int
    counts: tuple[int, ...]
    received_at: int
    """Milliseconds."""


class Institutions:
    """Reads, each in a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def shares(self, collection: int) -> list[Share]:
        """What was shared with a collection, in a fixed order."""
        with self._engine.connect() as connection:
            return _shares(connection, collection)

    def totals(self, collections: Sequence[int]) -> dict[int, int]:
        """How many institutions have shared with each of some collections; those with none are left out."""
        of = member_counts.c.collection
        found = select(of, func.count()).where(of.in_(collections)).group_by(of)
        with self._engine.connect() as connection:
            return {number: int(total) for number, total in connection.execute(found)}


def check_share(collection: Collection, size: int, counts: Sequence[int]) -> None:
    """Raises `NoMemberCounts` or `InvalidAnswer` unless counts and size answer the collection's question."""
    question = _question(collection, size)
    if len(counts) != len(question.groups) or any(k > n for k, n in zip(counts, question.groups, strict=False)):
        raise InvalidAnswer(
            f"There must be {len(question.groups)} counts, one for each cut, none above its group's number of members."
        )


def table_of(collection: Collection, shares: Sequence[Share]) -> MemberTable:
    """All that a posterior takes from shares."""
    return member_table((_question(collection, share.size), share.counts) for share in shares)


def store_share(connection: Connection, collection: int, share: Share) -> bool:
    """Stores a share in the connection's transaction; False if the same was stored before.

    What is stored settles it, whatever has become of the collection since. Raises `AlreadyShared` if that is another
    one, `CollectionClosed` and `CollectionPaused`.
    """
    if _stored(connection, collection, share):
        return False
    columns = (collections.c.state, collections.c.closes_at)
    # Locked until the end, so that nothing is stored in a collection that is closed by then.
    found = select(*columns).where(collections.c.number == collection).with_for_update(read=True)
    state, closes_at = connection.execute(found).one()
    if is_closed(state, closes_at, share.received_at):
        raise CollectionClosed
    if state == "paused":
        raise CollectionPaused("The collection is paused and takes no members' counts: try again later.")
    row = {"size": share.size, "counts": json.dumps(share.counts), "received_at": share.received_at}
    insert = insert_into(connection.dialect.name, member_counts).on_conflict_do_nothing(
        index_elements=["collection", "institution"]
    )
    values = insert.values(collection=collection, institution=share.institution, **row)
    # Of two requests at once, the second one waits here for the first one's transaction.
    return bool(connection.execute(values).rowcount) or not _stored(connection, collection, share)


def _stored(connection: Connection, collection: int, share: Share) -> bool:
    """Whether the same is stored. Raises `AlreadyShared` if the institution has shared something else."""
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
