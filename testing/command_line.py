"""What tests do with `dither`, and what they look for in its output."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from testing.patience import PATIENCE
from testing.servers.fake_server import FakeServer

__all__ = ["DIGITS", "VALUE", "Answer", "Dither", "Outcome", "check_refusal", "panel", "type_at_the_prompt"]

VALUE = "-31415.9265"
DIGITS = "31415"
"""What nothing but the command line and the prompt may contain of it."""

Answer = Callable[..., tuple[int, str, str]]
"""Runs `dither answer`, and returns its status, standard output and standard error."""


class Outcome:
    """The outcome of one run of `dither`."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def one_sentence(self) -> str:
        """The error: one line, no traceback."""
        assert self.err.startswith("dither: ")
        assert self.err.count("\n") == 1
        assert self.out == ""
        return self.err


Dither = Callable[..., Outcome]
"""Runs `dither` with these arguments."""


def check_refusal(outcome: tuple[int, str, str], status: int, says: str) -> None:
    """The outcome is one sentence that says so, without the value."""
    assert outcome[0] == status
    assert outcome[1] == ""
    assert outcome[2].startswith("dither: ")
    assert outcome[2].count("\n") == 1
    assert says in outcome[2]
    assert DIGITS not in outcome[2]


def type_at_the_prompt(server: FakeServer, ledger: Path, *texts: str) -> tuple[int, str, str]:
    """Runs `dither answer laplace` on a terminal of its own, on which each text is typed when it is asked for.

    Returns its status, the screen, and its standard output.
    """
    main, other = os.openpty()
    code = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "from dither_client.commands import main; main()"
    )
    command = [sys.executable, "-c", code, "answer", "laplace", "--url", server.url, "--ledger", str(ledger), "--json"]
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command, stdin=other, stderr=other, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(other)
    screen = b""
    for asked, text in enumerate(texts, 1):
        while len(re.findall(rb"\(it is not shown\): |\((?:d|y or n)\)\? ", screen)) < asked:
            screen += os.read(main, 1000)
        os.write(main, text.encode() + b"\n")
    out, _ = process.communicate(timeout=PATIENCE)
    with suppress(OSError):
        while True:
            screen += os.read(main, 1000)
    os.close(main)
    return process.returncode, screen.decode(), out.decode()


def panel(server: FakeServer, **change: Any) -> None:
    """Makes the collection `laplace` a panel: of two months, both of which are turns, unless it is changed."""
    terms = server.terms("laplace") | {"period": "month", "panel": {"answers": 2, "periods": 2}} | change
    server.refusals["/v1/collections/laplace"] = (200, terms)
