"""The command line in processes that are forked with everything imported: most of a short one's time is its imports."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from typing import Any

from dither_client.commands import main
from testing.servers.process import forks

__all__ = ["ForkedClient"]

_counting = threading.Lock()
"""Whoever starts a process of `multiprocessing` looks after all of them, which only one may do at a time."""


class ForkedClient:
    """What `subprocess.Popen` is for a conformance test's device, if the program is `dither`.

    The first word of its command is left out. Like there, it is a session of its own once it is made.
    """

    def __init__(self, command: Sequence[str], *, cwd: os.PathLike[str], env: Mapping[str, str], **_: Any) -> None:
        self._ours, theirs = socket.socketpair()
        self.stdin: Any = _Input(self._ours)
        self.returncode = 0
        self._process = forks.Process(target=_run, args=(theirs, list(command), os.fspath(cwd), dict(env)))
        with _counting, theirs:
            self._process.start()
        assert self._ours.recv(1) == _READY

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return int(self._process.pid or 0)

    def communicate(self, timeout: float | None = None) -> tuple[bytes, None]:
        """What it wrote, once it has ended. Raises `subprocess.TimeoutExpired`."""
        self._ours.settimeout(timeout)
        output = bytearray()
        try:
            while part := self._ours.recv(65_536):
                output += part
        except ConnectionResetError:
            pass  # it did not read what it was told
        except TimeoutError:
            raise subprocess.TimeoutExpired("dither", timeout or 0.0) from None
        self.wait()
        self._ours.close()
        return bytes(output), None

    def poll(self) -> int | None:
        """The exit status, minus the signal's number if that ended it; None if it still runs."""
        return self.wait() if wait([self._process.sentinel], 0) else None

    def wait(self) -> int:
        """The exit status, once there is one."""
        wait([self._process.sentinel])
        with _counting:
            self._process.join()
        self.returncode = int(self._process.exitcode or 0)
        return self.returncode


class _Input:
    """The standard input of a program, which ends when it is closed."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self.write = end.sendall

    def close(self) -> None:
        self._end.shutdown(socket.SHUT_WR)


_READY = b"\n"


def _run(end: socket.socket, command: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    end.sendall(_READY)
    for number in range(3):
        os.dup2(end.fileno(), number)
    end.close()
    sys.stdin = os.fdopen(0)
    sys.argv = [*command]
    main()
