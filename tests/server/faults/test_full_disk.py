"""The disk of the database is full, until room is made."""

import asyncio

import pytest

from testing.faults.checker import check
from testing.faults.disk import Disk
from testing.faults.load import Load, under_load
from testing.faults.scenarios import fill_disk
from testing.servers.cluster import Cluster, make_cluster


async def goes_on(load: Load, disk: Disk, cluster: Cluster | None = None) -> None:
    """Fills the disk and makes room; nothing is lost, and answers are taken again."""
    await load.more()
    await fill_disk(load, disk, cluster)
    await load.more()
    await load.settle()
    await asyncio.to_thread(check, load)


@pytest.mark.slow
def test_sqlite_goes_on_when_there_is_room_again(disk: Disk) -> None:
    async def test() -> None:
        async with under_load(f"sqlite:///{disk.folder / 'test.sqlite'}") as load:
            await load.more()
            await fill_disk(load, disk)
            await goes_on(load, disk)

    asyncio.run(test())


@pytest.mark.slow
@pytest.mark.postgres
def test_postgresql_goes_on_when_its_data_has_room_again(cluster: Cluster, disk: Disk) -> None:
    async def test() -> None:
        space = disk.folder / "space"
        space.mkdir()
        async with under_load(cluster.create_database(space)) as load:
            await goes_on(load, disk)

    asyncio.run(test())


@pytest.mark.slow
@pytest.mark.postgres
def test_postgresql_goes_on_when_its_log_has_room_again(disk: Disk) -> None:
    """Without room for its write-ahead log PostgreSQL ends, and cannot recover until there is some."""

    async def test(cluster: Cluster) -> None:
        async with under_load(cluster.create_database()) as load:
            await goes_on(load, disk, cluster)
        assert "PANIC" in (cluster.folder / "log").read_text()

    wal = disk.folder / "wal"
    wal.mkdir()
    with make_cluster(wal) as cluster:
        asyncio.run(test(cluster))
