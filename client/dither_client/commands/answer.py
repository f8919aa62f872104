"""Answer a collection privately: only a noisy answer leaves this machine."""

import getpass
import re
import sys
from fractions import Fraction
from typing import Annotated

import typer

from dither_client.client import Client
from dither_client.commands._shared import Json, Url, console, fail, print_json, read_input
from dither_client.commands._spending import (
    LedgerFile,
    MaxEpsilon,
    check_open,
    discreet,
    fail_usage,
    price,
    report,
)
from dither_client.commands._value import ask_group, ask_value, introduce, read_value
from dither_client.errors import InvalidQuery, Problem
from dither_client.ledger.sqlite import Ledger
from dither_client.mechanisms.epsilon import listed, wire_epsilon
from dither_client.protocol.messages import Receipt

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_USAGE = "answer ID [VALUE]"
_MISPLACED_VALUE = re.compile(r"[+-]?[0-9.,]{1,9}")
"""A text that is more likely a value than the collection's id in whose place it stands."""


@app.command(cls=discreet(_USAGE), context_settings={"ignore_unknown_options": True})
def answer(
    collection: Annotated[str, typer.Argument(metavar="ID", help="The collection.", show_default=False)],
    url: Url,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE",
            help="Your value; it stays in the shell's history. - reads standard input. If left out, you are asked.",
            show_default=False,
        ),
    ] = None,
    ledger: LedgerFile = None,
    max_epsilon: MaxEpsilon = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The ε to be asked at, where the collection offers a choice; never let it depend on your value.",
            show_default="the collection's",
        ),
    ] = None,
    invitation: Annotated[
        str | None,
        typer.Option(
            envvar="DITHER_INVITATION",
            help="The code of your invitation, if the collection needs one; it stays in the shell's history. If left "
            "out together with VALUE, you are asked.",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Your group, where the collection has groups; it is sent as it is, without noise.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer a collection once, privately.

    Your value stays on this machine. It is rounded to a few levels, noise is added, and only the result is sent.

    For example: dither answer wages --url https://example.org

    or, from a program: printf '%s' -3.5 | dither answer wages - --json
    """
    if _MISPLACED_VALUE.fullmatch(collection):
        fail_usage(_USAGE)
    text = read_input("-").decode(errors="replace").strip() if value == "-" else value
    chosen = None if epsilon is None else wire_epsilon(epsilon)
    with Ledger(ledger, max_epsilon) as account, Client(url, account) as client:
        try:
            receipt, thanks = client.send_stored(collection), None
            if receipt is None:
                receipt, thanks = _answer(client, account, collection, text, chosen, invitation, group)
        except InvalidQuery as error:
            fail(str(error), 1)
        except Problem as error:
            if error.name != "unauthorized":
                raise
            fail("this collection is answered through an app or a site where you are known, not with dither answer", 2)
        _report(client, receipt, thanks, as_json)


def _answer(
    client: Client,
    account: Ledger,
    collection: str,
    text: str | None,
    chosen: Fraction | None,
    invitation: str | None,
    group: str | None,
) -> tuple[Receipt, str | None]:
    """Answers with the value that `text` writes; without one, says what will happen and asks for it.

    Returns the receipt, and how the collection thanks for it.
    """
    terms = client.terms(collection)
    if text is not None:
        value = read_value(terms, text)
        receipt = client.answer(collection, value, epsilon=chosen, invitation=invitation, group=group)
        return receipt, terms.thank_you
    check_open(terms)
    introduce(terms)
    if chosen is not None and chosen not in (terms.epsilon_choices or (terms.epsilon,)):
        fail(f"epsilon must be one of {listed(terms.epsilon_choices or (terms.epsilon,))} here", 2)
    if terms.notice is not None:
        console.print(terms.notice)
    asked_at = terms.epsilon if chosen is None else chosen
    console.print(f"{price(asked_at, terms.rho, account)} You can answer once.")
    if not sys.stdin.isatty():
        fail("there is no terminal to ask for the value: give - to read it from standard input", 2)
    if terms.admission == "invite" and invitation is None:
        invitation = getpass.getpass("Your invitation's code (it is not shown): ").strip()
    group = ask_group(terms, group)
    return client.answer(collection, ask_value(terms), asked_at, chosen, invitation, group), terms.thank_you


def _report(client: Client, receipt: Receipt, thanks: str | None, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "collection": receipt.collection,
                "receipt": receipt.receipt,
                "epsilon": receipt.query.epsilon,
                "rho": receipt.query.rho,
                "spent": client.ledger.spent(),
                "query": receipt.query.to_json(),
                "answer": receipt.answer,
            }
        )
        return
    typer.echo(f"Your answer was sent: {receipt.answer} of 0 to {receipt.query.n_answers - 1}.")
    report(client, receipt)
    if thanks is not None:
        typer.echo(thanks)
