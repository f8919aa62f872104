"""README's commands and its Python, run one after the other against a real server."""

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dither_server.simulate.server_process import running_server

pytestmark = pytest.mark.slow

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
TOKEN = "the-admin-token"
WRITTEN = "http://127.0.0.1:8000"
ELSEWHERE = ("make demo", "pip install", "dither serve")
"""What other tests run."""


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
                timeout=120,
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


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "server").mkdir()
    with running_server(folder / "server", TOKEN) as server:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DITHER_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        own = {"PATH": path, "DITHER_URL": server.url, "DITHER_TOKEN": TOKEN, "XDG_DATA_HOME": str(folder / "data")}
        yield Shell(folder, environment | own)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_every_command_of_the_readme_works_as_written(shell: Shell) -> None:
    commands = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(commands) > 12
    for command in commands:
        if command.startswith(ELSEWHERE) or command.startswith("export "):
            continue
        printed = shell.run(command, typed="540\n")
        if command.startswith("dither collection create"):
            found = re.search(r"\b[a-z2-9]{10}\b", printed)
            assert found, printed
            shell.environment["ID"] = found.group()
        if command.startswith("dither posterior") and "--plot" not in command:
            assert "2,001" in printed or "2001" in printed
    assert {file.name for file in shell.folder.iterdir()} >= {"wages.json", "wages.png", "counts.csv"}

    [python] = blocks("python")
    written = python.replace(WRITTEN, shell.environment["DITHER_URL"]).replace('token="…"', f'token="{TOKEN}"')
    (shell.folder / "snippet.py").write_text(written.replace('"ID"', repr(shell.environment["ID"])))
    printed = shell.run("python snippet.py")
    assert "mu" in printed
    assert "sigma" in printed


def test_the_variables_that_the_readme_exports_are_the_ones_that_commands_read() -> None:
    exported = re.findall(r"^export (\w+)=", README, flags=re.MULTILINE)
    assert exported == ["DITHER_URL", "DITHER_TOKEN", "ID"]
    assert f"DITHER_URL={WRITTEN}\n" in README


def test_the_picture_of_the_readme_is_there() -> None:
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert (Path(__file__).parent.parent.parent / picture).stat().st_size > 20_000
