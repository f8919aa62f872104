"""Fixtures that run `dither` in this process, against the fake server."""

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from dither_client.commands import run
from testing.command_line import Answer, Dither, Outcome
from testing.servers.fake_server import FakeServer


@pytest.fixture
def dither(server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Dither:
    """Runs `dither` with an admin's token for the server."""
    monkeypatch.setenv("DITHER_URL", server.url)
    monkeypatch.setenv("DITHER_TOKEN", "s3cret")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Outcome:
        status = run([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return call


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def answer(
    server: FakeServer, ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Answer:
    """Runs `dither answer`: its status, standard output and standard error."""
    monkeypatch.setenv("DITHER_URL", server.url)

    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        status = run(["answer", "--ledger", str(ledger), *arguments])
        return status, *capsys.readouterr()

    return call
