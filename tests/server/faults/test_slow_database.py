"""The database is slow, silent or locked: requests are refused in time, and the process recovers by itself."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from testing.faults.checker import check
from testing.faults.load import Load, under_load
from testing.faults.proxy import make_proxy
from testing.faults.scenarios import lock_postgres, lock_sqlite, lose_connections, silence_postgres
from testing.servers.cluster import Cluster


async def trouble(database: str, fault: Callable[[Load], Awaitable[float]]) -> None:
    async with under_load(database) as load:
        await load.more()
        await fault(load)
        await load.more()
        assert load.statuses.keys() <= {200, 201, 503}
        await load.settle()
        await asyncio.to_thread(check, load)


@pytest.mark.slow
def test_another_process_holds_sqlites_lock(sqlite_url: str) -> None:
    asyncio.run(trouble(sqlite_url, lock_sqlite))


@pytest.mark.slow
@pytest.mark.postgres
def test_somebody_holds_a_lock_in_postgresql(postgres_url: str) -> None:
    asyncio.run(trouble(postgres_url, lock_postgres))


@pytest.mark.slow
@pytest.mark.postgres
def test_the_network_to_postgresql_falls_silent(cluster: Cluster) -> None:
    with make_proxy(cluster.port) as proxy:
        database = cluster.url(cluster.create_database().rpartition("/")[2], proxy.port)
        asyncio.run(trouble(database, lambda load: silence_postgres(load, proxy)))


@pytest.mark.slow
@pytest.mark.postgres
def test_the_network_to_postgresql_forgets_connections(cluster: Cluster) -> None:
    with make_proxy(cluster.port) as proxy:
        database = cluster.url(cluster.create_database().rpartition("/")[2], proxy.port)
        asyncio.run(trouble(database, lambda load: lose_connections(load, proxy)))
