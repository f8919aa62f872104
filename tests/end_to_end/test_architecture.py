"""The page on the architecture names what exists: every module and function, every folder of every package."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from testing.repository import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(dither_[a-z_]+(?:\.\w+)+)`", PAGE)))
PACKAGES = {"dither_client": "client", "dither_estimator": "estimator", "dither_server": "server"}


def find(name: str) -> Any:
    """What a dotted name means. Raises `AttributeError` or `ModuleNotFoundError`."""
    module, *rest = name.split(".")
    found = import_module(module)
    for part in rest:
        if not hasattr(found, part):
            import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_exists(name: str) -> None:
    find(name)


@pytest.mark.parametrize("name", ["dither_client.client.Client.reply", "dither_server.routes"])
def test_what_does_not_exist_is_found_out(name: str) -> None:
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        find(name)


def rows(package: str) -> Iterator[str]:
    """The names in the first column of a package's table."""
    _, _, section = PAGE.partition(f"### `{package}`\n")
    for line in section.partition("\n#")[0].splitlines():
        if line.startswith("| `"):
            yield from re.findall(r"`(\w+)`", line.split("|")[1])


@pytest.mark.parametrize("package", PACKAGES)
def test_each_folder_and_module_has_its_row(package: str) -> None:
    home = ROOT / PACKAGES[package] / package
    there = {path.stem for path in home.iterdir() if path.suffix == ".py" or path.is_dir()} - {
        "__init__",
        "__pycache__",
    }
    assert sorted(rows(package)) == sorted(there)


def test_each_thread_has_its_row() -> None:
    _, _, section = PAGE.partition("\n## Threads\n")
    told = set(re.findall(r"^\| (\w+), `", section, flags=re.MULTILINE))
    named = re.compile(r'(?:name|thread_name_prefix)="dither-(\w+)"')
    files = (ROOT / "server" / "dither_server").rglob("*.py")
    assert told == {name for file in files for name in named.findall(file.read_text(encoding="utf-8"))}
