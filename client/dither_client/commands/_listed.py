"""What is known of a command before it is loaded, and without any extra: its module is read, and not imported."""

import ast
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["extra_of", "listed_commands", "summary_of"]

_EXTRA = "EXTRA"
"""The constant of a command's module that names the extra which the command needs; without it, that is `cli`."""


def listed_commands() -> dict[str, EntryPoint]:
    """The entry points of all commands, by name."""
    found = sorted(entry_points(group="dither.commands"), key=lambda entry_point: entry_point.name)
    return {entry_point.name: entry_point for entry_point in found}


def summary_of(entry_point: EntryPoint) -> str:
    """The first line of the docstring of the command's module."""
    return (ast.get_docstring(_parsed(entry_point)) or "").partition("\n")[0]


def extra_of(entry_point: EntryPoint) -> str:
    """The extra that brings everything that the command needs."""
    for node in _parsed(entry_point).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _EXTRA:
            return str(ast.literal_eval(node.value))
    return "cli"


def _parsed(entry_point: EntryPoint) -> ast.Module:
    package, *rest = entry_point.module.split(".")
    spec = find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        file = Path(folder, *rest).with_suffix(".py")
        if file.is_file():
            return ast.parse(file.read_text(encoding="utf-8"))
    return ast.parse("")
