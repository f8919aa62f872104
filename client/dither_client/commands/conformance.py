"""Test a client program against a hostile server."""

import shlex
import shutil
from typing import Annotated

import typer

from dither_client.commands._shared import Json, console, fail, print_json
from dither_client.conformance.run import run_scenarios
from dither_client.conformance.scenarios import SCENARIOS

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def conformance(
    command: Annotated[
        str,
        typer.Option(
            help="The client program: it is run as COMMAND answer --url URL --ledger FILE ID -, with the value on "
            "standard input. Where a test needs them, --max-epsilon E, --invitation CODE or --group LABEL come before "
            "ID.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Test any client program against a hostile server on this machine, and print the rules it broke.

    The server loses replies, refuses, redirects, lies, and kills the program when a chosen request arrives. The page
    on the protocol says how the program is run. The exit status is 0 if no rule was broken, and 1 otherwise.

    For example: dither conformance --command "node my-client.mjs"
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        fail("command must be a program on the path, optionally with its first arguments", 2)

    def tell(name: str, broken: str | None) -> None:
        console.print(f"{'ok    ' if broken is None else 'BROKEN'} {name}" + (f": {broken}" if broken else ""))

    found = run_scenarios(words, SCENARIOS, tell)
    broken = {name: reason for name, reason in found.items() if reason is not None}
    if as_json:
        print_json({"scenarios": len(found), "passed": len(found) - len(broken), "broken": broken})
    else:
        typer.echo(f"{len(found) - len(broken)} of {len(found)} scenarios passed")
        for name, reason in broken.items():
            expected = " ".join((SCENARIOS[name].__doc__ or "").split())
            typer.echo(f"{name}: {reason}. Expected: {expected}.")
    raise typer.Exit(1 if broken else 0)
