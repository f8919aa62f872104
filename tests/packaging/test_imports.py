"""What the packages import: each other in one direction, and of others what is declared."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from testing.project import PACKAGES, project, wanted
from testing.repository import ROOT


def module_of(requirement: str) -> str:
    return re.split(r"[\[<>=]", requirement)[0]


def test_the_bare_requirement_is_httpx2_alone() -> None:
    assert [module_of(requirement) for requirement in project()["dependencies"]] == ["httpx2"]


def test_imports_run_one_way() -> None:
    """server → estimator → client; the migrations need the client alone."""
    allowed = {
        "client/dither_client": {"dither_client"},
        "estimator/dither_estimator": {"dither_client", "dither_estimator"},
        "server/dither_server": {"dither_client", "dither_estimator", "dither_server", "dither_migrations"},
        "migrations/dither_migrations": {"dither_client", "dither_migrations"},
    }
    for folder, packages in allowed.items():
        for file in (ROOT / folder).rglob("*.py"):
            imported = re.findall(r"^\s*(?:from|import) (dither_\w+)", file.read_text(), flags=re.MULTILINE)
            assert set(imported) <= packages, file


def imports(package: Path) -> set[str]:
    """The top-level modules of others that a package imports, for types alone or not."""
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - set(PACKAGES)


@pytest.mark.parametrize(
    ("package", "extras"),
    [
        ("client/dither_client", ["cli", "receipts", "relay", "tables", "warehouse", "plot", "arviz"]),
        ("estimator/dither_estimator", ["estimator", "tables", "dask"]),
        ("estimator/dither_papers", ["papers", "dask", "demo"]),
        ("server/dither_server", ["server", "postgres", "loadgen", "demo", "papers", "plot"]),
        ("migrations/dither_migrations", ["server"]),
    ],
)
def test_what_is_imported_is_declared(package: str, extras: list[str]) -> None:
    """Each import is declared by its own name: what comes along with something else may stay away another day."""
    declared = {canonicalize_name(requirement.name) for requirement in wanted(*extras)}
    distributions = packages_distributions()
    for module in imports(ROOT / package):
        assert module in distributions, f"{module} is not installed"
        assert {canonicalize_name(name) for name in distributions[module]} & declared, module
