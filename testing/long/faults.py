"""Faults under load: how long until the service answers again, and whether anything acknowledged was lost.

    python -m testing.long.faults [KILLS [TIMES]]

For each database so many kill -9 of the server, and of the one of three that runs the particle system (50 each); each
other fault so many times (5). PostgreSQL is a cluster of its own; a full disk takes the right to mount one, else it is
left out.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from testing.faults.checker import check
from testing.faults.disk import DiskMissing, small_disk
from testing.faults.load import Load, under_load
from testing.faults.proxy import make_proxy
from testing.faults.scenarios import (
    end_owner,
    end_server,
    fill_disk,
    kill_owner,
    kill_server,
    lock_postgres,
    lock_sqlite,
    lose_connections,
    restart_postgres,
    silence_postgres,
)
from testing.servers.cluster import Cluster, make_cluster
from testing.tables import print_table

__all__ = ["main"]

_OWNER_KILLED = "kill -9 of the owner, of 3 (s until taken over)"
_OWNER_ENDED = "SIGTERM of the owner, of 2 (s until taken over)"
_KILLS = 50
_TIMES = 5

Fault = Callable[[Load], Awaitable[float]]
Row = tuple[str, ...]


def main(arguments: Sequence[str]) -> None:
    """Prints the table; raises `AssertionError` if anything was lost, counted twice or answered wrongly."""
    kills = int(arguments[0]) if arguments else _KILLS
    times = int(arguments[1]) if len(arguments) > 1 else _TIMES
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        rows += _on_sqlite(Path(folder), kills, times)
    with make_cluster() as cluster:
        rows += _on_postgres(cluster, kills, times)
    columns = ("fault", "database", "times", "s until answers, median", "longest", "s of the slowest reply", "answers")
    print_table("Faults under load: nothing acknowledged was lost, nothing counted twice", columns, rows)


def _on_sqlite(folder: Path, kills: int, times: int) -> list[Row]:
    def fresh(name: str) -> str:
        return f"sqlite:///{folder / name}.sqlite"

    rows = [
        _measure("kill -9 of the server", fresh("kill"), kill_server, kills),
        _measure(_OWNER_KILLED, fresh("owner"), kill_owner, kills, servers=3),
        _measure("SIGTERM (s until the end)", fresh("end"), end_server, times),
        _measure(_OWNER_ENDED, fresh("leave"), end_owner, times, servers=2),
        _measure("another process's lock, 6 s", fresh("lock"), lock_sqlite, times),
    ]
    try:
        with small_disk(32) as disk:
            database = f"sqlite:///{disk.folder / 'test.sqlite'}"
            rows.append(_measure("full disk", database, lambda load: fill_disk(load, disk), times))
    except DiskMissing as error:
        print(f"left out: {error}", file=sys.stderr)
    return rows


def _on_postgres(cluster: Cluster, kills: int, times: int) -> list[Row]:
    def restart(mode: str) -> Fault:
        return lambda load: restart_postgres(load, cluster, mode)

    rows = [
        _measure("kill -9 of the server", cluster.create_database(), kill_server, kills),
        _measure(_OWNER_KILLED, cluster.create_database(), kill_owner, kills, servers=3),
        _measure("SIGTERM (s until the end)", cluster.create_database(), end_server, times),
        _measure(_OWNER_ENDED, cluster.create_database(), end_owner, times, servers=2),
        _measure("restart of PostgreSQL, immediate", cluster.create_database(), restart("immediate"), times),
        _measure("restart of PostgreSQL, fast", cluster.create_database(), restart("fast"), times),
        _measure("restart of PostgreSQL, 2 servers", cluster.create_database(), restart("immediate"), times, servers=2),
        _measure("somebody's lock, 6 s", cluster.create_database(), lock_postgres, times),
    ]
    with make_proxy(cluster.port) as proxy:

        def through() -> str:
            return cluster.url(cluster.create_database().rpartition("/")[2], proxy.port)

        rows.append(_measure("silent network", through(), lambda load: silence_postgres(load, proxy), times))
        rows.append(_measure("forgotten connections", through(), lambda load: lose_connections(load, proxy), times))
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(small_disk(32))
        except DiskMissing:
            return rows
        space = disk.folder / "space"
        space.mkdir()
        database = cluster.create_database(space)
        rows.append(_measure("full disk of the data", database, lambda load: fill_disk(load, disk), times))
        wal = disk.folder / "wal"
        wal.mkdir()
        other = stack.enter_context(make_cluster(wal))
        rows.append(
            _measure("full disk of the log", other.create_database(), lambda load: fill_disk(load, disk, other), times)
        )
    return rows


def _measure(name: str, database: str, fault: Fault, times: int, servers: int = 1) -> Row:
    row = asyncio.run(_trial(name, database, fault, times, servers))
    print(" | ".join(row), file=sys.stderr)
    return row


async def _trial(name: str, database: str, fault: Fault, times: int, servers: int) -> Row:
    seconds = []
    async with under_load(database, servers) as load:
        for _ in range(times):
            await load.more()
            seconds.append(await fault(load))
        await load.more()
        await load.settle()
        await asyncio.to_thread(check, load)
    kind = "SQLite" if database.startswith("sqlite") else "PostgreSQL"
    return (
        name, kind, str(times), f"{median(seconds):.2f}", f"{max(seconds):.2f}", f"{load.slowest:.1f}",
        f"{len(load.acknowledged):,}",
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
