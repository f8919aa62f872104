"""The SQL of `ingest.py`: statements are built once for each kind of database, since they run for every few answers."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from dither_client import Query
from dither_server.database import insert_into
from dither_server.packing import Purpose
from dither_server.schema import answers, collections, counts, queries

__all__ = [
    "AnswerValues",
    "Asked",
    "Key",
    "Rules",
    "add_counts",
    "insert_answers",
    "number_queries",
    "read_rules",
    "read_stored",
]

Key = tuple[int, bytes]
"""A collection's number and the key of a ticket in it."""

Asked = tuple[Query, Purpose]
"""A query and what its answers are for: answers for different purposes are counted apart."""

AnswerValues = tuple[int, int, int]
"""Of an answer to be stored: its query's number, the answer, and when it was received (milliseconds)."""


@dataclass(frozen=True)
class Rules:
    """A collection's rules as they are in this transaction."""

    state: str
    closes_at: int | None
    max_answers: int | None
    total: int
    """Answers so far; 0 where there is no maximum."""


@dataclass(frozen=True)
class _Statements:
    rules: Select[Any]
    locked_rules: Select[Any]
    totals: Select[Any]
    stored: Select[Any]
    insert_answers: Any
    insert_queries: Any
    query_numbers: Select[Any]
    add_counts: Any


def read_rules(connection: Connection, numbers: Iterable[int]) -> dict[int, Rules]:
    """The rules of the collections with these numbers. One with a maximum stays locked until the transaction ends."""
    statements = _statements(connection.dialect.name)
    found = connection.execute(statements.rules, {"numbers": list(numbers)})
    rules = {number: Rules(state, closes_at, most, 0) for number, state, closes_at, most in found}
    limited = [number for number, rule in rules.items() if rule.max_answers is not None]
    if limited:
        locked = connection.execute(statements.locked_rules, {"numbers": limited}).all()
        totals = {number: int(total) for number, total in connection.execute(statements.totals, {"numbers": limited})}
        rules |= {n: Rules(state, closes_at, most, totals.get(n, 0)) for n, state, closes_at, most in locked}
    return rules


def read_stored(connection: Connection, keys: Iterable[Key]) -> dict[Key, int]:
    """The answers that are stored under `keys`."""
    tickets: defaultdict[int, list[bytes]] = defaultdict(list)
    for collection, ticket in keys:
        tickets[collection].append(ticket)
    stored: dict[Key, int] = {}
    for collection, some in tickets.items():
        values = {"collection": collection, "tickets": some}
        found = connection.execute(_statements(connection.dialect.name).stored, values)
        stored |= {(collection, ticket): answer for ticket, answer in found}
    return stored


def insert_answers(connection: Connection, rows: Mapping[Key, AnswerValues]) -> set[Key]:
    """Stores the rows whose ticket has no answer yet, and returns their keys."""
    if not rows:
        return set()
    values = [
        {"collection": collection, "ticket": ticket, "query": query, "answer": answer, "received_at": received_at}
        for (collection, ticket), (query, answer, received_at) in sorted(rows.items())
    ]
    inserted = connection.execute(_statements(connection.dialect.name).insert_answers, values)
    return {(collection, ticket) for collection, ticket in inserted}


def number_queries(connection: Connection, wanted: Iterable[Asked]) -> dict[Asked, int]:
    """Row numbers of queries asked for a purpose, which get a row if they have none."""
    by_name = {(query.id, purpose): (query, purpose) for query, purpose in wanted}
    if not by_name:
        return {}
    statements = _statements(connection.dialect.name)
    rows = [
        {"id": name, "query": _json(query), "purpose": purpose}
        for (name, purpose), (query, _) in sorted(by_name.items(), key=lambda item: item[0])
    ]
    connection.execute(statements.insert_queries, rows)
    found = connection.execute(statements.query_numbers, {"ids": sorted({name for name, _ in by_name})})
    return {by_name[name, purpose]: number for name, purpose, number in found if (name, purpose) in by_name}


def add_counts(connection: Connection, slot: int, tally: Mapping[tuple[int, int, int], int]) -> None:
    """Adds to the counts; `tally` is by collection, query and answer."""
    if not tally:
        return
    # In one order everywhere, so that processes that share rows cannot block each other in a circle.
    rows = [
        {"collection": collection, "query": query, "answer": answer, "slot": slot, "count": count}
        for (collection, query, answer), count in sorted(tally.items())
    ]
    connection.execute(_statements(connection.dialect.name).add_counts, rows)


@cache
def _statements(dialect: str) -> _Statements:
    columns = (collections.c.number, collections.c.state, collections.c.closes_at, collections.c.max_answers)
    rules = select(*columns).where(collections.c.number.in_(bindparam("numbers", expanding=True)))
    stored = select(answers.c.ticket, answers.c.answer).where(
        answers.c.collection == bindparam("collection"), answers.c.ticket.in_(bindparam("tickets", expanding=True))
    )
    totals = select(counts.c.collection, func.sum(counts.c.count)).where(
        counts.c.collection.in_(bindparam("numbers", expanding=True))
    )
    new_answers = insert_into(dialect, answers).on_conflict_do_nothing(index_elements=["collection", "ticket"])
    more = insert_into(dialect, counts)
    return _Statements(
        rules=rules,
        locked_rules=rules.order_by(collections.c.number).with_for_update(),
        totals=totals.group_by(counts.c.collection),
        stored=stored,
        insert_answers=new_answers.returning(answers.c.collection, answers.c.ticket),
        insert_queries=insert_into(dialect, queries).on_conflict_do_nothing(index_elements=["id", "purpose"]),
        query_numbers=select(queries.c.id, queries.c.purpose, queries.c.number).where(
            queries.c.id.in_(bindparam("ids", expanding=True))
        ),
        add_counts=more.on_conflict_do_update(
            index_elements=["collection", "query", "answer", "slot"],
            set_={"count": counts.c.count + more.excluded.count},
        ),
    )


def _json(query: Query) -> str:
    return json.dumps(query.to_json(), allow_nan=False)
