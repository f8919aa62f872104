"""Share noisy counts of an institution's members: no member's value leaves this machine."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dither_client.client import Client
from dither_client.commands._shared import CollectionId, Json, Url, console, fail, print_json, read_input
from dither_client.commands._spending import (
    LedgerFile,
    MaxEpsilon,
    check_open,
    discreet,
    fail_usage,
    price,
    report,
)
from dither_client.errors import InvalidQuery
from dither_client.ledger.sqlite import Ledger
from dither_client.tables.values import is_number, read_lines, read_values

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_USAGE = "share ID FILE"


@app.command(cls=discreet(_USAGE))
def share(
    collection: CollectionId,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The members' values: a column of a .csv or .parquet file, or one number per line in any other file; "
            "- reads standard input.",
            show_default=False,
        ),
    ],
    url: Url,
    column: Annotated[
        str | None, typer.Option(help="The column of a .csv or .parquet file.", show_default=False)
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="DITHER_TOKEN", help="The institution's token, of role gateway.", show_default=False),
    ] = None,
    ledger: LedgerFile = None,
    max_epsilon: MaxEpsilon = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before ε is spent.")] = False,
    as_json: Json = False,
) -> None:
    """Share noisy counts of an institution's members with a collection, once.

    Values stay on this machine. Members are assigned at random to one group for each of the collection's cuts. The
    number of each group that lie above its cut is sent with noise. Each member's value is private at the collection's
    ε.

    For example: dither share k3xw8c2nqa clinic.csv --column wage --ledger clinic.sqlite --url https://example.org
    """
    if token is None:
        fail("an institution needs its token: give it with --token, or better in DITHER_TOKEN", 2)
    values = _read_values(file, column)
    with Ledger(ledger, max_epsilon) as account, Client(url, account, token=token) as client:
        try:
            told = None
            if not yes and account.find(client.server, collection) is None:
                told = _agreed_price(client, account, collection, len(values))
            shared = client.share(collection, values, told)
        except InvalidQuery as error:
            fail(str(error), 1)
        if as_json:
            print_json(
                {
                    "collection": shared.collection,
                    "receipt": shared.receipt,
                    "epsilon": shared.query.epsilon,
                    "spent": account.spent(),
                    "query": shared.query.to_json(),
                    "counts": shared.counts,
                }
            )
            return
        counts = ", ".join(map(str, shared.counts))
        typer.echo(f"Counts of {shared.query.size:,} members were sent: {counts}.")
        report(client, shared)


def _read_values(file: str, column: str | None) -> list[float]:
    if file == "-":
        return read_lines("standard input", read_input(file))
    path = Path(file)
    if is_number(file) and not path.exists():
        fail_usage(_USAGE)
    return read_values(path, column)


def _agreed_price(client: Client, account: Ledger, collection: str, members: int) -> Fraction:
    """Tells the user what will happen, and returns the ε that they agreed to."""
    terms = client.terms(collection)
    check_open(terms)
    console.print(
        f"{terms.name}: the values of {members:,} members stay on this machine; {len(terms.member_cuts or ())} noisy "
        "counts are sent."
    )
    console.print(f"{price(terms.epsilon, None, account)} An institution shares once.")
    if not sys.stdin.isatty():
        fail("there is no terminal to ask for confirmation: give --yes to share without being asked", 2)
    console.print("Share them? [y/N]: ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        fail("nothing was shared and nothing was spent")
    return terms.epsilon
