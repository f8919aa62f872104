"""The servers that benchmarks load, Dither's and the bare one: a process each, on one core, on either database."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import SERVER_CORE, on_core
from dither_client import Admin
from dither_server.simulate.server_process import running_server

__all__ = ["TOKEN", "Target", "bare_server", "dither_server", "new_collection"]

TOKEN = "token-of-the-benchmark"
_SPEC = {"name": "Load", "family": "normal", "epsilon": 1, "range": [-5, 5]}


@dataclass(frozen=True)
class Target:
    """A server to be loaded."""

    url: str
    pid: int


@contextmanager
def dither_server(folder: Path, postgres: str | None = None, core: int = SERVER_CORE) -> Iterator[Target]:
    """`dither serve` on SQLite in `folder`, or on the PostgreSQL database at that URL."""
    database = postgres and postgres.replace("postgresql:", "postgresql+psycopg:", 1)
    with on_core(core):
        server = running_server(folder, TOKEN, database=database)
        started = server.__enter__()
    try:
        yield Target(started.url, started.pid)
    finally:
        server.__exit__(None, None, None)


def new_collection(target: Target, fields: Mapping[str, Any] | None = None) -> str:
    """The id of a new collection."""
    with Admin(target.url, TOKEN) as admin:
        return str(admin.create_collection({**_SPEC, **(fields or {})})["id"])


@contextmanager
def bare_server(database: str, core: int = SERVER_CORE) -> Iterator[Target]:
    """`bare.py` on the database at that URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.bare:app", "--port", str(port), "--log-level", "warning"]
    with on_core(core):
        process = subprocess.Popen([*command, "--no-access-log"], env={**os.environ, "BARE_DATABASE": database})
    try:
        _wait(port)
        yield Target(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the bare server did not start")
