"""The command line `dither`, whose commands are the entry points of the group `dither.commands`.

A command is loaded when it is called, so each needs only its own dependencies. The first line of its module's docstring
is its line in `dither --help`.

May import: `addresses`, `admin`, `analyst`, `client`, `conformance`, `errors`, `extras`, `forgetting`, `ledger`,
`mechanisms`, `posterior`, `protocol`, `tables`, `transport`, `typed_numbers`.
"""

import sys
from collections.abc import Sequence

from dither_client.extras import MissingExtra, require_extra

__all__ = ["main", "run"]


def main() -> None:
    """The entry point of the script `dither`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs `dither` with these arguments and returns its exit status: 0 success, 1 failure, 2 bad input."""
    try:
        require_extra("cli", "typer", "rich")
    except MissingExtra as error:
        print(f"dither: {error}", file=sys.stderr)
        return 2
    from dither_client.commands._group import run_group

    return run_group(arguments)
