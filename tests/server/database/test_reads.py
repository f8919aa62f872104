"""Where the tables are read: `reads.py` says which are its own, and any other stays within one folder."""

import ast
import re

from dither_server.database import reads, schema
from testing.repository import ROOT

SERVER = ROOT / "server" / "dither_server"
LOCKED_ELSEWHERE = {("collections", "answers")}
"""Tables that another folder reads in its own transactions: an answer is stored under its collection's rules."""


def users() -> dict[str, set[str]]:
    """The folders whose modules import each table, `reads.py` apart, and `purge.py`, which empties all of them."""
    found: dict[str, set[str]] = {name: set() for name in schema.metadata.tables}
    for file in SERVER.rglob("*.py"):
        if file.name in ("reads.py", "purge.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dither_server.database.schema":
                for alias in node.names:
                    found[alias.name].add(file.parent.name)
    return found


def own() -> set[str]:
    """The tables that `reads.py` reads."""
    return {name for name in schema.metadata.tables if name in vars(reads)}


def test_the_module_says_which_tables_it_reads() -> None:
    first, _, _ = str(reads.__doc__).partition(" are here")
    assert set(re.findall(r"`(\w+)`", first)) == own()


def test_any_other_table_stays_within_one_folder() -> None:
    for table, folders in users().items():
        others = {folder for folder in folders if (table, folder) not in LOCKED_ELSEWHERE}
        assert len(others) <= 1, (table, folders)
        assert table in own() or len(others) == 1, table
