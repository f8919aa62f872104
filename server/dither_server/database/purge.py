"""Removes a deleted collection for good, step by step, and leaves one row: the receipt of what went.

Each step is a transaction of a few thousand rows, so that nobody's answers wait long for it. The row of `deletions` is
made by the first step and counts what the others remove; whoever is killed in the middle, or does it at the same time,
spoils nothing: any process goes on from there. The receipt is written by the last step.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, delete, exists, func, insert, select, tuple_, update

from dither_server.database.engine import not_to_the_disk
from dither_server.database.schema import (
    answers,
    collections,
    counts,
    deletions,
    history,
    invitations,
    leases,
    member_counts,
    misfit_looks,
    publications,
    queries,
    refusals,
    snapshots,
    spent_tickets,
    tallies,
)
from dither_server.errors import NotDeleted

__all__ = ["Sign", "begin_purge", "drop_answers", "purge_step"]

_ROWS = 5_000
"""The most rows that a step removes."""
_TABLES_IN_STEPS = (answers, spent_tickets, invitations, tallies, history, refusals, misfit_looks, member_counts)
"""Tables of which a collection may have many rows, and which nothing refers to."""
_LAST = (leases, publications, snapshots, counts, *_TABLES_IN_STEPS)
"""Tables to empty with the collection's own row. The lease comes first: without it no owner writes any more. Large ones
may have got rows since: each answer has a count, so after the counts none can come."""
_CLOCKS = 120
"""Seconds by which an answer's time may lie before that of its ticket, since machines' clocks differ."""
_KINDS = {"spent_tickets": "used_tickets", "misfit_looks": "looks", "member_counts": "institutions"}

Sign = Callable[[Mapping[str, Any]], str]
"""Makes the receipt, a JSON text, of the facts of a deletion."""


def begin_purge(connection: Connection, number: int, by: str, at: int | None) -> None:
    """Begins to remove a deleted collection: from now on it cannot be restored.

    Raises `NotDeleted` unless it is deleted and, where `at` (milliseconds) is given, due to be removed by then.
    """
    found = select(collections).where(collections.c.number == number).with_for_update()
    row = connection.execute(found).one_or_none()
    if connection.execute(select(deletions.c.number).where(deletions.c.number == number)).first() is not None:
        return
    if row is None or row.deleted_at is None or (at is not None and at < row.purge_at):
        raise NotDeleted
    facts = {name: getattr(row, name) for name in ("number", "id", "created_at", "deleted_at", "deleted_by")}
    connection.execute(insert(deletions).values(**facts, purged_by=by, rows="{}"))


def purge_step(connection: Connection, number: int, at: int, sign: Sign) -> str | None:
    """Removes some more of a collection; returns the receipt once nothing of it is left."""
    row = connection.execute(select(deletions).where(deletions.c.number == number).with_for_update()).one()
    if row.receipt is not None:
        return str(row.receipt)
    removed = Counter(json.loads(row.rows))
    if _is_there(connection, number):
        for table in _TABLES_IN_STEPS:
            if gone := _remove_some(connection, table, number):
                not_to_the_disk(connection)
                removed[_kind(table)] += gone
                break
        else:
            _remove_last(connection, number, removed)
        _note(connection, number, rows=json.dumps(removed))
        return None
    if gone := _remove_queries(connection):
        _note(connection, number, rows=json.dumps(removed + Counter(queries=gone)))
        return None
    receipt = sign(
        {
            "collection": row.id,
            "created_at": row.created_at,
            "deleted_at": row.deleted_at,
            "deleted_by": row.deleted_by,
            "removed_at": at,
            "removed_by": row.purged_by,
            "rows": dict(sorted(removed.items())),
        }
    )
    _note(connection, number, receipt=receipt, rows=json.dumps(removed))
    return receipt


def _is_there(connection: Connection, number: int) -> bool:
    found = select(collections.c.number).where(collections.c.number == number)
    return connection.execute(found).first() is not None


def _remove_some(connection: Connection, table: Table, number: int) -> int:
    key = tuple(table.primary_key.columns)
    some = select(*key).where(table.c.collection == number).limit(_ROWS)
    return connection.execute(delete(table).where(table.c.collection == number, tuple_(*key).in_(some))).rowcount


def _remove_last(connection: Connection, number: int, removed: Counter[str]) -> None:
    """Removes the collection's own row, and every row that depends on it."""
    answered = select(func.coalesce(func.sum(counts.c.count), 0)).where(counts.c.collection == number)
    removed["counted_answers"] = int(connection.execute(answered).scalar_one())
    for table in _LAST:
        gone = connection.execute(delete(table).where(table.c.collection == number)).rowcount
        if gone:
            removed[_kind(table)] += gone
    removed["collections"] += connection.execute(delete(collections).where(collections.c.number == number)).rowcount


def _remove_queries(connection: Connection) -> int:
    """Removes some questions that no collection has asked, so far as is known; returns how many.

    The newest stays, or SQLite would give its number to another question, while processes still remember it.
    """
    used = (exists().where(table.c.query == queries.c.number) for table in (counts, tallies))
    newest = select(func.max(queries.c.number)).scalar_subquery()
    some = select(queries.c.number).where(queries.c.number < newest, *(~one for one in used)).limit(_ROWS)
    return connection.execute(delete(queries).where(queries.c.number.in_(some))).rowcount


def _note(connection: Connection, number: int, **values: Any) -> None:
    connection.execute(update(deletions).where(deletions.c.number == number).values(**values))


def _kind(table: Table) -> str:
    return _KINDS.get(table.name, table.name)


def drop_answers(connection: Connection, collection: int, received_before: int, most: int) -> int:
    """Drops up to `most` answers that came before that time (milliseconds), the oldest first; returns how many.

    Tickets begin with their time of issue, so only the oldest ones are looked at.
    """
    issued_before = max(received_before // 1000 + _CLOCKS, 0).to_bytes(4, "big")
    old = (
        select(answers.c.ticket)
        .where(
            answers.c.collection == collection,
            answers.c.ticket < issued_before,
            answers.c.received_at < received_before,
        )
        .order_by(answers.c.ticket)
        .limit(most)
    )
    return connection.execute(
        delete(answers).where(answers.c.collection == collection, answers.c.ticket.in_(old))
    ).rowcount
