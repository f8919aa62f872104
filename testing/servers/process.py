"""Real server processes: `dither serve` as a user starts it, and the same server by a fork, which is sooner ready."""

import multiprocessing
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from dither_server.replicas import membership
from dither_server.serving import serve
from dither_server.settings import Settings
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN_TOKEN, SECRET, server_settings
from testing.servers.namespaces import Machine
from testing.servers.seeds import seed_learners

__all__ = ["UNHURRIED", "ForkedServer", "RunningServer", "ServerProcess", "forked", "forks", "free_port", "running"]

UNHURRIED = (
    "from dither_server import serving; from dither_server.http import bodies, connections; "
    "serving._GRACE_SECONDS = serving._FORCED_EXIT_SECONDS = bodies._BODY_SECONDS = 3600; "
    "connections.HEAD_SECONDS = connections.STALL_SECONDS = 3600"
)
"""Lets the server wait for its clients as long as any test takes, for tests of something else than that."""

forks = multiprocessing.get_context("forkserver")
"""Makes processes that are forked from one in which this is imported."""
forks.set_forkserver_preload(
    ["dither_server.serving", "dither_client.commands._group", "dither_client.commands.answer"]
)
os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # whoever gets SIGABRT says where its threads are


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class RunningServer(ABC):
    """A server in a process of its own, always on the same port; subclasses say how the process is started."""

    def __init__(self, port: int | None = None, host: str = "127.0.0.1") -> None:
        self.port = port or free_port()
        self.host = host
        self.url = f"http://{host}:{self.port}"

    @property
    @abstractmethod
    def pid(self) -> int:
        """The number of the process."""

    @abstractmethod
    def status(self, patience: float = 0) -> int | None:
        """The exit status, minus the signal's number if that ended it; None if it still runs after `patience` s."""

    def said(self) -> str:
        """What the process wrote to standard error, if that is kept."""
        return ""

    def wait_ready(self) -> None:
        """Returns once the server is ready. Raises `AssertionError` if it ends instead, or takes too long."""
        until(self.is_ready, lambda: f"the server does not become ready: {self.said()}")

    def is_ready(self) -> bool:
        """Whether the server says so. Raises `AssertionError` if its process has ended."""
        assert self.status() is None, f"ended with {self.status()}: {self.said()}"
        # Asked again and again while the server starts: httpx2 would read all certificates each time, 20 ms of work.
        connection = HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def wait_refused(self) -> None:
        """Returns when there are no new connections, which is what whoever balances load sees."""
        until(self._refuses, "new connections are still taken")

    def _refuses(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
        except OSError:
            return True
        return False

    def signal(self, number: int) -> None:
        """Sends the process a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks the process to end."""
        self.signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit status, once there is one."""
        status = self.status(PATIENCE)
        assert status is not None, f"the server does not end: {self.said()}"
        return status

    def kill(self) -> None:
        """Ends the process as a power cut would, if it runs."""
        self._end(signal.SIGKILL)

    def abort(self) -> None:
        """Ends the process, if it runs; it writes to standard error where each of its threads was."""
        self._end(signal.SIGABRT)

    def _end(self, number: int) -> None:
        if self.status() is None:
            self.signal(number)
            self.wait()


class ServerProcess(RunningServer):
    """`dither serve`, as a user would start it.

    `files` limits how many files it may open; `before` is run in its process first, as Python.
    """

    def __init__(
        self, database: str, *arguments: str, files: int | None = None, before: str = "", **variables: str
    ) -> None:
        super().__init__()
        self.database = database
        given = {"DITHER_ADMIN_TOKEN": ADMIN_TOKEN, "DITHER_SECRET": SECRET} | variables
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DITHER_")}
        command = [sys.executable, "-c", f"{before}\nfrom dither_client.commands import main; main()", "serve"]
        self._folder = Path(tempfile.mkdtemp(prefix="dither_server_"))
        weakref.finalize(self, shutil.rmtree, self._folder)
        with self._output("stdout").open("wb") as stdout, self._output("stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port), "--database", database, *arguments],
                env=inherited | {name: value for name, value in given.items() if value},
                stdout=stdout,
                stderr=stderr,
                preexec_fn=None
                if files is None
                else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """Everything that was written to standard error until now."""
        return self._output("stderr").read_text()

    def status(self, patience: float = 0) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(patience)
        return None

    def said(self) -> str:
        return self.stderr

    def wait(self) -> int:
        status = super().wait()
        assert self._output("stdout").read_text() == "", "nothing of the server goes to standard output"
        return status

    def _output(self, name: str) -> Path:
        return self._folder / name


class ForkedServer(RunningServer):
    """A server that is forked from a process with everything imported, which takes a fraction of a second."""

    def __init__(
        self,
        database: str,
        lease_seconds: float = membership.LEASE_SECONDS,
        machine: Machine | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(host="127.0.0.1" if machine is None else machine.address)
        # Elsewhere than on this machine a load has an address like any other's, which would be limited.
        own = {"host": self.host, "port": self.port, "log_level": "error", "tickets_per_minute": 0}
        self._arguments = (server_settings(database, **own | settings), lease_seconds, machine)
        self._process: Any = None

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def start(self) -> None:
        """Starts the process, for the first time or again, and does not wait for it."""
        self._process = forks.Process(target=_serve, args=self._arguments)
        self._process.start()

    def status(self, patience: float = 0) -> int | None:
        self._process.join(patience)
        status: int | None = self._process.exitcode
        return status

    def kill(self) -> None:
        if self._process is not None:
            super().kill()

    def abort(self) -> None:
        if self._process is not None:
            super().abort()


def _serve(settings: Settings, lease_seconds: float, machine: Machine | None) -> None:
    if machine is not None:
        machine.enter()
    membership.LEASE_SECONDS = lease_seconds
    seed_learners()
    serve(settings)


@contextmanager
def running(
    database: str, *arguments: str, files: int | None = None, before: str = "", **variables: str
) -> Iterator[ServerProcess]:
    """A `dither serve` that is ready; killed at the end if it still runs. The arguments are `ServerProcess`'s."""
    server = ServerProcess(database, *arguments, files=files, before=before, **variables)
    try:
        server.wait_ready()
        yield server
    finally:
        server.kill()


@contextmanager
def forked(
    database: str, count: int = 1, machines: Sequence[Machine] | None = None, **settings: Any
) -> Iterator[Sequence[ForkedServer]]:
    """Starts `count` servers on one database, waits until they are ready, and at the end kills those that still run.

    With `machines` there is one on each of them.
    """
    places: Sequence[Machine | None] = machines or [None] * count
    servers = [ForkedServer(database, machine=machine, **settings) for machine in places]
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.kill)
            server.start()
        for server in servers:
            server.wait_ready()
        yield servers
