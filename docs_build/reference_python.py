"""The page of everything that `dither_client` exports, read from its source."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import dither_client

__all__ = ["python_page"]

_INTRODUCTION = """# Python

Everything that `dither_client` exports. How it is used is in [apps](../apps.md) and
[results](../results.md)."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FOLDER = Path(dither_client.__file__).parent


def python_page() -> str:
    sources = {node.name: node for node in _definitions()}
    parts = [_INTRODUCTION]
    for name in sorted(dither_client.__all__):
        node = sources.get(name)
        if isinstance(node, ast.ClassDef):
            parts += [f"## {name}", *_class(node)]
        elif isinstance(node, ast.FunctionDef):
            parts += [f"## {name}", _signature(node), _words(node)]
        else:
            parts += [f"## {name}", f"```python\n{name} = {_written(name)}\n```"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _definitions() -> Iterator[ast.ClassDef | ast.FunctionDef]:
    for file in sorted(_FOLDER.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield node


def _class(node: ast.ClassDef) -> Iterator[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith("_"))
    methods = [part for part in node.body if isinstance(part, _Function)]
    made_by = next((method for method in methods if method.name == "__init__"), None)
    fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign) and _is_public(part.target)]
    lines = [f"class {node.name}({bases})" if bases else f"class {node.name}"]
    if made_by:
        lines.append(f"{node.name}({_arguments(made_by)})")
    yield "```python\n" + "\n".join([*lines, *(f"    {field}" for field in fields)]) + "\n```"
    yield _words(node)
    for method in methods:
        if not method.name.startswith("_") and _words(method):
            yield f"### {node.name}.{method.name}"
            yield _signature(method)
            yield _words(method)


def _is_public(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and not target.id.startswith("_")


def _signature(node: _Function) -> str:
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f"```python\n{node.name}: {_type(node.returns)}\n```"
    asynchronous = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"```python\n{asynchronous}{node.name}({_arguments(node)}) -> {_type(node.returns)}\n```"


def _arguments(node: _Function) -> str:
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    return ast.unparse(arguments)


def _type(node: ast.expr | None) -> str:
    return ast.unparse(node) if node else "None"


def _words(node: ast.ClassDef | _Function) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def _written(name: str) -> str:
    for file in sorted(_FOLDER.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return ast.unparse(node.value)
    raise LookupError(f"{name} is exported and nowhere defined")
