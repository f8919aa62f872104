"""Backups made while answers arrive, and a server on what was restored from them."""

import asyncio
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from testing.faults.checker import Acknowledged, check, check_database, check_service
from testing.faults.load import under_load
from testing.patience import PATIENCE
from testing.servers.cluster import Cluster
from testing.servers.defaults import RETRY_KEY
from testing.servers.process import forked


def dot_backup(source: Path, copy: Path) -> None:
    """`sqlite3 FILE ".backup COPY"`."""
    program = shutil.which("sqlite3")
    if program:
        subprocess.run([program, str(source), ".timeout 30000", f".backup {copy}"], check=True)
        return
    with sqlite3.connect(source) as one, sqlite3.connect(copy) as other:
        one.backup(other, pages=100)
    one.close()
    other.close()


def vacuum_into(source: Path, copy: Path) -> None:
    """`sqlite3 FILE "VACUUM INTO 'COPY'"`."""
    database = sqlite3.connect(source, timeout=PATIENCE)
    database.execute("VACUUM INTO ?", [str(copy)])
    database.close()


def check_backup(database: str, back_up: Callable[[], str]) -> None:
    """Fails unless what `back_up` restores (it returns the URL) has all that was acknowledged before, and goes on."""

    async def test() -> tuple[str, str, Acknowledged, Acknowledged]:
        async with under_load(database) as load:
            await load.more(100)
            before = dict(load.acknowledged)
            restored = await asyncio.to_thread(back_up)
            await load.more()
            await load.settle()
            await asyncio.to_thread(check, load)
            return restored, load.collection, before, load.acknowledged

    restored, collection, before, all_of_them = asyncio.run(test())
    assert len(before) < len(all_of_them)
    check_database(restored, before, exactly=False)
    with forked(restored) as [server]:
        check_service(server.url, collection, before, exactly=False)
        # What the backup had not yet can be sent again, and is then as if nothing had happened.
        responses = [
            {"ticket": ticket, "answer": answer, "retry_key": RETRY_KEY} for ticket, (answer, _) in all_of_them.items()
        ]
        path = f"{server.url}/v1/collections/{collection}/responses/batch"
        for at in range(0, len(responses), 500):
            some = responses[at : at + 500]
            items = httpx2.post(path, json={"responses": some}, timeout=PATIENCE).json()["responses"]
            for response, item in zip(some, items, strict=True):
                assert item["receipt"] == all_of_them[str(response["ticket"])][1]
        check_database(restored, all_of_them)
        check_service(server.url, collection, all_of_them)


@pytest.mark.slow
@pytest.mark.parametrize("copy", [dot_backup, vacuum_into])
def test_a_backup_of_sqlite_under_load(tmp_path: Path, copy: Callable[[Path, Path], None]) -> None:
    source, target = tmp_path / "test.sqlite", tmp_path / "copy.sqlite"

    def back_up() -> str:
        copy(source, target)
        return f"sqlite:///{target}"

    check_backup(f"sqlite:///{source}", back_up)


@pytest.mark.slow
@pytest.mark.postgres
def test_a_dump_of_postgresql_under_load(cluster: Cluster) -> None:
    database = cluster.create_database()

    def back_up() -> str:
        file = str(cluster.folder / "dither.dump")
        plain = "postgresql+psycopg", "postgresql"
        cluster.run_program("pg_dump", "--format=custom", f"--file={file}", database.replace(*plain))
        restored = cluster.create_database()
        cluster.run_program("pg_restore", "--exit-on-error", f"--dbname={restored.replace(*plain)}", file)
        return restored

    check_backup(database, back_up)
