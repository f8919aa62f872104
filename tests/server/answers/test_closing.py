"""When a collection is closed, in Python and in SQL: both say the same wherever it is decided."""

from collections.abc import Iterator
from itertools import product

import pytest
from sqlalchemy import Engine, insert, select, text

from dither_client import Laplace
from dither_server.answers.closing import accepts_sql, is_closed, is_full
from dither_server.answers.rules import Arrival, Fate, Ingest
from dither_server.collections.institutions import Share, store_share
from dither_server.database.engine import make_engine, reading, writing
from dither_server.database.schema import collections
from dither_server.errors import CollectionClosed, CollectionPaused
from dither_server.tickets.packing import pack_query

AT = 1_800_000_000_000
GRID = list(product(("open", "paused", "closed"), (None, AT - 1, AT, AT + 1), (None, 1, 2)))
"""Stored states, closing times and maxima of collections, numbered from 1."""
QUERY = pack_query(Laplace(0, 1, 2, 1))


@pytest.fixture
def engine(migrated_url: str) -> Iterator[Engine]:
    """A database with a collection for each point of the grid."""
    engine = make_engine(migrated_url)
    rows = [
        {
            "id": str(number),
            "specification": "{}",
            "created_at": 0,
            "state": state,
            "closes_at": at,
            "max_answers": most,
        }
        for number, (state, at, most) in enumerate(GRID, 1)
    ]
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), rows)
    yield engine
    engine.dispose()


def numbers(closed: bool) -> set[int]:
    """The collections that are closed at `AT`, or are not, as Python has it."""
    return {number for number, (state, at, _) in enumerate(GRID, 1) if is_closed(state, at, AT) is closed}


def arrivals(first: int) -> list[Arrival]:
    return [
        Arrival((number, (first + number).to_bytes(20)), QUERY, 0, AT, False, 0, b"h" * 16)
        for number in range(1, len(GRID) + 1)
    ]


def test_what_closed_means() -> None:
    states = {(state, at): is_closed(state, at, AT) for state, at, _ in GRID}
    assert [place for place, closed in states.items() if not closed] == [
        ("open", None), ("open", AT + 1), ("paused", None), ("paused", AT + 1),
    ]  # fmt: skip
    assert [is_full(2, answers) for answers in (0, 1, 2, 3)] == [False, False, True, True]
    assert not is_full(None, 10**12)


def test_sql_has_the_same_rule(engine: Engine) -> None:
    with reading(engine).connect() as connection:
        found = connection.scalars(select(collections.c.number).where(text(accepts_sql(str(AT)))))
        assert set(found) == numbers(closed=False)


def test_answers_are_refused_by_it(engine: Engine) -> None:
    """Two each: the second is beyond a maximum of one."""
    ingest = Ingest()
    with writing(engine).begin() as connection:
        first = ingest.store(connection, arrivals(100)).fates
        second = ingest.store(connection, arrivals(200)).fates
    closed = numbers(closed=True)
    assert {number for number, fate in enumerate(first, 1) if fate is Fate.CLOSED} == closed
    assert {number for number, fate in enumerate(second, 1) if fate is Fate.CLOSED} == closed
    for number, (_, _, most) in enumerate(GRID, 1):
        if number not in closed:
            assert first[number - 1] is Fate.STORED
            assert second[number - 1] is (Fate.FULL if is_full(most, 1) else Fate.STORED)


def test_answers_that_are_stored_at_once_are_refused_by_it(migrated_postgres_url: str) -> None:
    engine = make_engine(migrated_postgres_url)
    rows = [
        {"id": str(i), "specification": "{}", "created_at": 0, "state": state, "closes_at": at}
        for i, (state, at, _) in enumerate(GRID)
    ]
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), rows)
    ingest = Ingest()
    with writing(engine).begin() as connection:
        stored = ingest.store(connection, arrivals(100))  # learns the queries' numbers, and which are plain
    ingest.committed(stored)
    later = arrivals(200)
    assert ingest.all_plain(later)
    with reading(engine).connect() as connection:
        fates = ingest.store_at_once(connection, later).fates
    engine.dispose()
    assert {number for number, fate in enumerate(fates, 1) if fate is Fate.CLOSED} == numbers(closed=True)
    assert {number for number, fate in enumerate(fates, 1) if fate is Fate.STORED} == numbers(closed=False)


def test_what_institutions_share_is_refused_by_it(engine: Engine) -> None:
    outcomes: dict[int, str] = {}
    with writing(engine).begin() as connection:
        for number in range(1, len(GRID) + 1):
            try:
                store_share(connection, number, Share("one", 9, (3,), AT))
                outcomes[number] = "stored"
            except (CollectionClosed, CollectionPaused) as refused:
                outcomes[number] = type(refused).__name__
    assert {number for number, outcome in outcomes.items() if outcome == "CollectionClosed"} == numbers(closed=True)
    paused = {number for number, (state, _, _) in enumerate(GRID, 1) if state == "paused"}
    assert {number for number, found in outcomes.items() if found == "CollectionPaused"} == paused - numbers(
        closed=True
    )
