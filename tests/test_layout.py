"""How the packages may depend on each other and on the world, read from their source."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "client" / "dither_client"
MAY_IMPORT = {
    "client": {"dither_client"},
    "estimator": {"dither_client", "dither_estimator"},
    "server": {"dither_client", "dither_estimator", "dither_server", "dither_migrations"},
}

every_module = pytest.mark.parametrize(
    "module",
    [module for folder in MAY_IMPORT for module in sorted((ROOT / folder).glob("dither_*/**/*.py"))],
    ids=lambda module: str(module.relative_to(ROOT)),
)


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The top-level packages that these nodes import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add((node.module or "").partition(".")[0])
    return names


def run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: not the bodies of functions, nor what is for type checkers."""
    yield node
    for child in ast.iter_child_nodes(node):
        lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not lazy and not for_types:
            yield from run_on_import(child)


def parse(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@every_module
def test_imports_run_one_way(module: Path) -> None:
    ours = {name for name in imported(ast.walk(parse(module))) if name.startswith("dither_")}
    assert ours <= MAY_IMPORT[module.relative_to(ROOT).parts[0]]


@every_module
def test_public_names_are_explicit(module: Path) -> None:
    """A module that defines anything says what of it is public."""
    tree = parse(module)
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    if any(isinstance(node, definitions) for node in tree.body):
        assigned = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
        assigned += [[node.target] for node in tree.body if isinstance(node, ast.AnnAssign)]
        assert "__all__" in {ast.unparse(target) for targets in assigned for target in targets}


@pytest.mark.parametrize(
    "module",
    sorted({*CLIENT.rglob("*.py")} - {*CLIENT.glob("commands/*.py")} - {CLIENT / "plots.py"}),
    ids=lambda module: str(module.relative_to(CLIENT)),
)
def test_the_bare_client_needs_httpx2_alone(module: Path) -> None:
    """Outside the command line and the plots, what is imported at import time is ours, httpx2 or Python's."""
    others = imported(run_on_import(parse(module))) - {"dither_client", "httpx2"}
    assert others <= sys.stdlib_module_names


def test_the_bare_client_runs_without_any_extra() -> None:
    """Nor is anything else loaded: `import dither_client` with every extra hidden."""
    hidden = ["typer", "rich", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "fastapi", "sqlalchemy", "pydantic"]
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); import dither_client"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_a_package_without_its_extra_says_which() -> None:
    for package, hidden, extra in (("estimator", "scipy", "estimator"), ("server", "fastapi", "server")):
        code = f"import sys; sys.modules[{hidden!r}] = None; import dither_{package}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1
        assert f"pip install 'dither[{extra}]'" in done.stderr
