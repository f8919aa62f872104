"""A PostgreSQL of a test's own, which it may stop and freeze; the shared one is never touched."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testing.servers.process import free_port

__all__ = ["Cluster", "own_cluster"]

_FOLDERS = [Path(found).parent for found in [shutil.which("initdb")] if found] + sorted(
    Path("/usr/lib/postgresql").glob("*/bin"), reverse=True
)


class Cluster:
    """A server process with its data folder; `url` is that of an empty database."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._programs = programs
        self._options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {folder}"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        """Runs one of PostgreSQL's programs, as somebody else than root."""
        user = "postgres" if os.geteuid() == 0 else None
        subprocess.run(
            [self._programs / program, *arguments], check=True, user=user, cwd=self._folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def create(self) -> None:
        self.run("initdb", "--pgdata", str(self._folder / "data"), "--username=postgres", "--auth=trust", "--no-sync")

    def start(self) -> None:
        data, log = str(self._folder / "data"), str(self._folder / "log")
        self.run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", log, "--options", self._options)

    def stop(self) -> None:
        """Ends at once, as in a crash."""
        self.run("pg_ctl", "stop", "--mode=immediate", "--pgdata", str(self._folder / "data"))

    def freeze(self) -> None:
        """Lets every process of it stand still: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        postmaster = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in (postmaster, *map(int, children)):
            os.kill(process, number)


@contextmanager
def own_cluster() -> Iterator[Cluster]:
    """A running cluster; stopped and removed at the end."""
    programs = next((folder for folder in _FOLDERS if (folder / "initdb").exists()), None)
    if programs is None:
        if os.environ.get("CI") == "true":
            raise RuntimeError("initdb is missing")
        pytest.skip("no initdb")
    folder = Path(tempfile.gettempdir()) / f"dither-cluster-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    cluster = Cluster(folder, programs)
    try:
        cluster.create()
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)
