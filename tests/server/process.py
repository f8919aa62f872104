"""A real server process, for tests of what only a process shows."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import httpx2

__all__ = ["ServerProcess", "free_port", "running"]


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class ServerProcess:
    """`dither serve`, as a user would start it."""

    def __init__(
        self, database: str, *arguments: str, port: int | None = None, files: int | None = None, **variables: str
    ) -> None:
        self.port = port or free_port()
        given = {"DITHER_ADMIN_TOKEN": "the-admin-token", "DITHER_SECRET": "secret of the tests"} | variables
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DITHER_")}
        command = [sys.executable, "-c", "from dither_client.commands import main; main()", "serve"]
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
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self.stderr
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.url}/readyz").status_code == 200:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"not ready: {self.stderr}")

    def kill(self) -> None:
        """Ends the process as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """Asks the process to end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit status, once there is one; everything written to standard error is then in `stderr`."""
        status = self._process.wait(60)
        self._reader.join(5)
        assert self._process.stdout is not None
        assert self._process.stdout.read() == "", "nothing of the server goes to standard output"
        self._process.stdout.close()
        return status

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self.stderr += line


@contextlib.contextmanager
def running(database: str, *arguments: str, files: int | None = None, **variables: str) -> Iterator[ServerProcess]:
    """A server that is ready; killed at the end if it still runs. `files` limits how many files it may open."""
    server = ServerProcess(database, *arguments, port=None, files=files, **variables)
    try:
        yield server.wait_ready()
    finally:
        if server._process.poll() is None:
            server.kill()
