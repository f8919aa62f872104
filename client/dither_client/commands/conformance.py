"""Try a client's program against a hostile server, and print what it broke."""

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
            help="The client's program: it is run as COMMAND answer --url URL --ledger FILE ID -, with the value on "
            "standard input.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Try any client's program against a hostile server on this machine, and print what it broke.

    The server loses replies, refuses, redirects, tells lies and kills the program when a chosen request arrives; the
    protocol's page says what the program is run with. The exit status is 0 if nothing was broken, and 1 otherwise.

    For example: dither conformance --command "node my-client.mjs"
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        fail("command must be a program on the path, with its first arguments", 2)

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
