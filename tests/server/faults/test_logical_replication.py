"""A warehouse that follows the answers by logical replication, as `docs/scale.md` sets it up, whatever is killed."""

import asyncio
from collections.abc import Iterator

import httpx2
import psycopg
import pytest
from sqlalchemy import make_url

from dither_client import parse_query
from dither_client.tables.warehouse import answer_counts
from testing.faults.checker import check
from testing.faults.load import Load, under_load
from testing.faults.scenarios import kill_server
from testing.patience import PATIENCE, until
from testing.reader import blocks
from testing.servers.cluster import Cluster, make_cluster
from testing.servers.defaults import ADMIN

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

ROUNDS = 2


@pytest.fixture
def warehouse() -> Iterator[Cluster]:
    with make_cluster() as warehouse:
        yield warehouse


def run(cluster: Cluster, name: str, statements: str) -> None:
    with cluster.connect(name) as server:
        for statement in statements.split(";"):
            if statement.strip():
                server.execute(statement.encode())


def follow(source: Cluster, database: str, warehouse: Cluster, collection: str) -> str:
    """Sets it up, and returns the name of the warehouse's database."""
    publication, subscription, view, _ = blocks("docs/scale.md", "sql")
    run(source, database, publication)
    target = str(make_url(warehouse.create_database()).database)
    address = f"host=127.0.0.1 port={source.port} user=postgres dbname={database}"
    run(warehouse, target, subscription.replace("host=db.example.org dbname=dither user=warehouse", address))
    run(warehouse, target, view.replace("'ID'", f"'{collection}'"))
    return target


async def kill_workers(load: Load, source: Cluster, warehouse: Cluster, target: str) -> None:
    """The server, the worker that applies, the one that sends, and the whole warehouse, each under load."""
    await kill_server(load)
    await load.more()
    with warehouse.connect(target) as server:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_subscription WHERE pid IS NOT NULL")
    await load.more()
    with source.connect() as server:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
    await load.more()
    await asyncio.to_thread(warehouse.stop, "immediate")
    await load.more()
    await asyncio.to_thread(warehouse.start)


def served_counts(load: Load) -> dict[str, list[int]]:
    """The counts that the server learns from, by question."""
    path = f"{load.servers[0].url}/v1/collections/{load.collection}/queries"
    queries = httpx2.get(path, headers=ADMIN, timeout=PATIENCE).json()["queries"]
    return {parse_query(item["query"]).id: item["counts"] for item in queries}


def tickets(connection: "psycopg.Connection[tuple[object, ...]]") -> list[tuple[object, ...]]:
    return connection.execute("SELECT ticket, answer FROM answers ORDER BY ticket").fetchall()


def test_rows_are_the_distinct_tickets(cluster: Cluster, warehouse: Cluster) -> None:
    cluster.configure("wal_level", "logical")
    cluster.stop("fast")
    cluster.start()
    url = cluster.create_database()
    database = str(make_url(url).database)

    async def test() -> tuple[str, dict[str, list[int]], int]:
        async with under_load(url) as load:
            await load.more()
            target = await asyncio.to_thread(follow, cluster, database, warehouse, load.collection)
            for _ in range(ROUNDS):
                await kill_workers(load, cluster, warehouse, target)
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)
            counts = await asyncio.to_thread(served_counts, load)
            return target, counts, len(load.acknowledged)

    target, counts, acknowledged = asyncio.run(test())

    def arrived() -> bool:
        with warehouse.connect(target) as server:
            found = server.execute("SELECT count(*) FROM answers").fetchone()
        return found is not None and found[0] >= acknowledged

    until(arrived, "the answers do not reach the warehouse")
    with cluster.connect(database) as source, warehouse.connect(target) as copy:
        rows = tickets(copy)
        assert rows == tickets(source)
        assert len(rows) == len({ticket for ticket, _ in rows}) == acknowledged
    found, _ = answer_counts(f"postgresql://postgres@127.0.0.1:{warehouse.port}/{target}#survey")
    assert {query.id: row for query, row in found.queries.items()} == counts
