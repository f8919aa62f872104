"""A PostgreSQL of the tests' own, made with initdb, which they may stop, freeze, starve and break."""

import glob
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
from typing import Any

import psycopg

from testing.servers.namespaces import Machine
from testing.servers.process import free_port

__all__ = ["Cluster", "ClusterMissing", "make_cluster"]

_USER = "postgres"


class ClusterMissing(RuntimeError):
    """There are no programs to make a cluster with, or nobody to run them as."""


class Cluster:
    """One cluster in a folder, which may stop and start again. With a `primary` it is a copy that follows."""

    def __init__(
        self,
        folder: Path,
        wal: Path | None = None,
        primary: "Cluster | None" = None,
        machine: Machine | None = None,
    ) -> None:
        self.folder = folder
        self.host = "127.0.0.1" if machine is None else machine.address
        self._machine = machine
        self._programs = _find_programs()
        self.port = free_port()
        _give_away(folder)
        if primary is not None:
            self._follow(primary)
            return
        options = ["-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync", "--wal-segsize", "1"]
        if wal is not None:
            _give_away(wal)
            options += ["--waldir", str(wal)]
        self._run("initdb", "-D", str(self._data), *options)
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write("host all,replication all samenet trust\n")  # the other machines of the tests
        self._configure()

    def _configure(self, more: str = "") -> None:
        # What the kernel was given outlives a crash of PostgreSQL; without fsync only a power cut would lose it.
        (self._data / "postgresql.auto.conf").write_text(
            f"listen_addresses = '{self.host}'\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n"
            "shared_buffers = '16MB'\nmax_connections = 60\nrestart_after_crash = on\n"
            "fsync = off\nmin_wal_size = '2MB'\nmax_wal_size = '16MB'\nwal_keep_size = '64MB'\nwal_recycle = off\n"
            + more
        )

    def _follow(self, primary: "Cluster") -> None:
        """Makes it a standby of a cluster that runs, under the name `standby`."""
        source = f"host={primary.host} port={primary.port} user={_USER} application_name=standby"
        self._run("pg_basebackup", "-D", str(self._data), "-d", source, "--checkpoint=fast", "--no-sync")
        self._configure(f"primary_conninfo = '{source}'\n")
        (self._data / "standby.signal").touch()

    def promote(self) -> None:
        """Lets a standby take over, and waits until it takes writes."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "60", "promote")

    def configure(self, name: str, value: str) -> None:
        """Changes a setting, without a restart."""
        with self.connect() as server:
            server.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
            server.execute("SELECT pg_reload_conf()")

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        """A connection, each of whose statements is a transaction."""
        return psycopg.connect(f"postgresql://{_USER}@{self.host}:{self.port}/{database}", autocommit=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Starts the cluster, and waits until it takes connections."""
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-l", log, "-w", "-t", "60", "start")

    def stop(self, mode: str) -> None:
        """Ends it; `mode` is pg_ctl's: `fast` ends sessions and writes a checkpoint, `immediate` is a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "-t", "60", "stop")

    def running(self) -> bool:
        """Whether it runs."""
        command = [str(self._programs / "pg_ctl"), "-D", str(self._data), "status"]
        return subprocess.run(command, **_identity(), capture_output=True, check=False).returncode == 0

    def freeze(self) -> None:
        """Lets every process of it stand still: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets them go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        postmaster = int((self._data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in (postmaster, *map(int, children)):
            os.kill(process, number)

    def create_database(self, tablespace: Path | None = None) -> str:
        """The URL of a new database, whose files may lie elsewhere."""
        name = f"dither_{secrets.token_hex(6)}"
        with self.connect() as server:
            where = ""
            if tablespace is not None:
                _give_away(tablespace)
                server.execute(f"CREATE TABLESPACE elsewhere LOCATION '{tablespace}'")
                where = " TABLESPACE elsewhere"
            server.execute(f"CREATE DATABASE {name}{where}")
        return self.url(name)

    def url(self, name: str, port: int | None = None) -> str:
        """The URL of a database of that name, through another port if there is a proxy."""
        return f"postgresql+psycopg://{_USER}@{self.host}:{port or self.port}/{name}"

    def run_program(self, name: str, *arguments: str) -> None:
        """Runs one of PostgreSQL's programs."""
        self._run(name, *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # pg_ctl leaves the server behind with its own output, so that is a file.
        with tempfile.TemporaryFile() as output:
            command, identity = [str(self._programs / program), *arguments], _identity()
            if self._machine is not None:  # which root enters, and leaves being root there
                command, identity = [*self._machine.command(_USER), *command], {}
            done = subprocess.run(command, **identity, stdout=output, stderr=output, check=False, cwd="/")
            output.seek(0)
            assert done.returncode == 0, f"{program}: {output.read().decode()}"


@contextmanager
def make_cluster(
    wal: Path | None = None, primary: Cluster | None = None, machine: Machine | None = None
) -> Iterator[Cluster]:
    """A cluster that runs; it is stopped and removed at the end. Raises `ClusterMissing`.

    Its write-ahead log may lie in an empty folder elsewhere. With `primary` it is a standby of that one. With `machine`
    it runs there.
    """
    _find_programs()
    _identity()
    # Not in pytest's folder, which nobody but its owner may enter.
    with tempfile.TemporaryDirectory(prefix="dither_pg_", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), wal, primary, machine)
        cluster.start()
        try:
            yield cluster
        finally:
            if cluster.running():
                cluster.stop("immediate")


def _find_programs() -> Path:
    """The folder of initdb and its like."""
    known = shutil.which("initdb")
    if known:
        return Path(known).resolve().parent
    for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True):
        if Path(folder, "initdb").exists():
            return Path(folder)
    raise ClusterMissing("no initdb: install PostgreSQL's server")


def _identity() -> dict[str, Any]:
    """Arguments that run a program as another user than root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam(_USER)
    except KeyError:
        raise ClusterMissing(f"no user {_USER}, and root may not run PostgreSQL") from None
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _give_away(folder: Path) -> None:
    """Makes the folder that user's."""
    identity = _identity()
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    folder.chmod(0o700)
