"""The page of every command, from the commands themselves, and the page of every setting."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from dither_server.settings import PREFIX, Settings
from docs_build.tables import code, table

__all__ = ["commands_page", "settings_page"]

_COMMANDS = """# Commands

Every command of `dither`, as its `--help` describes it. Exit status: 0 done, 1 failed while running, 2 bad input.
A command whose extra is not installed says which one to add."""

_SETTINGS = """# Settings

Of the server: variables of its environment. One that does not exist is refused, with a guess at what was meant. What
each is for in practice is in [operators](../operators.md#settings)."""


def commands_page() -> str:
    found = sorted(entry_points(group="dither.commands"), key=lambda entry: entry.name)
    commands = [part for entry in found for part in _command(typer.main.get_command(entry.load()), entry.name)]
    return "\n\n".join([_COMMANDS, *commands]) + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    subcommands = getattr(command, "commands", {})
    yield f"## dither {name}"
    yield command.help
    if not subcommands:
        rows = [[_name(given), _meaning(given), _default(given)] for given in command.params if not given.hidden]
        yield table(["option", "meaning", "default"], rows)
    for subcommand in sorted(subcommands):
        yield from _command(subcommands[subcommand], f"{name} {subcommand}")


def _name(given: Any) -> str:
    if given.param_type_name == "argument":
        return code(given.metavar or given.name.upper())
    return ", ".join(code(option) for option in (*given.opts, *given.secondary_opts))


def _meaning(given: Any) -> str:
    annotation = given.type_descriptor.annotation
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    parts = [given.help or "", " or ".join(code(choice) for choice in choices)]
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def _default(given: Any) -> str:
    if given.envvar:
        return code(given.envvar)
    if given.required:
        return "required"
    shown = given.show_default if isinstance(given.show_default, str) else given.default
    return "" if shown in (None, False, ()) or callable(shown) else code(shown)


def settings_page() -> str:
    rows = [
        [code(PREFIX + name.upper()), _values(field), _unless_set(field), field.description or ""]
        for name, field in Settings.model_fields.items()
    ]
    return "\n\n".join([_SETTINGS, table(["variable", "is", "default", "meaning"], rows)]) + "\n"


def _values(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return " or ".join(code(value) for value in get_args(field.annotation))
    kinds = {field.annotation, *get_args(field.annotation)}
    named = (bool, "`true` or `false`"), (int, "whole number"), (SecretStr, "secret"), (tuple, "list")
    found = (name for kind, name in named if kind in kinds or get_origin(field.annotation) is kind)
    return next(found, "text")


def _unless_set(field: FieldInfo) -> str:
    if isinstance(field.default, bool):
        return code(str(field.default).lower())
    return "none" if field.default in (None, ()) else code(field.default)
