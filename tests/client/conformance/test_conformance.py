"""`dither conformance`: the clients pass, the command says what was broken, and so does its exit status."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from dither_client.commands import conformance, run
from dither_client.conformance import device
from dither_client.conformance.run import run_scenarios
from dither_client.conformance.scenarios import SCENARIOS
from testing.forked_client import ForkedClient
from testing.reader import blocks
from testing.repository import ROOT
from testing.tools import find_tool

PYTHON = [sys.executable, "-c", "from dither_client.commands import main; main()"]
THIRD = [sys.executable, str(ROOT / "tests" / "oracles" / "third_program.py")]
FORKED = ["dither"]
IN_FORKS = SimpleNamespace(
    Popen=ForkedClient, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT, TimeoutExpired=subprocess.TimeoutExpired
)


@pytest.mark.slow
def test_the_python_client_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In forks, since a new process imports for 0.4 s and there are 195; two as everybody starts it.

    A client in forks that forgets its ledger after each run, the broken variant, is found out as in new processes.
    """
    assert broken_by(PYTHON, "honest") == {}
    monkeypatch.setattr(device, "subprocess", IN_FORKS)
    assert broken_by(FORKED) == {}
    monkeypatch.setattr(IN_FORKS, "Popen", ForgetfulClient)
    assert set(broken_by(FORKED, "honest", "two-at-once", "killed-at-answer", "changed-components", "bad-values")) == {
        *("honest", "two-at-once", "killed-at-answer", "changed-components")
    }


@pytest.mark.slow
def test_a_client_by_others_breaks_nothing() -> None:
    assert broken_by(THIRD) == {}


def broken_by(command: list[str], *scenarios: str) -> dict[str, str]:
    """What a client breaks, by scenario; in all of them unless some are named."""
    found = run_scenarios(command, {name: SCENARIOS[name] for name in scenarios or SCENARIOS})
    return {name: reason for name, reason in found.items() if reason is not None}


class ForgetfulClient(ForkedClient):
    """The client with a new ledger each time."""

    def __init__(self, command: list[str], **options: Any) -> None:
        after_ledger = command.index("--ledger") + 1
        super().__init__(
            [*command[:after_ledger], f"{command[after_ledger]}-{uuid4()}", *command[after_ledger + 1 :]], **options
        )


@pytest.mark.parametrize("command", ["true", "false"])
def test_programs_that_are_no_clients_are_found_out(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", "--command", command, "--json"]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert set(report) == {"scenarios", "passed", "broken"}
    assert report["scenarios"] == report["passed"] + len(report["broken"])
    assert {"honest", "killed-at-answer", "charged-first", "two-at-once"} <= set(report["broken"])
    assert "BROKEN honest" in err


def test_the_line_on_the_protocols_page_tries_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one scenario, since what a program without a receipt breaks in each is known of others."""
    find_tool("node")
    monkeypatch.setattr(conformance, "SCENARIOS", {"honest": SCENARIOS["honest"]})
    [line] = blocks("docs/protocol.md", "bash")
    (tmp_path / "my-client.mjs").write_text("process.exit(1);")
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(line)[1:]) == 1
    assert "BROKEN honest" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", "   ", "'", "/no/such/program", "no-such-program-anywhere"])
def test_what_is_no_program_is_bad_input(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", "--command", command]) == 2
    assert capsys.readouterr().err.startswith("dither: command must be a program")
