"""What is known of a command before it is loaded, and without any extra: its module is read, and not imported."""

import ast
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

__all__ = ["extra_of", "listed_commands", "panel_of", "summary_of"]

_PANELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Respondents": ("answer", "share"),
        "Analysts": ("posterior", "watch", "export", "verify", "estimate", "plan", "simulate"),
        "Admins and operators": ("serve", "collection", "token", "key", "audit", "doctor"),
        "Research": ("design", "compare", "reproduce", "release"),
        "Trying and building": ("demo", "conformance"),
    }
)
"""Who uses which command: the headings of `dither --help`, and the order of what is below them."""
_PANEL_OF = {command: panel for panel, commands in _PANELS.items() for command in commands}

_EXTRA = "EXTRA"
"""The constant of a command's module that names the extra which the command needs; without it, that is `cli`."""


def listed_commands() -> dict[str, EntryPoint]:
    """The entry points of all commands, by name, in the order of the help; those of other packages come last."""
    found = {entry_point.name: entry_point for entry_point in entry_points(group="dither.commands")}
    ours = [name for name in _PANEL_OF if name in found]
    return {name: found[name] for name in (*ours, *sorted(found.keys() - _PANEL_OF.keys()))}


def panel_of(command: str) -> str | None:
    """The heading in `dither --help` below which the command is; None for one of another package."""
    return _PANEL_OF.get(command)


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
