"""What `--help` shows: a word for what an option takes instead of its Python type, nothing for a flag, flowing text."""

import re
from typing import Any

import typer
from typer.core import TyperArgument, TyperOption

__all__ = ["readable"]

_WORDS: dict[type, str] = {str: "TEXT", int: "NUMBER", float: "NUMBER"}


def readable(command: Any) -> Any:
    """The command, or the group with all its commands, with a help for people."""
    for parameter in command.get_params(typer.Context(command)):
        if isinstance(parameter, TyperOption) and parameter.metavar is None:
            parameter.metavar = _taken(parameter)
        elif isinstance(parameter, TyperArgument):  # whose metavar is its name, beside which Typer shows the type
            choices = _choices(parameter)
            parameter.display_type_rich = lambda ctx, shown=choices: shown  # type: ignore[method-assign, misc]
    if command.help:
        command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", command.help)
    for subcommand in getattr(command, "commands", {}).values():
        readable(subcommand)
    return command


def _taken(option: TyperOption) -> str:
    """What follows an option on the command line."""
    if option.is_flag:
        return ""
    taken = option.type_descriptor
    return _choices(option) or ("FILE" if taken.is_path else _WORDS.get(taken.annotation, "TEXT"))


def _choices(parameter: TyperArgument | TyperOption) -> str:
    """The words that it takes; empty if it takes others, too."""
    choices = parameter.type_descriptor.choices if parameter.type_descriptor.is_choice else None
    return "|".join(str(getattr(choice, "value", choice)) for choice in choices or ())
