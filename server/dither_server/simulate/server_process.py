"""A real server in a process of its own, for demonstrations, tests and benchmarks."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from dither_client import Retry, ServerError
from dither_client.transport.json_api import Api

__all__ = ["ServerFailed", "ServerProcess", "database_url"]

_START_STOP_SECONDS = 300.0
"""The longest wait for a server that neither starts nor ends. A busy machine takes more than a minute."""


class ServerFailed(RuntimeError):
    """The server did not start; the message is its last log line."""


class ServerProcess:
    """`dither serve` on this machine, with its log in `folder`. Raises `ServerFailed`.

    `database` is a URL, by default of an SQLite file in `folder`; a server with a `database` gets a secret made from
    the token. `variables` are further settings.
    """

    def __init__(self, folder: Path, token: str, port: int = 0, database: str | None = None, **variables: str) -> None:
        self.token = token
        self.log = folder / "server.log"
        settings = {"DITHER_ADMIN_TOKEN": token, "DITHER_LOG_FORMAT": "json", "DITHER_LOG_LEVEL": "info"}
        if database is not None:
            settings["DITHER_SECRET"] = f"the secret beside {token}"
        inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith("DITHER_")}
        command = [sys.executable, "-c", "from dither_client.commands import main; main()", "serve"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(port), "--database", database or database_url(folder)],
                env=inherited | settings | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal goes only to the parent process, which then stops the server.
                start_new_session=True,
            )
        try:
            self.url = self._wait()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def stop(self) -> int:
        """Asks the server to finish, waits until it has, and returns its exit status."""
        self._process.terminate()
        return self._process.wait(_START_STOP_SECONDS)

    def wait(self) -> None:
        """Waits until the server ends by itself."""
        self._process.wait()

    def kill(self) -> None:
        """Ends the process at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def _wait(self) -> str:
        deadline = time.monotonic() + _START_STOP_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            url = self._announced()
            if url is not None and _ready(url):
                return url
            time.sleep(0.05)
        said = self.log.read_text(errors="replace").strip().splitlines()
        raise ServerFailed(said[-1] if said else "the server did not start")

    def _announced(self) -> str | None:
        """The URL that the server has logged on starting to listen, if it has."""
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "url" in event:
                return str(event["url"])
        return None


def database_url(folder: Path) -> str:
    """The URL of the SQLite database of a server in `folder`."""
    return f"sqlite:///{folder / 'dither.sqlite'}"


def _ready(url: str) -> bool:
    with Api(url, retry=Retry(attempts=1)) as api:
        try:
            return bool(api.get("/readyz"))
        except ServerError:
            return False
