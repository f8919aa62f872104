"""A simulated respondent's device: a client program that is run repeatedly with one ledger, and killed on command."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dither_client.conformance.server import HostileServer

__all__ = ["SECOND_VALUE", "VALUE", "Broken", "Device", "repeats_a_value"]

VALUE = "83.17406251"
"""The respondent's value. No request and no output may contain it."""

SECOND_VALUE = "41.20938176"
"""Another number of the same respondent, where several are asked for; it is as secret."""

_RUN_TIMEOUT = 90.0
"""Seconds that one run may take: a client may wait for 30 seconds at a time."""


class Broken(Exception):
    """A client broke a rule of the protocol; the message says how, in a sentence."""


def repeats_a_value(text: bytes) -> bool:
    """Whether a text has one of the respondent's values in it, with or without its point."""
    return any(
        some.encode() in text for value in (VALUE, SECOND_VALUE) for some in (value[:8], value.replace(".", "")[:8])
    )


class Device:
    """A folder with the ledger, and the `command` to run as `COMMAND answer … ID -` with the value on its input."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = list(command)
        self.folder = folder
        folder.mkdir()
        self._running: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def start(
        self, server: HostileServer, collection: str = "c", value: str = VALUE, options: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Starts the program in its own process group."""
        where = ["answer", "--url", server.url, "--ledger", str(self.folder / "ledger"), *options, collection, "-"]
        environment = {name: text for name, text in os.environ.items() if not name.upper().startswith("DITHER_")}
        process = subprocess.Popen(
            [*self._command, *where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=environment,
            start_new_session=True,
        )
        with self._lock:
            self._running.append(process)
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(f"{value}\n".encode())
            process.stdin.close()
        process.stdin = None
        return process

    def end(self, process: subprocess.Popen[bytes]) -> int:
        """Waits for the program; returns its exit status. Raises `Broken` if it does not end, or repeats the value."""
        try:
            output, _ = process.communicate(timeout=_RUN_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            process.communicate()
            raise Broken(f"it did not end within {_RUN_TIMEOUT:g} seconds") from None
        if repeats_a_value(output):
            raise Broken("its output repeats the value")
        return process.returncode

    def run(
        self, server: HostileServer, collection: str = "c", value: str = VALUE, options: Sequence[str] = ()
    ) -> bool:
        """Runs the program; returns whether it exited with status 0, which means that it has a receipt."""
        return self.end(self.start(server, collection, value, options)) == 0

    def kill(self) -> None:
        """Kills every running process of the program, as a power failure would."""
        with self._lock:
            for process in self._running:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def copy(self, folder: Path) -> None:
        """Copies the folder with the ledger."""
        shutil.copytree(self.folder, folder)

    def restore(self, folder: Path) -> None:
        """Replaces the folder with the ledger by a copy."""
        shutil.rmtree(self.folder)
        shutil.copytree(folder, self.folder)
