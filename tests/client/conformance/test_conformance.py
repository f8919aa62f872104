"""`dither conformance`: the clients pass, the command says what was broken, and so does its exit status."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from dither_client.commands import conformance, run
from dither_client.conformance.run import run_scenarios
from dither_client.conformance.scenarios import SCENARIOS
from testing.reader import blocks
from testing.repository import ROOT
from testing.tools import find_tool

CLIENTS = {
    "python": [sys.executable, "-c", "from dither_client.commands import main; main()"],
    "third": [sys.executable, str(ROOT / "tests" / "oracles" / "third_program.py")],
}


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_the_clients_break_nothing(client: str) -> None:
    broken = {name: reason for name, reason in run_scenarios(CLIENTS[client]).items() if reason is not None}
    assert broken == {}


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
