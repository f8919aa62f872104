"""What was answered and what was learnt: the tables that one folder writes and others read.

The reads of `answers`, `counts`, `queries`, `history`, `misfit_looks` and `snapshots` are here, and so is what the
owner of the particle systems writes to the last three; `conduct.py` has those of the operating counts. Any other table
is read where it is written, within one folder: tokens and keys in `access`, leases in `replicas`, publications in
`owner`, collections and what institutions share in `collections`. What a transaction has to read before it stores an
answer (`answers.sql`) belongs to that transaction and is there. `purge.py` removes rows from every table.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Engine, func, select, text

from dither_estimator.checks.goodness_of_fit import Look
from dither_server.database.engine import insert_missing, replace_row
from dither_server.database.schema import (
    answers,
    counts,
    history,
    misfit_looks,
    queries,
    snapshots,
)
from dither_server.tickets.packing import NO_GROUP, NO_PERIOD, Purpose, query_id_of

__all__ = [
    "AnswerRow",
    "CountRow",
    "HistoryRow",
    "Store",
    "add_history",
    "add_look",
    "replace_snapshot",
]


@dataclass(frozen=True, slots=True)
class CountRow:
    """The number of times that one answer was given to one query."""

    query_id: str
    query: str
    """JSON."""
    answer: int
    count: int
    group: int = NO_GROUP
    """The number of the group that gave it."""
    period: int = NO_PERIOD
    """The number of the period in which it was asked for."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer, and the key of its ticket."""

    ticket: bytes
    query_id: str
    purpose: str
    answer: int
    received_at: int
    group: int = NO_GROUP
    """The number of the group that gave it."""
    period: int = NO_PERIOD
    """The number of the period in which it was asked for."""


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """The posterior after `answers` answers, and a question asked then. Texts are JSON."""

    answers: int
    at: int
    ess: float
    posterior: str
    query: str


class Store:
    """Reads of answers, counts, snapshots and histories; each method reads in a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def ping(self) -> None:
        """Raises what SQLAlchemy raises if the database does not answer."""
        with self._engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def total(self, collection: int) -> int:
        """The number of answers of a collection."""
        with self._engine.connect() as connection:
            found = select(func.coalesce(func.sum(counts.c.count), 0)).where(counts.c.collection == collection)
            return int(connection.execute(found).scalar_one())

    def totals(self, collections: Sequence[int] | None = None) -> dict[int, int]:
        """The number of answers by collection, for all or for those given; collections without answers are left out."""
        found = select(counts.c.collection, func.sum(counts.c.count)).group_by(counts.c.collection)
        if collections is not None:
            found = found.where(counts.c.collection.in_(collections))
        with self._engine.connect() as connection:
            return {number: int(total) for number, total in connection.execute(found)}

    def counts(self, collection: int, purpose: Purpose = "training") -> list[CountRow]:
        """The count table of a collection's answers for this purpose, summed over slots, in a fixed order.

        Where there are groups or periods, a query has rows for each group that answered it, or each period.
        """
        parts = (queries.c.group_number, queries.c.period_number)
        found = (
            select(queries.c.id, queries.c.query, counts.c.answer, func.sum(counts.c.count), *parts)
            .join_from(counts, queries, counts.c.query == queries.c.number)
            .where(counts.c.collection == collection, queries.c.purpose == purpose)
            .group_by(queries.c.number, queries.c.id, queries.c.query, *parts, counts.c.answer)
            .order_by(queries.c.number, counts.c.answer)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(found)
            return [CountRow(query_id_of(row[0]), row[1], row[2], int(row[3]), *row[4:]) for row in rows]

    def answers(
        self, collection: int, after: bytes, limit: int, before: bytes | None = None, received: range | None = None
    ) -> list[AnswerRow]:
        """Up to `limit` answers whose tickets come after `after`, in the order of the tickets.

        A reader that pages through all answers meets each answer stored before it started exactly once. With `before`,
        tickets come before it; with `received`, answers were received at one of these times.
        """
        columns = (answers.c.ticket, queries.c.id, queries.c.purpose, answers.c.answer, answers.c.received_at)
        found = (
            select(*columns, queries.c.group_number, queries.c.period_number)
            .join_from(answers, queries, answers.c.query == queries.c.number)
            .where(answers.c.collection == collection, answers.c.ticket > after)
            .order_by(answers.c.ticket)
            .limit(limit)
        )
        if before is not None:
            found = found.where(answers.c.ticket < before)
        if received is not None:
            found = found.where(answers.c.received_at >= received.start, answers.c.received_at < received.stop)
        with self._engine.connect() as connection:
            return [AnswerRow(row.ticket, query_id_of(row.id), *row[2:]) for row in connection.execute(found)]

    def history(self, collection: int) -> list[HistoryRow]:
        """The history of a collection's posterior, by number of answers."""
        columns = (history.c.answers, history.c.at, history.c.ess, history.c.posterior, history.c.query)
        found = select(*columns).where(history.c.collection == collection).order_by(history.c.answers)
        with self._engine.connect() as connection:
            return [HistoryRow(*row) for row in connection.execute(found)]

    def last_history(self, collection: int) -> int:
        """The number of answers at the last row of a collection's history; 0 if it has none."""
        found = select(func.coalesce(func.max(history.c.answers), 0)).where(history.c.collection == collection)
        with self._engine.connect() as connection:
            return int(connection.execute(found).scalar_one())

    def snapshot(self, collection: int) -> bytes | None:
        """The snapshot of a collection's particle system; None if it has none."""
        found = select(snapshots.c.content).where(snapshots.c.collection == collection)
        with self._engine.connect() as connection:
            content: bytes | None = connection.execute(found).scalar_one_or_none()
            return content

    def looks(self, collection: int) -> list[Look]:
        """The interim looks of a collection's goodness-of-fit check, in order."""
        with self._engine.connect() as connection:
            return _looks(connection, collection)


def add_look(connection: Connection, collection: int, look: Look, at: int) -> list[Look]:
    """Stores an interim look unless it was stored before, and returns all stored looks of the collection."""
    row = {"check_answers": look.check_answers, "answers": look.answers, "p_value": look.p_value, "at": at}
    insert_missing(connection, misfit_looks, {"collection": collection, "look": look.planned, **row})
    return _looks(connection, collection)


def _looks(connection: Connection, collection: int) -> list[Look]:
    columns = (misfit_looks.c.look, misfit_looks.c.check_answers, misfit_looks.c.answers, misfit_looks.c.p_value)
    found = select(*columns).where(misfit_looks.c.collection == collection).order_by(misfit_looks.c.look)
    return [Look(*row) for row in connection.execute(found)]


def replace_snapshot(connection: Connection, collection: int, answers: int, stored_at: int, content: bytes) -> None:
    """Replaces a collection's snapshot."""
    row = {"collection": collection, "answers": answers, "stored_at": stored_at, "content": content}
    replace_row(connection, snapshots, row)


def add_history(connection: Connection, collection: int, row: HistoryRow) -> None:
    """Adds a row to a collection's history; an existing row for the same number of answers is kept."""
    insert_missing(connection, history, {"collection": collection, **asdict(row)})
