"""What the protocol's page says is enough for a client: one written from it alone meets every vector."""

import ast
import sys
from pathlib import Path

import pytest
import third_client
import third_program

from tests.client.conformance.third_checks import CHECKS


@pytest.mark.parametrize("module", [third_client, third_program], ids=lambda module: module.__name__)
def test_it_has_nothing_of_ours(module: object) -> None:
    tree = ast.parse(Path(str(getattr(module, "__file__"))).read_text(encoding="utf-8"))  # noqa: B009
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in named} <= sys.stdlib_module_names | {"third_client"}


@pytest.mark.parametrize("check", CHECKS)
def test_vectors(check: str, tmp_path: Path) -> None:
    CHECKS[check](third_client, third_program, tmp_path)
