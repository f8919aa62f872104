"""How the packages may depend on each other and on the world, read from their source."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from dither_client.mechanisms.registry import QUERY_TYPES
from dither_estimator.families import families
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC
from testing.patience import PATIENCE
from testing.repository import ROOT

CLIENT = ROOT / "client" / "dither_client"
MAY_IMPORT = {
    "dither_client": {"dither_client"},
    "dither_estimator": {"dither_client", "dither_estimator"},
    "dither_papers": {"dither_client", "dither_estimator", "dither_papers"},
    "dither_server": {"dither_client", "dither_estimator", "dither_server", "dither_migrations"},
}
MOST_AT_A_ROOT = 12
OF_MECHANISMS = ("dither_client.mechanisms", "dither_estimator.mechanisms", "dither_estimator.design")
"""The folders in which code may depend on which mechanism a query is of."""
FAMILY_NAMES = {*families, NONPARAMETRIC.name, CATEGORICAL.name}
APART = ("dither_client.conformance", "dither_papers")
"""A server that knows nothing of the client, and studies with mechanisms of their own."""

HOMES = {package: next(ROOT.glob(f"*/{package}")).parent for package in [*MAY_IMPORT, "dither_migrations"]}
"""The folder on the path that each package is in."""
MODULES = {
    ".".join(file.relative_to(home).with_suffix("").parts).removesuffix(".__init__"): file
    for package, home in HOMES.items()
    for file in sorted((home / package).rglob("*.py"))
}
FOLDERS = [
    name
    for name, file in MODULES.items()
    if file.name == "__init__.py" and name.count(".") == 1 and name.partition(".")[0] in MAY_IMPORT
]
FOLDERS_OF_PYTHON = ("client", "estimator", "server", "migrations", "tests", "testing", "benchmarks", "docs_build")

every_module = pytest.mark.parametrize(
    "module",
    [file for name, file in MODULES.items() if name.partition(".")[0] in MAY_IMPORT],
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


def run_ever(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that can run at all, in functions too: everything but what is for type checkers."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from run_ever(child)


@cache
def used_by(name: str) -> Set[str]:
    """Our modules that a module imports, when it is imported itself or later."""
    used: set[str] = set()
    for node in run_ever(parse(MODULES[name])):
        if isinstance(node, ast.ImportFrom):
            within = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            used |= within if len(within) == len(node.names) else within | {str(node.module)}
        elif isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
    return used & MODULES.keys() - {name}


def circle(graph: Mapping[str, Set[str]]) -> list[str]:
    """The names on a circle of the graph, the first of them twice; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def folder_of(module: str) -> str:
    """The folder of its package that a module is in, or the module itself at the package's root."""
    return ".".join(module.split(".")[:2])


def stated(folder: str) -> set[str]:
    """What the docstring of a folder says that it may import: packages, and folders and modules of its own package."""
    docstring = ast.get_docstring(parse(MODULES[folder])) or ""
    _, found, names = docstring.partition("\n\nMay import: ")
    assert found, f"the docstring of {folder} ends with what it may import"
    return set(re.findall(r"`(\w+)`", names))


def asking_which_mechanism(tree: ast.AST) -> Iterator[str]:
    """Where code asks which mechanism a query is of: by its class, or by the name of the mechanism."""
    classes = {base.__name__ for kind in QUERY_TYPES.values() for base in kind.__mro__} - {"Query", "ABC", "object"}
    for node in ast.walk(tree):
        named: Iterable[ast.AST] = ()
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            named = ast.walk(node.args[1])
        elif isinstance(node, ast.MatchClass):
            named = ast.walk(node.cls)
        elif isinstance(node, ast.Compare):
            named = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        for part in named:
            by_class = isinstance(part, ast.Name | ast.Attribute) and ast.unparse(part).rpartition(".")[2] in classes
            by_name = isinstance(part, ast.Constant) and part.value in QUERY_TYPES
            if by_class or by_name:
                yield ast.unparse(node)


def docstrings(tree: ast.AST) -> Iterator[str]:
    """What modules, classes and functions say of themselves, and what stands below a variable."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value.strip()


@pytest.mark.parametrize("folder", FOLDERS_OF_PYTHON)
def test_a_docstring_can_be_read_alone(folder: str) -> None:
    """It names its subject. One that begins with "Of" leaves that to the name beside it."""
    found = {str(file.relative_to(ROOT)): [*docstrings(parse(file))] for file in (ROOT / folder).rglob("*.py")}
    clipped = {file: [text for text in texts if text.startswith("Of ")] for file, texts in found.items()}
    assert {file: texts for file, texts in clipped.items() if texts} == {}


def test_modules_import_each_other_in_no_circle() -> None:
    """Imports that are written inside functions count as well."""
    assert circle({name: used_by(name) for name in MODULES}) == []


def test_folders_import_each_other_in_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name in MODULES:
        graph.setdefault(folder_of(name), set()).update(map(folder_of, used_by(name)))
    packages = {*HOMES}
    assert circle({name: used - {name} - packages for name, used in graph.items() if name not in packages}) == []


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


def test_nobody_else_asks_which_mechanism_a_query_is_of() -> None:
    """What depends on the mechanism is an attribute of its query, or of its design."""
    others = [name for name in MODULES if not name.startswith((*OF_MECHANISMS, *APART))]
    found = {name: [*asking_which_mechanism(parse(MODULES[name]))] for name in others}
    assert {name: tests for name, tests in found.items() if tests} == {}


def test_nobody_else_asks_which_family_it_is() -> None:
    """What depends on the family is an attribute of it. The client, which has none, has words for each."""
    named: dict[str, object] = {}
    for name in MODULES.keys() - {"dither_client.posterior.names"}:
        compared = (node for node in ast.walk(parse(MODULES[name])) if isinstance(node, ast.Compare))
        parts = {part.value for node in compared for part in ast.walk(node) if isinstance(part, ast.Constant)}
        if not name.startswith(("dither_estimator.families", *APART)) and parts & FAMILY_NAMES:
            named[name] = parts & FAMILY_NAMES
    for template in (ROOT / "server" / "dither_server" / "pages" / "templates").iterdir():
        if found := FAMILY_NAMES & set(re.findall(r'"(\w+)"', template.read_text(encoding="utf-8"))):
            named[template.name] = found
    assert named == {}


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(query, Staircase)",
        "isinstance(query, dither_client.Laplace | Gaussian)",
        "isinstance(query, (str, IntervalQuery))",
        "type(query) is RandomizedResponse",
        "match query:\n    case Gaussian(): pass",
        "query.mechanism == 'gaussian'",
        "mechanism in ('laplace', 'gaussian')",
    ],
)
def test_such_a_test_is_found(code: str) -> None:
    assert [*asking_which_mechanism(ast.parse(code))]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_what_its_docstring_says(folder: str) -> None:
    """No more, and no less: what it no longer imports is not said either."""
    package = folder.partition(".")[0]
    used = {used for name in MODULES if folder_of(name) == folder for used in used_by(name)}
    others = {name.partition(".")[0] for name in used}
    own = {folder_of(name).rpartition(".")[2] for name in used if name.startswith(f"{package}.")}
    assert stated(folder) == (others | own) - {package, folder.rpartition(".")[2]}


@pytest.mark.parametrize("package", HOMES)
def test_no_root_is_a_corridor(package: str) -> None:
    assert len([*(HOMES[package] / package).glob("*.py")]) <= MOST_AT_A_ROOT


@every_module
def test_imports_run_one_way(module: Path) -> None:
    ours = {name for name in imported(ast.walk(parse(module))) if name.startswith("dither_")}
    assert ours <= MAY_IMPORT[module.relative_to(ROOT).parts[1]]


@pytest.mark.parametrize("folder", ["testing", "benchmarks", "docs_build"])
def test_what_tests_share_does_not_need_the_tests(folder: str) -> None:
    foreign = {"tests"} | ({"benchmarks"} if folder == "testing" else set())
    for module in (ROOT / folder).rglob("*.py"):
        assert not imported(ast.walk(parse(module))) & foreign, module.name


@pytest.mark.parametrize("conftest", sorted((ROOT / "tests").rglob("conftest.py")), ids=lambda file: file.parent.name)
def test_a_conftest_has_fixtures_alone(conftest: Path) -> None:
    for node in parse(conftest).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list), node.name


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
    sorted(
        {*CLIENT.rglob("*.py")}
        - {*CLIENT.glob("commands/*.py")}
        - {CLIENT / "posterior" / name for name in ("forest_plot.py", "plots.py", "style.py")}
    ),
    ids=lambda module: str(module.relative_to(CLIENT)),
)
def test_the_bare_client_needs_httpx2_alone(module: Path) -> None:
    """Outside the command line and the plots, what is imported at import time is ours, httpx2 or Python's."""
    others = imported(run_on_import(parse(module))) - {"dither_client", "httpx2"}
    assert others <= sys.stdlib_module_names


def test_the_bare_client_runs_without_any_extra() -> None:
    """`import dither_client` loads nothing else: every extra is hidden here."""
    hidden = ["typer", "rich", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "fastapi", "sqlalchemy", "pydantic"]
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); import dither_client"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


@pytest.mark.parametrize("module", ["dither_server.serving", "dither_estimator.commands.estimate"])
def test_what_takes_longest_to_import_is_not_imported_unasked(module: str) -> None:
    """`scipy.stats` alone takes half a second."""
    code = f"import sys, {module}; sys.exit('scipy.stats' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_a_package_without_its_extra_says_which() -> None:
    for package, hidden, extra in (("estimator", "scipy", "estimator"), ("migrations", "alembic", "server")):
        code = f"import sys; sys.modules[{hidden!r}] = None; import dither_{package}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1
        assert f"pip install 'dither[{extra}]'" in done.stderr
