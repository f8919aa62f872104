"""A thread of the server dies: the process ends, so that whoever runs it starts it again."""

import os
import subprocess
import sys

import pytest

from testing.patience import PATIENCE
from testing.servers.process import free_port

DYING = """
import time
from dither_client.commands import main
from dither_server.{module} import {part}

def die(self):
    time.sleep(1)
    raise RuntimeError("a secret")

{part}._run = die
main()
"""


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("owner.thread", "Learners"),
        ("answers.writer", "Writer"),
        ("service.poller", "Poller"),
        ("replicas.membership", "Membership"),
        ("answers.tally", "Tally"),
    ],
)
def test_the_process_ends_with_it(sqlite_url: str, module: str, part: str) -> None:
    code = DYING.format(module=module, part=part)
    command = [sys.executable, "-c", code, "serve", "--port", str(free_port()), "--database", sqlite_url]
    variables = os.environ | {"DITHER_ADMIN_TOKEN": "the-admin-token", "DITHER_SECRET": "secret of the tests"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "a thread of the server has died" in done.stderr
    assert f"dither-{part.lower()}" in done.stderr
    assert "a secret" not in done.stderr
