"""PostgreSQL ends, in order and as in a crash, and comes back, while answers arrive."""

import asyncio

import pytest

from testing.faults.checker import check
from testing.faults.load import under_load
from testing.faults.scenarios import restart_postgres
from testing.servers.cluster import Cluster


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("servers", [1, 2])
def test_postgresql_may_be_restarted(cluster: Cluster, servers: int) -> None:
    async def test() -> None:
        async with under_load(cluster.create_database(), servers) as load:
            for mode in ("immediate", "fast"):
                await load.more()
                await restart_postgres(load, cluster, mode)
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())
