"""The npm package as a user gets it: packed by `make`, and installed from its tarball in a folder of its own."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from playwright._impl._driver import compute_driver_executable

from testing.patience import PATIENCE
from testing.repository import ROOT
from testing.tools import find_tool, skip_or_fail

__all__ = ["NPM", "Packed", "install", "install_from_registry", "npm_package", "sqlite_node"]

NPM = ("npm", "--no-audit", "--no-fund", "--loglevel=error")


class Packed:
    """What `make npm-package` made, and what it printed."""

    def __init__(self, folder: Path) -> None:
        find_tool("npm")
        self.printed = _run("make", "--no-print-directory", "npm-package", f"DIST={folder}", cwd=ROOT)
        [self.tarball] = folder.glob("*.tgz")


def npm_package(folder: Path) -> Packed:
    """The package, packed into `folder`."""
    return Packed(folder)


def install(packed: Packed, folder: Path) -> None:
    """Makes `folder` a project that has the package, for which no registry is asked."""
    (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    _run(*NPM, "install", "--offline", str(packed.tarball), cwd=folder)


def install_from_registry(folder: Path, *packages: str) -> None:
    """Adds packages to a project; where no registry is reached, the test is skipped, or fails in CI."""
    try:
        _run(*NPM, "install", *packages, cwd=folder)
    except subprocess.CalledProcessError as failed:
        skip_or_fail(f"npm cannot install {', '.join(packages)}: {failed.stderr}")


@cache
def sqlite_node() -> str:
    """A Node that has `node:sqlite`: the one on the path, or the one that Playwright brings."""
    candidates = filter(None, (shutil.which("node"), str(compute_driver_executable()[0])))
    found = next(filter(_has_sqlite, candidates), None)
    if found is None:
        skip_or_fail("no Node with node:sqlite: it needs 22.13 or later")
    return found


def _has_sqlite(node: str) -> bool:
    tried = subprocess.run([node, "-e", "require('node:sqlite')"], capture_output=True, check=False)
    return tried.returncode == 0


def _run(*command: str, cwd: Path) -> str:
    environment = os.environ | {"NO_UPDATE_NOTIFIER": "1"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return done.stdout
