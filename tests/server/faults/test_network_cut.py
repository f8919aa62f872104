"""Three machines, each with a replica, one with the database and one with its synchronous standby: the network is cut.

Between any two of them, for ten seconds, while answers come: nothing that was acknowledged is lost, nothing is stored
twice, and the collection has one owner at a time, who stays or is followed by another.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise

import psycopg
import pytest

from dither_server.database.engine import make_engine, reading
from dither_server.replicas.leases import preferred
from dither_server.replicas.membership import alive_holders
from testing.faults.checker import check
from testing.faults.load import under_load
from testing.patience import until
from testing.servers.cluster import Cluster, ClusterMissing, make_cluster
from testing.servers.namespaces import Machine, Network, network
from testing.tools import skip_or_fail

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

CUT_SECONDS = 10
"""Longer than the lease, and than a server waits for its database."""
EVERY = 0.1

Lease = tuple[int, str | None]
"""A term, and who holds it."""


@pytest.fixture
def machines() -> Iterator[Network]:
    with network(3) as found:
        yield found


@pytest.fixture
def database(machines: Network) -> Iterator[Cluster]:
    """A database on the first machine, which commits what its standby on the third has, too."""
    first, _, third = machines.machines
    try:
        with make_cluster(machine=first) as primary, make_cluster(primary=primary, machine=third):
            primary.configure("synchronous_standby_names", "standby")
            until(lambda: _synchronous(primary), "the standby does not follow")
            yield primary
    except ClusterMissing as error:
        skip_or_fail(f"no PostgreSQL of its own: {error}")


def _synchronous(primary: Cluster) -> bool:
    with primary.connect() as server:
        return server.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)]


@asynccontextmanager
async def leases_seen(url: str) -> AsyncIterator[list[Lease]]:
    """The leases that the database had within the block, each once, in order."""
    seen: list[Lease] = []
    async with await psycopg.AsyncConnection.connect(url.replace("+psycopg", ""), autocommit=True) as connection:

        async def look() -> None:
            while True:
                found = await (await connection.execute("SELECT term, holder FROM leases")).fetchall()
                seen.extend((row[0], row[1]) for row in found if (row[0], row[1]) not in seen[-1:])
                await asyncio.sleep(EVERY)

        looking = asyncio.create_task(look())
        try:
            yield seen
            assert not looking.done(), "the database was not reached"
        finally:
            looking.cancel()


def held_where_it_belongs(url: str, seen: list[Lease]) -> bool:
    """Whether the replica that created the only collection has handed it over, unless it belongs there."""
    engine = make_engine(url)
    with reading(engine).connect() as connection:
        belongs = preferred(1, alive_holders(connection))
    engine.dispose()
    return bool(seen) and seen[-1][1] == belongs


def check_one_at_a_time(seen: list[Lease]) -> None:
    """Fails unless terms grew, and each was one holder's until it gave it up."""
    for (before, holder), (term, following) in pairwise(seen):
        assert term > before or (term == before and holder is not None and following is None), seen


def test_whatever_is_cut_nothing_acknowledged_is_lost_and_one_process_owns(
    machines: Network, database: Cluster
) -> None:
    url = database.create_database()
    first, second, third = machines.machines

    async def test() -> None:
        async with under_load(url, machines=machines.machines) as load, leases_seen(url) as seen:

            async def cut(one: Machine, other: Machine, *, answers_come: bool) -> None:
                await load.more()
                with machines.cut(one, other):
                    came, began = len(load.acknowledged), time.monotonic()
                    await asyncio.sleep(CUT_SECONDS)
                    assert (len(load.acknowledged) > came + 8) is answers_come  # 8 were on their way
                    if one is first:
                        await load.refused(began)  # by the replica that the database is away from
                await load.more()
                await load.owner()

            await load.more()
            await asyncio.to_thread(until, lambda: held_where_it_belongs(url, seen))
            calm = seen[-1]
            await cut(second, third, answers_come=True)
            assert seen[-1] == calm, "a cut between replicas does not concern the owner"
            await cut(first, second, answers_come=True)
            await cut(
                first, third, answers_come=False
            )  # the standby lacks them, so nobody is told that they are stored
            await load.settle()
            await asyncio.to_thread(check, load)
            check_one_at_a_time(seen)

    asyncio.run(test())
