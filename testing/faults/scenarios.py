"""The faults themselves, each done to a service under load; the tests do each a few times, `testing.long` many
times.

Each returns the seconds from the end of the trouble to the next acknowledgement.
"""

import asyncio
import signal
import sqlite3
import time

import psycopg
from sqlalchemy import make_url

from testing.faults.disk import Disk
from testing.faults.load import Load
from testing.faults.proxy import Proxy
from testing.patience import PATIENCE
from testing.servers.cluster import Cluster

__all__ = [
    "end_owner",
    "end_server",
    "fill_disk",
    "kill_owner",
    "kill_server",
    "lock_postgres",
    "lock_sqlite",
    "lose_connections",
    "restart_postgres",
    "silence_postgres",
]

_TROUBLE_SECONDS = 1.0
"""How long trouble goes on after the first respondent was told to try later."""
_LOCKED_SECONDS = 6.0
"""Longer than the server waits for a lock."""


async def kill_server(load: Load) -> float:
    """kill -9 of one of the servers, at a random moment; it is started again at once."""
    await asyncio.sleep(load.rng.uniform(0.05, 0.8))
    victim = load.rng.choice(load.servers)
    await asyncio.to_thread(victim.kill)
    began = time.monotonic()
    await asyncio.to_thread(victim.start)
    seconds = await load.recovered(began)
    await asyncio.to_thread(victim.wait_ready)
    return seconds


async def kill_owner(load: Load) -> float:
    """kill -9 of the process that runs the particle system; returns the seconds until another has learnt something.

    The process is started again only then.
    """
    victim = await load.owner()
    await asyncio.to_thread(victim.kill)
    seconds = await load.taken_over(time.time())
    await asyncio.to_thread(victim.start)
    await asyncio.to_thread(victim.wait_ready)
    return seconds


async def end_owner(load: Load) -> float:
    """An end in order of that process; returns the seconds from the signal until another has learnt something."""
    victim = await load.owner()
    began = time.time()
    victim.signal(signal.SIGTERM)
    assert await asyncio.to_thread(victim.wait) == 0
    ended = time.time()
    await load.taken_over(ended)
    seconds = time.time() - began
    await asyncio.to_thread(victim.start)
    await asyncio.to_thread(victim.wait_ready)
    return seconds


async def end_server(load: Load) -> float:
    """An end in order, so that there is a snapshot to go on from; returns the seconds that it took."""
    victim = load.rng.choice(load.servers)
    began = time.monotonic()
    victim.signal(signal.SIGTERM)
    assert await asyncio.to_thread(victim.wait) == 0
    seconds = time.monotonic() - began
    await asyncio.to_thread(victim.start)
    await asyncio.to_thread(victim.wait_ready)
    return seconds


async def restart_postgres(load: Load, cluster: Cluster, mode: str) -> float:
    """PostgreSQL is stopped (`mode` as for pg_ctl), is away for a while, and comes back."""
    began = time.monotonic()
    await asyncio.to_thread(cluster.stop, mode)
    await load.refused(began)
    await asyncio.sleep(_TROUBLE_SECONDS)
    await asyncio.to_thread(cluster.start)
    return await load.recovered(time.monotonic())


async def fill_disk(load: Load, disk: Disk, cluster: Cluster | None = None) -> float:
    """The database's disk is full, until room is made; a PostgreSQL that has given up by then is started again."""
    began = time.monotonic()
    refused = asyncio.create_task(load.refused(began))
    while not refused.done():  # again and again, since a database gives room back, too
        await asyncio.to_thread(disk.fill)
        await asyncio.sleep(0.05)
    await refused
    await asyncio.sleep(_TROUBLE_SECONDS)
    disk.free()
    if cluster is not None and not await asyncio.to_thread(cluster.running):
        await asyncio.to_thread(cluster.start)
    return await load.recovered(time.monotonic())


async def lock_postgres(load: Load) -> float:
    """Somebody holds a lock on the answers for longer than the server waits."""
    database = load.database.replace("postgresql+psycopg", "postgresql")
    began = time.monotonic()
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE answers IN ACCESS EXCLUSIVE MODE")
        await asyncio.sleep(_LOCKED_SECONDS)
        await load.refused(began)
    return await load.recovered(time.monotonic())


async def lock_sqlite(load: Load) -> float:
    """Another process's transaction lasts longer than the server waits."""
    file = make_url(load.database).database
    assert file is not None
    other = sqlite3.connect(file, isolation_level=None, timeout=PATIENCE)
    began = time.monotonic()
    other.execute("BEGIN IMMEDIATE")
    await asyncio.sleep(_LOCKED_SECONDS)
    await load.refused(began)
    other.execute("ROLLBACK")
    other.close()
    return await load.recovered(time.monotonic())


async def silence_postgres(load: Load, proxy: Proxy) -> float:
    """The network between server and PostgreSQL holds everything back, and later delivers it."""
    began = time.monotonic()
    proxy.stall()
    await load.refused(began)
    await asyncio.sleep(_TROUBLE_SECONDS)
    proxy.flow()
    return await load.recovered(time.monotonic())


async def lose_connections(load: Load, proxy: Proxy) -> float:
    """The network forgets all connections without a word, as a failed router does; new ones can be made at once."""
    proxy.stall()
    await asyncio.sleep(0.05)
    proxy.flow_for_the_new()
    return await load.recovered(time.monotonic())
