"""README's commands and its Python, run one after the other against a real server."""

import re
from collections.abc import Iterator

import pytest

from testing.reader import ROOT, Shell, blocks, reading
from testing.servers.defaults import ADMIN_TOKEN

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text()
WRITTEN = "http://127.0.0.1:8000"
ELSEWHERE = ("make ", "pip install", "dither serve")
"""What other tests run."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with reading(tmp_path_factory.mktemp("reader")) as shell:
        yield shell


def test_every_command_of_the_readme_works_as_written(shell: Shell) -> None:
    commands = [line for block in blocks("README.md", "bash") for line in block.splitlines()]
    assert len(commands) > 12
    for command in commands:
        if command.startswith("export ID="):
            shell.environment["ID"] = shell.run(f'{command}\necho "$ID"').strip()
        if command.startswith(ELSEWHERE) or command.startswith("export "):
            continue
        printed = shell.run(command, typed="540\n")
        if command.startswith("dither posterior") and "--plot" not in command:
            assert "2,001" in printed or "2001" in printed
    assert {file.name for file in shell.folder.iterdir()} >= {"wages.json", "wages.png", "counts.csv"}

    [python] = blocks("README.md", "python")
    written = python.replace(WRITTEN, shell.environment["DITHER_URL"]).replace('token="…"', f'token="{ADMIN_TOKEN}"')
    printed = shell.run_python(written.replace('"ID"', repr(shell.environment["ID"])))
    [median, low, high, share] = map(float, re.findall(r"\d+\.\d+(?:e[-+]?\d+)?", printed)[-4:])
    assert 0 < low < median < high
    assert 0 < share < 1


def test_the_variables_that_the_readme_exports_are_the_ones_that_commands_read() -> None:
    exported = re.findall(r"^export (\w+)=", README, flags=re.MULTILINE)
    assert exported == ["DITHER_URL", "DITHER_TOKEN", "ID"]
    assert f"DITHER_URL={WRITTEN}\n" in README


def test_the_picture_of_the_readme_is_there() -> None:
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert (ROOT / picture).stat().st_size > 20_000
