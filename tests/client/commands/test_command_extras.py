"""A command loads what it needs and no more, and names the extra where something is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from testing.patience import PATIENCE
from testing.servers.fake_server import FakeServer


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE)


MAIN = "import sys; from dither_client.commands import main; "


def test_without_the_extra_of_the_command_line() -> None:
    done = python("import sys; sys.modules['typer'] = None; " + MAIN + "main()", "answer", "x", "42.75")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("dither: this needs typer: install the extra 'cli' with: pip install 'dither[cli]'\n")


@pytest.mark.parametrize("command", ["estimate", "design", "serve"])
def test_a_command_whose_extra_is_missing(command: str) -> None:
    blocked = "import sys; sys.modules.update(numpy=None, scipy=None, fastapi=None); "
    done = python(blocked + MAIN + "main()", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "install the extra" in done.stderr
    listed = python(blocked + MAIN + "main()", "--help")
    assert listed.returncode == 0
    assert f" {command} " in listed.stdout


def test_a_command_loads_only_what_it_needs(server: FakeServer, tmp_path: Path) -> None:
    code = (
        "import sys; from dither_client.commands import run; assert run(sys.argv[1:]) == 0; "
        "print([name for name in ('numpy', 'scipy', 'pandas', 'pyarrow', 'matplotlib', 'fastapi', 'dither_estimator', "
        "'dither_server') if name in sys.modules])"
    )
    arguments = ("answer", "laplace", "0.5", "--url", server.url, "--ledger", str(tmp_path / "ledger.sqlite"))
    done = python(code, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert python(code, "--help").stdout.splitlines()[-1] == "[]"
