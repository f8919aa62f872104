"""Where the tables are read: `reads.py` and `conduct.py` say which are theirs, any other stays within one folder."""

import ast
import re
from types import ModuleType

import pytest

from dither_server.database import conduct, reads, schema
from testing.repository import ROOT

READS = (reads, conduct)
SERVER = ROOT / "server" / "dither_server"
LOCKED_ELSEWHERE = {("collections", "answers")}
"""Tables that another folder reads in its own transactions: an answer is stored under its collection's rules."""


def users() -> dict[str, set[str]]:
    """The folders whose modules import each table, those apart, and `purge.py`, which empties all of them."""
    found: dict[str, set[str]] = {name: set() for name in schema.metadata.tables}
    for file in SERVER.rglob("*.py"):
        if file.name in ("reads.py", "conduct.py", "purge.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dither_server.database.schema":
                for alias in node.names:
                    found[alias.name].add(file.parent.name)
    return found


def own(module: ModuleType) -> set[str]:
    """The tables that this module reads."""
    return {name for name in schema.metadata.tables if name in vars(module)}


@pytest.mark.parametrize("module", READS)
def test_the_module_says_which_tables_it_reads(module: ModuleType) -> None:
    first, _, _ = str(module.__doc__).partition(" are here")
    assert set(re.findall(r"`(\w+)`", first)) == own(module)


def test_any_other_table_stays_within_one_folder() -> None:
    for table, folders in users().items():
        others = {folder for folder in folders if (table, folder) not in LOCKED_ELSEWHERE}
        assert len(others) <= 1, (table, folders)
        assert any(table in own(module) for module in READS) or len(others) == 1, table
