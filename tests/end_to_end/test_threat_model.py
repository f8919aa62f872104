"""The threat model names tests that exist, and the database holds what it says and nothing else."""

import ast
import re

import pytest

from dither_server.database.schema import metadata
from testing.repository import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text()
ROWS = [
    line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "what | shown" not in line
]

ANSWERS = {"collection", "ticket", "query", "answer", "received_at", "retry_hash"}
"""The columns of the table that has a row for each answer."""

PERSONAL = ("address", "agent", "cookie", "email", "ip", "person", "phone", "respondent", "user", "value")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip()[:60])
def test_every_claim_is_shown_somewhere(row: list[str]) -> None:
    claim, shown = row
    linked = re.findall(r"\[(test_\w+\.py)\]\(\.\./(tests/[\w/]+\.py)\): ((?:`test_\w+`(?:, )?)+)", shown)
    assert linked or re.search(r"not tested: \w", shown)
    assert linked or "**can**" in claim.lower() or "there is no second server" in shown
    for name, path, tests in linked:
        assert path.endswith(f"/{name}")
        tree = ast.parse((ROOT / path).read_text())
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        for test in re.findall(r"`(test_\w+)`", tests):
            assert test in defined, f"{path} has no {test}"


def test_no_test_is_named_without_its_file() -> None:
    for row in ROWS:
        outside = re.sub(r"\[test_\w+\.py\]\([^)]+\): (?:`test_\w+`(?:, )?)+", "", row[1])
        assert "`test_" not in outside


def test_the_database_holds_nothing_but_what_the_threat_model_says() -> None:
    """No column about a person, whatever is added; and a new column of the answers is a change of the threat model."""
    assert set(metadata.tables["answers"].columns.keys()) == ANSWERS, "write into docs/threat-model.md what it tells"
    for table in metadata.tables.values():
        for name in set(table.columns.keys()) - {"p_value"}:
            assert not set(name.split("_")) & set(PERSONAL), f"{table.name}.{name}"
