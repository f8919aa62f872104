"""The servers that benchmarks load, Dither's and the bare one: a process each, on one core, on either database."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loads.machine import SERVER_CORE, on_core
from dither_client import Admin
from testing.databases import driver_url
from testing.patience import until
from testing.servers.process import free_port, running

__all__ = ["TOKEN", "Target", "bare_server", "dither_server", "new_collection"]

TOKEN = "token-of-the-benchmark"
_SPEC = {"name": "Load", "family": "normal", "epsilon": 1, "range": [-5, 5]}


@dataclass(frozen=True)
class Target:
    """A server to be loaded."""

    url: str
    pid: int


@contextmanager
def dither_server(folder: Path, postgres: str | None = None, **variables: str) -> Iterator[Target]:
    """`dither serve` on SQLite in `folder`, or on the PostgreSQL database at that URL; `variables` are settings."""
    database = f"sqlite:///{folder / 'dither.sqlite'}" if postgres is None else driver_url(postgres)
    settings = {"DITHER_ADMIN_TOKEN": TOKEN, "DITHER_LOG_FORMAT": "json", "DITHER_LOG_LEVEL": "info"} | variables
    with ExitStack() as stack:
        with on_core(SERVER_CORE):
            server = stack.enter_context(running(database, files=None, **settings))
        yield Target(server.url, server.pid)


def new_collection(target: Target, fields: Mapping[str, Any] | None = None) -> str:
    """The id of a new collection."""
    with Admin(target.url, TOKEN) as admin:
        return str(admin.create_collection({**_SPEC, **(fields or {})})["id"])


@contextmanager
def bare_server(database: str | None) -> Iterator[Target]:
    """The route of `bare.py` on the database at that URL, or without one its echo."""
    port = free_port()
    name, more = ("echo", ["--lifespan", "off"]) if database is None else ("app", [])
    command = [sys.executable, "-m", "uvicorn", f"benchmarks.loads.bare:{name}", "--port", str(port), *more]
    options = ["--log-level", "warning", "--no-access-log", "--no-server-header"]
    with on_core(SERVER_CORE):
        process = subprocess.Popen([*command, *options], env={**os.environ, "BARE_DATABASE": database or ""})
    try:
        until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, "the bare server did not start"
        yield Target(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
