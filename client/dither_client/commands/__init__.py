"""The command line `dither`, whose commands are the entry points of the group `dither.commands`.

A command is loaded when it is called, so each needs only its own dependencies. The first line of its module's docstring
is its line in `dither --help`, and a table in `_listed.py` says below which heading that stands.

May import: `addresses`, `admin`, `analyst`, `client`, `conformance`, `errors`, `extras`, `forgetting`, `ledger`,
`mechanisms`, `posterior`, `protocol`, `tables`, `transport`, `typed_numbers`.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from dither_client.commands._listed import extra_of, listed_commands
from dither_client.extras import MissingExtra, require_extra, require_whole_extra

__all__ = ["main", "run"]


def main() -> None:
    """The entry point of the script `dither`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs `dither` with these arguments and returns its exit status: 0 success, 1 failure, 2 bad input."""
    try:
        require_extra("cli", "typer", "rich")
    except MissingExtra as missing:
        return _run_bare(arguments, missing)
    from dither_client.commands._group import run_group

    return run_group(arguments)


def _run_bare(arguments: Sequence[str], missing: MissingExtra) -> int:
    """Prints the version, for which no extra is needed, or the extra that brings all that the command needs.

    That is what is `missing` in any case, where everything seems to be installed.
    """
    if list(arguments) == ["--version"]:
        print(f"dither {version('dither')}")
        return 0
    command = next((found for name, found in listed_commands().items() if [name] == list(arguments[:1])), None)
    try:
        require_whole_extra("cli" if command is None else extra_of(command))
    except MissingExtra as more:
        missing = more
    print(f"dither: {missing}", file=sys.stderr)
    return 2
