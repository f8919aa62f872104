"""A reader of the documentation: finds what a page says to type, and types it, beside a server of its own."""

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from testing.patience import PATIENCE
from testing.repository import ROOT
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.process import RunningServer, forked, running

__all__ = ["ROOT", "Shell", "blocks", "fenced", "reading"]


def fenced(text: str) -> list[tuple[str, str]]:
    """The language and the content of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a language on a page, which a test that calls this runs."""
    return [content for tag, content in fenced((ROOT / page).read_text(encoding="utf-8")) if tag == language]


@dataclass
class Shell:
    """A folder, its environment, and what a reader would type."""

    folder: Path
    environment: dict[str, str]

    def run(self, command: str, typed: str = "") -> str:
        """What a command prints; `typed` is what the reader types at a terminal, until the command ends."""
        terminal, shell_end = pty.openpty()
        ended = threading.Event()

        def keep_typing() -> None:
            # Whoever asks without echo forgets what was typed before.
            while not ended.wait(0.5):
                os.write(terminal, typed.encode())

        reader = threading.Thread(target=keep_typing)
        reader.start()
        try:
            done = subprocess.run(
                ["bash", "-euc", command],
                cwd=self.folder,
                env=self.environment,
                stdin=shell_end,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
                start_new_session=True,
            )
        finally:
            ended.set()
            reader.join()
            os.close(terminal)
            os.close(shell_end)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_python(self, code: str) -> str:
        """What a script prints."""
        (self.folder / "snippet.py").write_text(code, encoding="utf-8")
        return self.run("python snippet.py")

    @property
    def url(self) -> str:
        """The server's address."""
        return self.environment["DITHER_URL"]


@contextmanager
def reading(folder: Path, started_anew: bool = False) -> Iterator[Shell]:
    """A shell in `folder`, beside a server whose admin's token it has.

    The server is forked, unless it is to be `started_anew` to know what was changed for it.
    """
    (folder / "server").mkdir()
    database = f"sqlite:///{folder / 'server' / 'dither.sqlite'}"
    with ExitStack() as stack:
        server: RunningServer
        if started_anew:
            server = stack.enter_context(running(database))
        else:
            [server] = stack.enter_context(forked(database))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DITHER_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        own = {
            "PATH": path,
            "DITHER_URL": server.url,
            "DITHER_TOKEN": ADMIN_TOKEN,
            "XDG_DATA_HOME": str(folder / "data"),
        }
        yield Shell(folder, environment | own)
