"""The SQL of `rules.py`: statements are built once for each kind of database, since they run for every few answers."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, literal, null, select
from sqlalchemy.exc import IntegrityError

from dither_server.answers.closing import accepts_sql
from dither_server.database.engine import driver_rows, insert_into
from dither_server.database.row_insert import SQLITE_ROWS, RowInsert
from dither_server.database.schema import answers, collections, counts, queries, spent_tickets
from dither_server.tickets.packing import group_of, period_of, purpose_of, row_id, unpack_query

__all__ = [
    "NOT_KEPT",
    "AnswerValues",
    "Key",
    "Rules",
    "StoredAnswer",
    "add_counts",
    "number_queries",
    "read_rules",
    "read_stored",
    "spend_tickets",
    "store_answers",
]

NOT_KEPT = -1
"""Stands for the answer to a used ticket of a collection that keeps no answers."""

Key = tuple[int, bytes]
"""A collection's number and the key of a ticket in it."""

AnswerValues = tuple[int, int, int, bytes | None]
"""An answer to store: its query's number, the answer, the time of receipt (milliseconds), and its key's hash."""

StoredAnswer = tuple[int, bytes | None]
"""The answer to a ticket, and the hash of the key that it was sent with; None without a key."""


@dataclass(frozen=True)
class Rules:
    """A collection's rules as read in this transaction."""

    state: str
    closes_at: int | None
    max_answers: int | None
    total: int
    """The number of answers so far; 0 without a maximum."""
    keep_answers: bool
    deleted: bool


_GONE = Rules("closed", None, None, 0, True, True)
"""The rules of a collection of which nothing is left."""

_NEW_ANSWERS = RowInsert(
    "answers",
    (
        ("collection", "integer"),
        ("ticket", "bytea"),
        ("query", "integer"),
        ("answer", "smallint"),
        ("received_at", "bigint"),
        ("retry_hash", "bytea"),
    ),
    "",
)
_ANSWERS = replace(_NEW_ANSWERS, clause="ON CONFLICT (collection, ticket) DO NOTHING RETURNING collection, ticket")
_COUNTS = RowInsert(
    "counts",
    (
        ("collection", "integer"),
        ("query", "integer"),
        ("answer", "smallint"),
        ("slot", "smallint"),
        ("count", "bigint"),
    ),
    "ON CONFLICT (collection, query, answer, slot) DO UPDATE SET count = counts.count + excluded.count",
)


_STORE_ON_POSTGRES = f"""
    WITH given AS (
        SELECT * FROM unnest(%s::integer[], %s::bytea[], %s::integer[], %s::smallint[], %s::bigint[], %s::bytea[])
            AS given (collection, ticket, query, answer, received_at, retry_hash)
    ), new AS (
        INSERT INTO answers (collection, ticket, query, answer, received_at, retry_hash)
        SELECT given.* FROM given JOIN collections ON collections.number = given.collection
        WHERE {accepts_sql("given.received_at")} ORDER BY collection, ticket
        ON CONFLICT (collection, ticket) DO NOTHING RETURNING collection, ticket, query, answer
    ), counted AS (
        INSERT INTO counts (collection, query, answer, slot, count)
        SELECT collection, query, answer, %s::smallint, count(*) FROM new
        GROUP BY collection, query, answer ORDER BY collection, query, answer
        ON CONFLICT (collection, query, answer, slot) DO UPDATE SET count = counts.count + excluded.count
    )
    SELECT collection, ticket FROM given EXCEPT ALL SELECT collection, ticket FROM new"""
"""It returns the keys of what was not stored, which is nearly always nothing: reading keys takes time."""
_RULES = "SELECT state, closes_at, max_answers, keep_answers, deleted_at FROM collections WHERE number"


@dataclass(frozen=True)
class _Statements:
    locked_rules: Select[Any]
    totals: Select[Any]
    stored: Select[Any]
    spent: Select[Any]
    spend_tickets: Any
    insert_queries: Any
    query_numbers: Select[Any]


def read_rules(connection: Connection, numbers: Iterable[int]) -> dict[int, Rules]:
    """The rules of the collections with these numbers. One with a maximum stays locked until the transaction ends."""
    statements = _statements(connection.dialect.name)
    rules: dict[int, Rules] = {}
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    for number in numbers:
        rules[number] = _GONE
        for state, closes_at, most, keep, deleted_at in driver_rows(connection, f"{_RULES} = {mark}", (number,)):
            rules[number] = Rules(state, closes_at, most, 0, bool(keep), deleted_at is not None)
    limited = [number for number, rule in rules.items() if rule.max_answers is not None]
    if limited:
        locked = connection.execute(statements.locked_rules, {"numbers": limited}).all()
        totals = {number: int(total) for number, total in connection.execute(statements.totals, {"numbers": limited})}
        rules |= dict.fromkeys(limited, _GONE)
        for number, state, closes_at, most, keep, deleted_at in locked:
            rules[number] = Rules(state, closes_at, most, totals.get(number, 0), keep, deleted_at is not None)
    return rules


def read_stored(connection: Connection, keys: Iterable[Key], rules: Mapping[int, Rules]) -> dict[Key, StoredAnswer]:
    """The answers stored under `keys`; `NOT_KEPT` if a collection keeps none."""
    tickets: defaultdict[int, list[bytes]] = defaultdict(list)
    for collection, ticket in keys:
        tickets[collection].append(ticket)
    statements = _statements(connection.dialect.name)
    stored: dict[Key, StoredAnswer] = {}
    for collection, some in tickets.items():
        wanted = statements.stored if rules[collection].keep_answers else statements.spent
        found = connection.execute(wanted, {"collection": collection, "tickets": some})
        stored |= {(collection, ticket): (answer, retry_hash) for ticket, answer, retry_hash in found}
    return stored


def store_answers(connection: Connection, slot: int, rows: Mapping[Key, AnswerValues]) -> set[Key]:
    """Stores and counts the rows whose ticket has no answer yet, and returns their keys.

    On PostgreSQL, it is one statement, which stores nothing in closed collections.
    """
    if not rows:
        return set()
    # In the order of the index, so that neighbours are written together.
    values = sorted([(*key, *row) for key, row in rows.items()])
    if connection.dialect.name == "postgresql":
        # One statement for both, since each is a message to the database and one back while all answers wait.
        return set(rows).difference(driver_rows(connection, _STORE_ON_POSTGRES, (*_NEW_ANSWERS.arrays(values), slot)))
    new = _insert_on_sqlite(connection, values)
    add_counts(connection, slot, _tally(rows, new))
    return new


def _insert_on_sqlite(connection: Connection, values: Sequence[tuple[Any, ...]]) -> set[Key]:
    """Inserts the rows of tickets that have no answer yet, and returns their keys.

    Nearly always that is every row, and to have each returned would take as long as to insert it. A statement that
    fails leaves nothing behind, so the rows of one with a used ticket are inserted by the other statement.
    """
    new: set[Key] = set()
    for at in range(0, len(values), SQLITE_ROWS):
        part = values[at : at + SQLITE_ROWS]
        try:
            _NEW_ANSWERS.execute(connection, part)
            new.update([row[:2] for row in part])
        except IntegrityError:
            new.update(_ANSWERS.execute(connection, part))
    return new


def spend_tickets(connection: Connection, slot: int, rows: Mapping[Key, AnswerValues]) -> set[Key]:
    """Counts the rows of collections that keep no answers, if their ticket is unused, and returns their keys."""
    values = [{"collection": collection, "ticket": ticket} for collection, ticket in sorted(rows)]
    if not values:
        return set()
    inserted = connection.execute(_statements(connection.dialect.name).spend_tickets, values)
    new = {(collection, ticket) for collection, ticket in inserted}
    add_counts(connection, slot, _tally(rows, new))
    return new


def number_queries(connection: Connection, wanted: Iterable[bytes]) -> dict[bytes, int]:
    """Row numbers of packed queries, inserted if missing.

    A query has one row for each purpose, group and period.
    """
    unpacked = {packed: unpack_query(packed) for packed in wanted}
    if not unpacked:
        return {}
    by_name = {
        (row_id(query.id, group_of(packed), period_of(packed)), purpose_of(packed)): packed
        for packed, query in unpacked.items()
    }
    statements = _statements(connection.dialect.name)
    rows = [
        {
            "id": name,
            "query": json.dumps(unpacked[packed].to_json(), allow_nan=False),
            "purpose": purpose,
            "group_number": group_of(packed),
            "period_number": period_of(packed),
        }
        for (name, purpose), packed in sorted(by_name.items())
    ]
    connection.execute(statements.insert_queries, rows)
    found = connection.execute(statements.query_numbers, {"ids": sorted({name for name, _ in by_name})})
    return {by_name[name, purpose]: number for name, purpose, number in found if (name, purpose) in by_name}


def add_counts(connection: Connection, slot: int, tally: Mapping[tuple[int, int, int], int]) -> None:
    """Adds `tally`, by collection, query and answer, to the counts."""
    # In one order everywhere, so that processes that share rows cannot block each other in a circle.
    _COUNTS.execute(connection, sorted((*place, slot, count) for place, count in tally.items()))


def _tally(rows: Mapping[Key, AnswerValues], new: Iterable[Key]) -> Counter[tuple[int, int, int]]:
    return Counter((key[0], *rows[key][:2]) for key in new)


@cache
def _statements(dialect: str) -> _Statements:
    row = collections.c
    limited = select(row.number, row.state, row.closes_at, row.max_answers, row.keep_answers, row.deleted_at).where(
        row.number.in_(bindparam("numbers", expanding=True))
    )
    stored, spent = (
        select(table.c.ticket, *kept).where(
            table.c.collection == bindparam("collection"), table.c.ticket.in_(bindparam("tickets", expanding=True))
        )
        for table, kept in (
            (answers, (answers.c.answer, answers.c.retry_hash)),
            (spent_tickets, (literal(NOT_KEPT), null())),
        )
    )
    totals = select(counts.c.collection, func.sum(counts.c.count)).where(
        counts.c.collection.in_(bindparam("numbers", expanding=True))
    )
    spend = insert_into(dialect, spent_tickets).on_conflict_do_nothing(index_elements=["collection", "ticket"])
    return _Statements(
        # Rows that refer to the collection may be added meanwhile: a tally waits for nobody who may wait for it.
        locked_rules=limited.order_by(row.number).with_for_update(key_share=True),
        totals=totals.group_by(counts.c.collection),
        stored=stored,
        spent=spent,
        spend_tickets=spend.returning(spent_tickets.c.collection, spent_tickets.c.ticket),
        insert_queries=insert_into(dialect, queries).on_conflict_do_nothing(index_elements=["id", "purpose"]),
        query_numbers=select(queries.c.id, queries.c.purpose, queries.c.number).where(
            queries.c.id.in_(bindparam("ids", expanding=True))
        ),
    )
