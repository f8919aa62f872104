"""What developers run: the Makefile and the pipeline; and links between documents lead somewhere."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testing.project import run
from testing.repository import ROOT


def test_make_knows_every_target() -> None:
    for target in ("setup", "demo", "test", "check", "bench", "npm-package"):
        planned = run("make", "--dry-run", target, cwd=ROOT)
        assert planned.returncode == 0, planned.stderr


def test_make_says_which_python_is_missing(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    refused = run("make", "setup", "PYTHON=/no/such/python", cwd=tmp_path)
    assert refused.returncode != 0
    assert "Dither needs Python 3.11 or newer" in refused.stderr


SETUP_STUB = """#!/bin/sh
[ "$1" = -c ] && exit 0
echo "pip was asked for $*"
case "$*" in *"$FAILS"*) echo "ERROR: no such package" >&2; exit 1;; esac
"""


@pytest.mark.parametrize("fails", ["server", "dev", "nothing at all"])
def test_make_setup_says_what_it_does_and_fails_where_pip_does(tmp_path: Path, fails: str) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(SETUP_STUB)
    python.chmod(0o700)
    (tmp_path / ".venv" / ".installed").touch()
    os.utime(tmp_path / ".venv" / ".installed", (0, 0))
    done = run("make", "setup", cwd=tmp_path, env=os.environ | {"FAILS": fails})
    stages = [line for line in done.stdout.splitlines() if line.startswith("Installing ")]
    asked = [line for line in done.stdout.splitlines() if line.startswith("pip was asked")]
    assert len(stages) == len(asked) == (1 if fails == "server" else 3)
    if fails == "nothing at all":
        assert done.returncode == 0, done.stderr
        assert asked[-1].endswith(".[dev]")
    else:
        assert done.returncode != 0
        assert "ERROR: no such package" in done.stderr
        assert (tmp_path / ".venv" / ".installed").stat().st_mtime == 0


def test_the_pipeline_checks_and_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/usr/bin/env bash")
    assert "set -euo pipefail" in script
    assert [line for line in script.splitlines() if line.startswith("make")] == ["make check", "make test"]
    assert run("bash", "-n", ROOT / ".ci" / "run").returncode == 0


@pytest.mark.parametrize("find", [lambda: ROOT.glob("*.md"), lambda: (ROOT / "docs").rglob("*.md")])
def test_links_between_documents_lead_somewhere(find: Callable[[], Any]) -> None:
    for document in find():
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
            if not link.startswith(("http:", "https:", "reference/")):  # the reference is built with the site
                assert (document.parent / link).exists(), f"{document.name}: {link}"
