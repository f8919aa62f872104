"""The project's own declaration: its packages, its commands, and what its extras ask for."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from testing.patience import PATIENCE
from testing.repository import ROOT

__all__ = ["COMMANDS", "PACKAGES", "project", "run", "wanted"]

PACKAGES = ("dither_client", "dither_estimator", "dither_server", "dither_migrations", "dither_papers")
COMMANDS = (
    "answer",
    "collection",
    "demo",
    "design",
    "doctor",
    "estimate",
    "export",
    "plan",
    "posterior",
    "release",
    "reproduce",
    "serve",
    "simulate",
    "token",
    "verify",
    "watch",
)


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command, and keeps what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)


def wanted(*extras: str) -> list[Requirement]:
    """What these extras of the project ask for, extras that they name among them."""
    found = [Requirement(line) for line in project()["dependencies"]] if extras else []
    for extra in extras:
        for requirement in map(Requirement, project()["optional-dependencies"][extra]):
            found += wanted(*requirement.extras) if requirement.name == "dither" else [requirement]
    return found
