"""A standby takes over from a PostgreSQL that crashed under load: nothing that was acknowledged is lost."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from testing.faults.checker import check, check_database
from testing.faults.load import Load, under_load
from testing.patience import until
from testing.servers.cluster import Cluster, make_cluster

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@pytest.fixture
def standby(cluster: Cluster) -> Iterator[Cluster]:
    """A synchronous standby of the cluster."""
    cluster.create_database()  # a first one, so that the copy has what to copy
    with make_cluster(primary=cluster) as standby:
        cluster.configure("synchronous_standby_names", "standby")
        until(lambda: state(cluster) == "sync", "the standby does not follow")
        yield standby


def state(primary: Cluster) -> str | None:
    with primary.connect() as server:
        row = server.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
    return None if row is None else str(row[0])


def url_of_both(cluster: Cluster, standby: Cluster) -> str:
    """As `docs/operators.md` has it: libpq finds the one that takes writes."""
    name = cluster.create_database().rpartition("/")[2]
    hosts = f"host=127.0.0.1:{cluster.port}&host=127.0.0.1:{standby.port}"
    return f"postgresql+psycopg://postgres@/{name}?{hosts}&target_session_attrs=read-write"


async def crash_and_promote(load: Load, cluster: Cluster, standby: Cluster) -> float:
    """Seconds from the promotion's command to the next acknowledgement."""
    await asyncio.to_thread(cluster.stop, "immediate")
    began = time.monotonic()
    await asyncio.to_thread(standby.promote)
    return await load.recovered(began)


def test_nothing_acknowledged_is_lost(cluster: Cluster, standby: Cluster) -> None:
    async def test() -> None:
        async with under_load(url_of_both(cluster, standby), servers=2) as load:
            await load.more(100)
            print(f"{await crash_and_promote(load, cluster, standby):.1f} s after the promotion answers are accepted")
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())


def test_nothing_is_acknowledged_that_the_standby_lacks(cluster: Cluster, standby: Cluster) -> None:
    """While the standby is away, answers are committed here and not there: they are refused until it has them."""

    async def test() -> None:
        async with under_load(url_of_both(cluster, standby)) as load:
            await load.more()
            await asyncio.to_thread(standby.stop, "immediate")
            began = time.monotonic()
            await load.refused(began)
            known = len(load.acknowledged)
            await load.refused(time.monotonic())  # and those who try again are refused, too
            assert len(load.acknowledged) <= known + 8  # what was on its way when the standby stopped
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.to_thread(standby.start)
            await asyncio.to_thread(standby.promote)
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())


def test_servers_go_on_with_a_standby_that_lacks_answers(cluster: Cluster, standby: Cluster) -> None:
    """They have learnt them, and remember questions that it does not have; what comes then is stored and learnt."""
    cluster.configure("synchronous_standby_names", "")

    async def test() -> None:
        async with under_load(url_of_both(cluster, standby)) as load:
            await load.more()
            await asyncio.to_thread(standby.stop, "immediate")
            await load.more(100)
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.to_thread(standby.start)
            await asyncio.to_thread(standby.promote)
            since = len(load.acknowledged)
            await load.more(100)
            await load.settle()
            assert not load.wrong, load.wrong[:3]
            rest = dict(list(load.acknowledged.items())[since:])
            await asyncio.to_thread(check_database, load.database, rest, exactly=False)

    asyncio.run(test())


def test_without_synchronous_commit_acknowledged_answers_are_lost(cluster: Cluster, standby: Cluster) -> None:
    """What the two tests above would find."""
    cluster.configure("synchronous_standby_names", "")

    async def test() -> None:
        async with under_load(url_of_both(cluster, standby)) as load:
            await load.more()
            await asyncio.to_thread(standby.stop, "immediate")
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.to_thread(standby.start)
            await asyncio.to_thread(standby.promote)
            with pytest.raises(AssertionError):
                await asyncio.to_thread(check_database, load.database, load.acknowledged)

    asyncio.run(test())
