import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, func, insert, select, text

from dither_client import Laplace
from dither_server.answers import writer as writer_module
from dither_server.answers.rules import Arrival, Fate, Ingest, Stored
from dither_server.answers.writer import MAX_ROWS, Writer
from dither_server.database.engine import make_engine, reading, upgrade, writing
from dither_server.database.schema import answers, collections
from dither_server.errors import NotFound, Overloaded, Unavailable
from dither_server.metrics import Metrics
from dither_server.tickets.packing import pack_query
from testing.databases import check_counts
from testing.patience import PATIENCE

QUERY = pack_query(Laplace(0, 1, 2, 1))


def arrivals(count: int) -> list[Arrival]:
    return [Arrival((1, os.urandom(20)), QUERY, 0, 0, False, 0, b"h" * 16) for _ in range(count)]


class CountingIngest(Ingest):
    """Keeps the sizes of the transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def store(self, connection: Connection, arrivals: Any) -> Stored:
        self.sizes.append(len(arrivals))
        return super().store(connection, arrivals)


@asynccontextmanager
async def running(url: str, ingest: Ingest | None = None) -> AsyncIterator[tuple[Writer, Engine]]:
    """A writer on a database with one collection; in the end, counts and answers must agree."""
    engine = make_engine(url)
    upgrade(engine)
    with writing(engine).begin() as connection:
        row = {"id": "first", "specification": "{}", "state": "open", "created_at": 0}
        connection.execute(insert(collections), [row])
    writer = Writer(engine, ingest or Ingest(), Metrics(), lambda stored: None)
    writer.start()
    try:
        yield writer, engine
    finally:
        await asyncio.to_thread(writer.stop)
        check_counts(engine)
        engine.dispose()


@asynccontextmanager
async def held_up(writer: Writer) -> AsyncIterator[None]:
    """The writer is busy with something else for as long as this lasts."""
    go = threading.Event()
    busy = threading.Event()

    def job(connection: Connection) -> None:
        busy.set()
        assert go.wait(PATIENCE)

    future = writer.submit(job)
    await asyncio.to_thread(busy.wait, PATIENCE)
    try:
        yield
    finally:
        go.set()
        await asyncio.wrap_future(future)


async def stored(engine: Engine) -> int:
    with reading(engine).connect() as connection:
        return int(connection.execute(select(func.count()).select_from(answers)).scalar_one())


def test_answers_that_wait_form_one_transaction(database_url: str) -> None:
    async def test() -> None:
        ingest = CountingIngest()
        async with running(database_url, ingest) as (writer, _):
            async with held_up(writer):
                waiting = [asyncio.create_task(writer.store(arrivals(1))) for _ in range(500)]
                await asyncio.sleep(0)
            assert await asyncio.gather(*waiting) == [[Fate.STORED]] * 500
        assert ingest.sizes == [500]

    asyncio.run(test())


def test_answers_of_a_busy_event_loop_form_one_transaction(sqlite_url: str) -> None:
    async def test() -> None:
        ingest = CountingIngest()
        async with running(sqlite_url, ingest) as (writer, _):

            async def store(turn: int) -> None:
                for _ in range(turn):
                    await asyncio.sleep(0)
                await writer.store(arrivals(1))

            await asyncio.gather(*map(store, (0, 0, 1, 2, 3)))
        assert ingest.sizes == [5]

    asyncio.run(test())


def test_answers_without_end_keep_none_from_being_stored(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_ROWS", 10**9)
    monkeypatch.setattr(writer_module, "MAX_WAITING", 10**9)

    async def test() -> None:
        async with running(sqlite_url) as (writer, _):
            tasks = [asyncio.create_task(writer.store(arrivals(1)))]
            while not tasks[0].done() and len(tasks) < 100_000:
                tasks.append(asyncio.create_task(writer.store(arrivals(1))))
                await asyncio.sleep(0)
            assert tasks[0].done()
            await asyncio.gather(*tasks)

    asyncio.run(test())


def test_a_transaction_is_closed_once_it_is_large(sqlite_url: str) -> None:
    async def test() -> None:
        ingest = CountingIngest()
        async with running(sqlite_url, ingest) as (writer, _):
            async with held_up(writer):
                waiting = [asyncio.create_task(writer.store(arrivals(1_000))) for _ in range(10)]
                await asyncio.sleep(0)
            await asyncio.gather(*waiting)
        assert sum(ingest.sizes) == 10_000
        assert max(ingest.sizes) < MAX_ROWS + 1_000

    asyncio.run(test())


def test_nobody_is_told_before_the_transaction_is_committed(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):
            seen = []

            async def respond() -> None:
                await writer.store(arrivals(1))
                seen.append(await stored(engine))  # another connection: it sees what is committed

            await asyncio.gather(*(respond() for _ in range(50)))
            assert min(seen) >= 1
            await writer.store(arrivals(1))
            assert await stored(engine) == 51

    asyncio.run(test())


def test_fates_go_to_those_who_asked(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, _):
            first = arrivals(3)
            await writer.store(first[:1])
            async with held_up(writer):
                tasks = [
                    asyncio.create_task(writer.store(some))
                    for some in (first, [first[0]._replace(answer=1)], [], arrivals(2))
                ]
                await asyncio.sleep(0)
            assert [await task for task in tasks] == [
                [Fate.REPEATED, Fate.STORED, Fate.STORED],
                [Fate.TAKEN],
                [],
                [Fate.STORED, Fate.STORED],
            ]

    asyncio.run(test())


def test_somebody_who_leaves_is_not_missed(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):
            async with held_up(writer):
                tasks = [asyncio.create_task(writer.store(arrivals(1))) for _ in range(3)]
                await asyncio.sleep(0)
                tasks[1].cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert results[0] == results[2] == [Fate.STORED]
            assert isinstance(results[1], asyncio.CancelledError)
            assert await stored(engine) == 3

    asyncio.run(test())


def test_too_much_waiting_is_refused_at_once(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAITING", 10)

    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):
            async with held_up(writer):
                waiting = asyncio.create_task(writer.store(arrivals(9)))
                await asyncio.sleep(0)
                with pytest.raises(Overloaded):
                    await writer.store(arrivals(2))
            await waiting
            assert await writer.store(arrivals(10)) == [Fate.STORED] * 10
            assert await stored(engine) == 19

    asyncio.run(test())


def test_a_full_disk_counts_nothing_and_the_writer_survives(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):
            pages = 1_000_000

            @event.listens_for(engine, "checkout")
            def limit(connection: sqlite3.Connection, *_: Any) -> None:
                connection.execute(f"PRAGMA max_page_count = {pages}")

            assert await writer.store(arrivals(10)) == [Fate.STORED] * 10
            pages = 1
            refused = arrivals(4_000)
            with pytest.raises(Unavailable):
                await writer.store(refused)
            assert await stored(engine) == 10
            pages = 1_000_000
            assert await writer.store(refused) == [Fate.STORED] * 4_000

    asyncio.run(test())


def test_a_locked_database_counts_nothing_and_the_writer_survives(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):

            @event.listens_for(engine, "checkout")
            def be_impatient(connection: sqlite3.Connection, *_: Any) -> None:
                connection.execute("PRAGMA busy_timeout = 20")

            assert engine.url.database
            other = sqlite3.connect(engine.url.database, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for operation in (lambda: writer.store(arrivals(1)), lambda: writer.run(lambda connection: None)):
                attempt: Callable[[], Awaitable[Any]] = operation
                with pytest.raises(Unavailable):
                    await attempt()
            other.execute("ROLLBACK")
            other.close()
            assert await writer.store(arrivals(1)) == [Fate.STORED]
            assert await stored(engine) == 1

    asyncio.run(test())


@pytest.mark.postgres
def test_a_lost_connection_counts_nothing_and_the_writer_survives(postgres_url: str) -> None:
    async def test() -> None:
        async with running(postgres_url) as (writer, engine):
            await writer.store(arrivals(1))
            with engine.begin() as connection:
                others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                mine = "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                connection.execute(text(f"{others} {mine}"))
            again = arrivals(1)
            try:
                await writer.store(again)
            except Unavailable:
                assert await writer.store(again) == [Fate.STORED]
            assert await stored(engine) == 2

    asyncio.run(test())


def test_a_job_is_committed_or_leaves_nothing(database_url: str) -> None:
    async def test() -> None:
        async with running(database_url) as (writer, engine):
            row = {"specification": "{}", "state": "open", "created_at": 0}

            def add(connection: Connection) -> str:
                connection.execute(insert(collections), [row | {"id": "second"}])
                return "added"

            def fail(connection: Connection) -> None:
                connection.execute(insert(collections), [row | {"id": "third"}])
                raise NotFound

            assert await writer.run(add) == "added"
            with pytest.raises(NotFound):
                await writer.run(fail)
            with reading(engine).connect() as connection:
                found = connection.execute(select(collections.c.id).order_by(collections.c.number)).scalars().all()
            assert found == ["first", "second"]

    asyncio.run(test())


def test_stopping_writes_what_was_handed_in_and_takes_no_more(sqlite_url: str) -> None:
    async def test() -> None:
        async with running(sqlite_url) as (writer, engine):
            tasks = [asyncio.create_task(writer.store(arrivals(1))) for _ in range(20)]
            await asyncio.sleep(0)
            await asyncio.to_thread(writer.stop)
            assert await asyncio.gather(*tasks) == [[Fate.STORED]] * 20
            assert not writer.alive
            with pytest.raises(Unavailable):
                await writer.store(arrivals(1))
            with pytest.raises(Unavailable):
                await writer.run(lambda connection: None)
            assert await stored(engine) == 20

    asyncio.run(test())
