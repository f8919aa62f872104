"""Real server processes on one database, to be killed, ended and started again."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Sequence
from typing import Any

import httpx2
from pydantic import SecretStr

from dither_server.serving import serve
from dither_server.settings import Settings
from testing.patience import PATIENCE, until
from testing.servers.process import free_port

__all__ = ["Server", "make_servers", "stop_all"]

# A server that is forked from a process with everything imported starts in a fraction of a second.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["dither_server.serving"])
os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # whoever gets SIGABRT says where its threads are


class Server:
    """One process, always on the same port."""

    def __init__(self, database: str) -> None:
        self._settings = Settings(
            database=database,
            port=free_port(),
            secret=SecretStr("secret of the tests"),
            admin_token=SecretStr("the-admin-token"),
            log_level="error",
        )
        self.url = f"http://127.0.0.1:{self._settings.port}"
        self._process: Any = None

    def start(self) -> None:
        """Starts the process, and does not wait for it."""
        self._process = _processes.Process(target=serve, args=[self._settings])
        self._process.start()

    def wait_ready(self) -> None:
        """Returns once the server is ready. Raises `AssertionError` if it ends instead, or takes too long."""
        until(self.is_ready, "the server does not become ready")

    def is_ready(self) -> bool:
        """Whether the server says so. Raises `AssertionError` if its process has ended."""
        assert self._process.is_alive(), f"ended with {self._process.exitcode}"
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=PATIENCE).status_code == 200
        except httpx2.TransportError:
            return False

    def signal(self, number: int) -> None:
        """Sends the process a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)

    def wait(self) -> int:
        """The exit status, once there is one: minus the signal's number if that ended it."""
        self._process.join(PATIENCE)
        assert self._process.exitcode is not None, "the server does not end"
        return int(self._process.exitcode)

    def abort(self) -> None:
        """Ends the process, if it runs, which writes to standard error where each of its threads was."""
        if self._process is not None and self._process.is_alive():
            self.signal(signal.SIGABRT)
            self.wait()

    def kill(self) -> None:
        """Ends the process as a power cut would, if it runs."""
        if self._process is not None and self._process.is_alive():
            self.signal(signal.SIGKILL)
            self.wait()


def make_servers(database: str, count: int) -> list[Server]:
    """So many servers on one database, which are ready."""
    servers = [Server(database) for _ in range(count)]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait_ready()
    except BaseException:
        stop_all(servers)
        raise
    return servers


def stop_all(servers: Sequence[Server]) -> None:
    """Ends what still runs."""
    for server in servers:
        server.kill()
