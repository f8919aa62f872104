"""The version of a study's code: a digest of all definitions that its runs can reach.

From the function that computes a run, names are followed through Dither's modules: functions, classes and constants,
but neither docstrings nor comments, nor what only draws the figure. So a study's version changes if and only if a
definition that its runs use does. Not followed are modules that are found while running, such as entry points.
"""

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["code_version"]

_OWN = "dither_"
"""Modules of Dither; those of libraries are not followed."""
_DIGITS = 10

_Name = tuple[str, str]
"""A module, and the name of a definition in it."""


def code_version(run: Callable[..., Any]) -> str:
    """Ten hexadecimal digits for the code of `run`, a function of a module, and of what it reaches."""
    function: Any = run
    while isinstance(function, partial):
        function = function.func
    start = (function.__module__, function.__qualname__.partition(".")[0])
    sources, waiting = {}, [start]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name], reached = _definition(name)
            waiting += reached
    text = "\n".join(f"{module}.{name}\n{source}" for (module, name), source in sorted(sources.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class _Module:
    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, _Name]
    """What each imported name stands for; a whole module has an empty second part."""


@cache
def _definition(name: _Name) -> tuple[str, tuple[_Name, ...]]:
    """The source of a definition, and what it refers to; both empty for a name that its module does not define."""
    module = _parsed(name[0])
    if name[1] in module.imports:
        return "", (module.imports[name[1]],)
    statements = module.definitions.get(name[1], [])
    reached = {found for statement in statements for found in _references(name[0], module, statement)}
    return "\n".join(ast.unparse(statement) for statement in statements), tuple(sorted(reached))


def _references(own: str, module: _Module, statement: ast.stmt) -> Iterator[_Name]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            target = module.imports.get(node.value.id)
            if target is not None and not target[1]:
                yield target[0], node.attr
        elif isinstance(node, ast.Name):
            yield own, node.id
        elif isinstance(node, ast.ImportFrom):
            yield from _imported(node).values()


@cache
def _parsed(name: str) -> _Module:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return _Module({}, {})
    module = _Module({}, {})
    _collect(_WithoutDocstrings().visit(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))).body, module)
    return module


def _collect(statements: list[ast.stmt], module: _Module) -> None:
    for statement in statements:
        match statement:
            case ast.ImportFrom():
                module.imports.update(_imported(statement))
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                module.definitions.setdefault(statement.name, []).append(statement)
            case ast.If():
                _collect([*statement.body, *statement.orelse], module)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                targets: list[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for node in (node for target in targets for node in ast.walk(target)):
                    if isinstance(node, ast.Name):
                        module.definitions.setdefault(node.id, []).append(statement)


def _imported(statement: ast.ImportFrom) -> dict[str, _Name]:
    source = statement.module or ""
    if not source.startswith(_OWN):
        return {}
    found = {}
    for alias in statement.names:
        whole = f"{source}.{alias.name}"
        found[alias.asname or alias.name] = (whole, "") if _is_module(source, whole) else (source, alias.name)
    return found


def _is_module(package: str, name: str) -> bool:
    spec = find_spec(package)
    return spec is not None and spec.submodule_search_locations is not None and find_spec(name) is not None


class _WithoutDocstrings(ast.NodeTransformer):
    """Removes strings that are statements: docstrings, also those of attributes and constants."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node
