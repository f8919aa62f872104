"""A real server process, for tests of what only a process shows."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import httpx2

from testing.patience import PATIENCE, until

__all__ = ["UNHURRIED", "ServerProcess", "free_port", "running"]

UNHURRIED = (
    "from dither_server import serving; from dither_server.http import bodies, connections; "
    "serving._GRACE_SECONDS = serving._LAST_SECONDS = bodies._BODY_SECONDS = 3600; "
    "connections.HEAD_SECONDS = connections.STALL_SECONDS = 3600"
)
"""Lets the server wait for its clients as long as any test takes, for tests of something else than that."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class ServerProcess:
    """`dither serve`, as a user would start it."""

    def __init__(
        self,
        database: str,
        *arguments: str,
        port: int | None = None,
        files: int | None = None,
        before: str = "",
        **variables: str,
    ) -> None:
        self.port = port or free_port()
        given = {"DITHER_ADMIN_TOKEN": "the-admin-token", "DITHER_SECRET": "secret of the tests"} | variables
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DITHER_")}
        command = [sys.executable, "-c", f"{before}\nfrom dither_client.commands import main; main()", "serve"]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port), "--database", database, *arguments],
            env=inherited | {name: value for name, value in given.items() if value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=None if files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
        self.stderr = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_ready(self) -> "ServerProcess":
        """Returns once the server answers. Raises `AssertionError` if it ends instead, or takes too long."""
        until(self._is_ready, lambda: f"not ready: {self.stderr}")
        return self

    def kill(self) -> None:
        """Ends the process as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """Asks the process to end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit status, once there is one; everything written to standard error is then in `stderr`."""
        status = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._process.stdout is not None
        assert self._process.stdout.read() == "", "nothing of the server goes to standard output"
        self._process.stdout.close()
        return status

    def wait_refused(self) -> None:
        """Returns when there are no new connections, which is what whoever balances load sees."""
        until(self._refuses, "new connections are still taken")

    def _refuses(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
        except OSError:
            return True
        return False

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self.stderr
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=PATIENCE).status_code == 200
        except httpx2.TransportError:
            return False

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self.stderr += line


@contextlib.contextmanager
def running(
    database: str, *arguments: str, files: int | None = None, before: str = "", **variables: str
) -> Iterator[ServerProcess]:
    """A server that is ready; killed at the end if it still runs.

    `files` limits how many files it may open; `before` is run in its process first, as Python.
    """
    server = ServerProcess(database, *arguments, port=None, files=files, before=before, **variables)
    try:
        yield server.wait_ready()
    finally:
        if server._process.poll() is None:
            server.kill()
