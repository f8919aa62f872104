"""One ledger under many processes, and under processes that are killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dither_client import Client, Ledger, Retry
from testing.patience import PATIENCE
from testing.servers.fake_server import FakeServer

SCRIPT = str(Path(__file__).with_name("ledger_processes.py"))


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def finish(process: "subprocess.Popen[str]") -> Any:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return json.loads(out)


def race(job: str, path: Path) -> list[Any]:
    """What six processes print that do the same job at the same time."""
    processes = [start(job, path, *([number] if job == "race" else [])) for number in range(1, 7)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [finish(process) for process in processes]


def test_processes_race_to_make_files(tmp_path: Path) -> None:
    race("make", tmp_path)
    for path in tmp_path.glob("*.sqlite"):
        with Ledger(path) as ledger:
            assert ledger.entries() == []
            assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_processes_race_to_answer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    told = race("race", path)
    with Ledger(path, max_epsilon=1) as ledger:
        assert float(ledger.spent()) == 1.0, "ten charges of a tenth fit below the cap of 1.05, an eleventh does not"
        charged = {charge.collection for charge in ledger.entries()}
    assert len(charged) == 10
    for collection in charged:
        answers = {tuple(used[collection]) for used in told if collection in used}
        assert len(answers) == 1, "every process uses the ticket and the answer that were stored first"
    assert set().union(*told) == charged
    assert len({ticket for used in told for ticket, _ in used.values()}) > 1, "there was a race at all"


def test_a_ledger_survives_a_fork(tmp_path: Path) -> None:
    assert finish(start("fork", tmp_path / "ledger.sqlite")) == {"error": "OverCap", "spent": 1.0}


@pytest.mark.parametrize(
    "turns", [pytest.param((), id="once", marks=pytest.mark.long), pytest.param((1, 2), id="panel")]
)
def test_killed_between_any_two_steps(server: FakeServer, tmp_path: Path, turns: tuple[int, ...]) -> None:
    """Whenever the process dies, the next one sends the same bytes as it did or would have, and ε is spent once.

    In a panel it is spent once for all turns together, of which the current period is one.
    """
    deadly_step = 0
    while True:
        deadly_step += 1
        collection, path = f"c{deadly_step}", tmp_path / f"{deadly_step}.sqlite"
        server.questions[collection] = server.questions["laplace"]
        if turns:
            panel = {"period": "month", "panel": {"answers": 2, "periods": 2}}
            server.refusals[f"/v1/collections/{collection}"] = (200, {**server.terms(collection), **panel})
        process = start("answer", path, server.url, collection, 0.5, deadly_step)
        out, err = process.communicate(timeout=PATIENCE)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, err
        check_retry(server, path, collection, max(1, len(turns)))
    assert json.loads(out)["steps"] == deadly_step - 1
    assert deadly_step > 15, "statements and requests were counted"


def check_retry(server: FakeServer, path: Path, collection: str, answers: int) -> None:
    responses = f"/v1/collections/{collection}/responses"
    before = server.sent_to(responses)
    with Ledger(path) as ledger, Client(server.url, ledger, retry=Retry(attempts=1)) as client:
        turns = ledger.turns(server.url, collection)
        assert len(turns) in ((0,) if answers == 1 else (0, answers)), "all turns or none"
        entry = ledger.find(server.url, collection, *turns[:1])
        tickets = len(server.sent_to(f"/v1/collections/{collection}/tickets"))
        assert tickets == 0 or turns or answers == 1, "a panel's charge comes before the first ticket"
        if entry is not None and entry.state == "sent":
            assert entry.receipt == f"receipt-of-{entry.ticket}"
            assert len(before) == 1
            return
        receipt = client.answer(collection, -12345.678)
        assert ledger.spent() == answers
        assert turns in ((), ledger.turns(server.url, collection))
        asked_again = len(server.sent_to(f"/v1/collections/{collection}/tickets")) - tickets
        assert asked_again == (1 if entry is None else 0)
        if entry is not None:
            assert receipt.receipt == f"receipt-of-{entry.ticket}"
        if entry is not None and entry.answer is not None:
            assert receipt.answer == entry.answer
    after = server.sent_to(responses)
    assert len(after) == len(before) + 1
    assert len(set(after)) == 1
