"""An operator with a checkout and a fresh machine: installs a server, starts it, and has the first answer in it."""

import json
import os

from testing.patience import PATIENCE
from testing.reader import Shell
from testing.repository import ROOT
from testing.servers.process import free_port
from testing.walks.walk import Walk

__all__ = ["FIRST_ANSWER_SECONDS", "index_is_missing", "walk"]

FIRST_ANSWER_SECONDS = 300.0
"""From a fresh install to the first answer: a promise, of another order than the minute that it takes."""


def walk(stranger: Walk) -> float:
    """Installs, starts, checks, and restarts a server; returns after how many seconds the first answer was stored."""
    environment = stranger.shell.environment
    for name in ("DITHER_URL", "DITHER_TOKEN", "PYTHONPATH"):
        environment.pop(name, None)
    stranger.type("python -m venv installed")
    environment["PATH"] = f"{stranger.shell.folder / 'installed' / 'bin'}{os.pathsep}{environment['PATH']}"
    stranger.type(f"pip install --quiet --disable-pip-version-check '{ROOT}[server]'")
    port = free_port()
    serve = f"dither serve --port {port}"
    server = stranger.start(serve)
    try:
        environment["DITHER_URL"] = f"http://127.0.0.1:{port}"
        _await_ready(stranger)
        environment["DITHER_TOKEN"] = (stranger.shell.folder / "dither.sqlite.admin-token").read_text().strip()
        stranger.write("wages.json", '{"name": "Weekly wages", "minimum": 0, "epsilon": 1}')
        collection = json.loads(stranger.type("dither collection create wages.json --json"))["id"]
        assert "Your answer was sent" in stranger.type(f"dither answer {collection} --ledger mine.sqlite", "540\n")
        first_answer = stranger.seconds
        assert json.loads(stranger.type('dither doctor --url "$DITHER_URL" --json; true'))["findings"]
        stranger.interrupt(server)
        server = stranger.start(serve)
        _await_ready(stranger)
        kept = json.loads(stranger.type(f"dither collection show {collection} --json"))
        assert kept["answers"] == 1
    finally:
        server.kill()
        server.wait(PATIENCE)
    return first_answer


def index_is_missing(shell: Shell) -> bool:
    """Whether this machine has no package index, from which everybody installs."""
    looked = "python -m pip download --quiet --no-deps --dest looked 'httpx2>=2.16'; echo $?"
    return shell.run(looked).split()[-1] != "0"


def _await_ready(stranger: Walk) -> None:
    """Looks until the server is ready, as an operator does who has just started it."""
    stranger.type('until curl --silent --fail --output /dev/null "$DITHER_URL/readyz"; do sleep 0.1; done')
