"""Answer a collection privately: only a noisy answer leaves this machine."""

import getpass
import re
import sys
import time
from fractions import Fraction
from typing import Annotated

import typer

from dither_client.client import Client
from dither_client.commands._answer_words import answer_words
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
from dither_client.commands._value import ask_group, ask_value, introduce, read_named, read_value
from dither_client.errors import InvalidQuery, NotYourTurn, Problem
from dither_client.ledger.sqlite import Ledger
from dither_client.mechanisms.epsilon import epsilon_text, listed, wire_epsilon
from dither_client.mechanisms.panel import Panel
from dither_client.protocol.messages import Receipt, Terms
from dither_client.protocol.respondent import check_turn

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_USAGE = "answer ID [VALUE]"
_MISPLACED_VALUE = re.compile(r"[+-]?[0-9.,]{1,9}")
"""A text that is more likely a value than a collection's id, though it stands in the place of an id."""

_Value = Annotated[
    str | None,
    typer.Argument(
        metavar="VALUE",
        help="Your value; it stays in the shell's history. - reads standard input. If left out, you are asked.",
        show_default=False,
    ),
]

_Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value",
        metavar="NAME=NUMBER",
        help="One of your numbers, where the collection asks for several, once for each; they stay in the shell's "
        "history. VALUE - reads lines NAME=NUMBER from standard input.",
        show_default=False,
    ),
]

_Epsilon = Annotated[
    str | None,
    typer.Option(
        help="The ε to be asked at, where the collection offers a choice; never let it depend on your value.",
        show_default="the collection's",
    ),
]

_Invitation = Annotated[
    str | None,
    typer.Option(
        envvar="DITHER_INVITATION",
        help="The code of your invitation, if the collection needs one; it stays in the shell's history. If left "
        "out together with VALUE, you are asked.",
        show_default=False,
    ),
]

_Group = Annotated[
    str | None,
    typer.Option(
        help="Your group, where the collection has groups; it is sent as it is, without noise.",
        show_default=False,
    ),
]

_Relay = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="An Oblivious HTTP relay, so that the server does not see your network address.",
        show_default=False,
    ),
]


@app.command(cls=discreet(_USAGE), context_settings={"ignore_unknown_options": True})
def answer(
    collection: CollectionId,
    url: Url,
    value: _Value = None,
    values: _Values = None,
    ledger: LedgerFile = None,
    max_epsilon: MaxEpsilon = None,
    epsilon: _Epsilon = None,
    invitation: _Invitation = None,
    group: _Group = None,
    relay: _Relay = None,
    as_json: Json = False,
) -> None:
    """Answer a collection once, privately.

    Your value stays on this machine. A random answer to one question is drawn from it, and only that is sent. In a
    panel, run the command in each period: it answers in your turns, and otherwise says when the next one is.

    For example: dither answer k3xw8c2nqa --url https://example.org

    or, from a program: printf '%s' -3.5 | dither answer k3xw8c2nqa - --json
    """
    if _MISPLACED_VALUE.fullmatch(collection):
        fail_usage(_USAGE)
    if value is not None and values:
        fail_usage(_USAGE)
    given: str | list[str] | None = values or value
    if value == "-":
        given = read_input("-").decode(errors="replace").strip()
    chosen = None if epsilon is None else wire_epsilon(epsilon)
    with Ledger(ledger, max_epsilon) as account, Client(url, account, relay=relay) as client:
        try:
            receipt, terms = client.send_stored(collection), None
            if receipt is None:
                receipt, terms = _answer(client, account, collection, given, chosen, invitation, group)
        except InvalidQuery as error:
            fail(str(error), 1)
        except Problem as error:
            if error.name != "unauthorized":
                raise
            fail("this collection is answered through an app or a site where you are known, not with dither answer", 2)
        except NotYourTurn as error:
            _report_no_turn(client, collection, error, as_json)
            return
        _report(client, receipt, terms, as_json)


def _answer(
    client: Client,
    account: Ledger,
    collection: str,
    given: str | list[str] | None,
    chosen: Fraction | None,
    invitation: str | None,
    group: str | None,
) -> tuple[Receipt, Terms]:
    """Answers with the value that is `given` as text; without one, says what will happen and asks for it."""
    terms = client.terms(collection)
    if given is not None:
        if isinstance(given, str) and terms.components:
            given = given.split()
        value = read_value(terms, given) if isinstance(given, str) else read_named(terms, given)
        receipt = client.answer(collection, value, epsilon=chosen, invitation=invitation, group=group)
        return receipt, terms
    check_open(terms)
    introduce(terms)
    if chosen is not None and chosen not in (terms.epsilon_choices or (terms.epsilon,)):
        fail(f"epsilon must be one of {listed(terms.epsilon_choices or (terms.epsilon,))} here", 2)
    if terms.notice is not None:
        console.print(terms.notice)
    cost = terms.price.in_all(chosen)
    if terms.panel is None:
        console.print(f"{price(cost, terms.rho, account)} You can answer once.")
    else:
        _take_turn(client, account, collection, terms.panel, cost)
    if not sys.stdin.isatty():
        fail("there is no terminal to ask for the value: give - to read it from standard input", 2)
    if terms.admission == "invite" and invitation is None:
        invitation = getpass.getpass("Your invitation's code (it is not shown): ").strip()
    group = ask_group(terms, group)
    return client.answer(collection, ask_value(terms), cost, chosen, invitation, group), terms


def _take_turn(client: Client, account: Ledger, collection: str, panel: Panel, cost: Fraction) -> None:
    """Joins the panel if whoever is asked agrees. Raises `NotYourTurn` before a value is asked for in vain."""
    if not account.turns(client.server, collection):
        console.print(price(cost, None, account))
        if not sys.stdin.isatty():
            fail("there is no terminal to ask whether you join: give - to read your value from standard input", 2)
        if console.input("Do you join (y or n)? ").strip().lower() not in ("y", "yes"):
            fail("you have not joined, and nothing was spent", 1)
        client.join(collection, cost)
    check_turn(panel, account.turns(client.server, collection), time.time)


def _report_no_turn(client: Client, collection: str, error: NotYourTurn, as_json: bool) -> None:
    spent = client.ledger.spent()
    if as_json:
        print_json({"collection": collection, "receipt": None, "next_turn": error.next_turn, "spent": spent})
        return
    typer.echo(f"{str(error)[0].upper()}{str(error)[1:]}. You have spent {epsilon_text(spent)} in total.")


def _report(client: Client, receipt: Receipt, terms: Terms | None, as_json: bool) -> None:
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
    said = answer_words(receipt.query, receipt.answer, terms)
    typer.echo(f"Your answer was sent: {said}; true or not, only you can tell.")
    report(client, receipt, 1 if terms is None or terms.panel is None else terms.panel.answers)
    if terms is not None and terms.thank_you is not None:
        typer.echo(terms.thank_you)
