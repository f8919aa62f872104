"""What the protocol's page says is enough for a client: one written from it alone meets every vector."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest
import third_client
import third_program

from testing.repository import TESTS
from tests.client.conformance.mutants import MODULES
from tests.client.conformance.third_checks import CHECKS

ORACLES = TESTS / "oracles"


@pytest.mark.parametrize("module", [third_client, third_program], ids=lambda module: module.__name__)
def test_it_has_nothing_of_ours(module: ModuleType) -> None:
    assert imported(module.__name__) <= sys.stdlib_module_names | set(MODULES)


def imported(name: str) -> set[str]:
    """What a module imports, and what those of `MODULES` do that it imports."""
    tree = ast.parse((ORACLES / f"{name}.py").read_text(encoding="utf-8"))
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    found = {each.partition(".")[0] for each in named}
    return found.union(*(imported(each) for each in found & set(MODULES)))


@pytest.mark.parametrize("check", CHECKS)
def test_vectors(check: str, tmp_path: Path) -> None:
    CHECKS[check](third_client, third_program, tmp_path)
