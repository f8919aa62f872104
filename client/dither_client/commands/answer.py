"""Answer a collection privately: only an answer with noise in it leaves this machine."""

import getpass
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from dither_client.client import Client
from dither_client.commands._shared import Json, Url, console, did_you_mean, fail, print_json, read_input
from dither_client.entries import DEFAULT_CAP
from dither_client.epsilon import epsilon_text, listed, wire_epsilon
from dither_client.errors import InvalidQuery, InvalidValue, Problem
from dither_client.ledger import Ledger
from dither_client.messages import Receipt
from dither_client.queries import check_value

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_MISPLACED = re.compile(r"[+-]?[0-9.,]{1,9}")
"""A value where the collection's id should be."""


class _Discreet(TyperCommand):
    """Its usage errors never repeat an argument, since any of them may be the value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = [word.partition("=")[0] for word in args if word.startswith("--")]  # the parser takes them away
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException:
            known = [name for parameter in self.get_params(ctx) for name in parameter.opts if name.startswith("--")]
            _fail_usage(next((did_you_mean(word, known) for word in typed if word not in known), ""))


@app.command(cls=_Discreet, context_settings={"ignore_unknown_options": True})
def answer(
    collection: Annotated[str, typer.Argument(metavar="ID", help="The collection.", show_default=False)],
    url: Url,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="[VALUE]",
            help="Your value, which stays in the shell's history; - reads standard input; without it you are asked.",
            show_default=False,
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="The file that keeps account of your ε; by default in your data folder.", show_default=False),
    ] = None,
    max_epsilon: Annotated[str, typer.Option(help="Spend no more ε than this in all.")] = DEFAULT_CAP,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The ε to be asked at, where the collection leaves a choice; never let it depend on your value.",
            show_default="the collection's",
        ),
    ] = None,
    invitation: Annotated[
        str | None,
        typer.Option(
            envvar="DITHER_INVITATION",
            help="The code, where one is needed. It stays in the shell's history; without it, and without VALUE, you "
            "are asked.",
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
    if _MISPLACED.fullmatch(collection):
        _fail_usage()
    text = read_input("-").decode(errors="replace").strip() if value == "-" else value
    number = None if text is None else _parse_value(text)
    chosen = None if epsilon is None else wire_epsilon(epsilon)
    with Ledger(ledger, max_epsilon) as account, Client(url, account) as client:
        try:
            if number is None:
                receipt = _answer_when_asked(client, collection, max_epsilon, chosen, invitation)
            else:
                receipt = client.answer(collection, number, epsilon=chosen, invitation=invitation)
        except InvalidQuery as error:
            fail(str(error), 1)
        except Problem as error:
            if error.name != "unauthorized":
                raise
            fail("this collection is answered through an app or a site that knows you, not with dither answer", 2)
        _report(client, receipt, as_json)


def _fail_usage(hint: str = "") -> NoReturn:
    fail(f"use: dither answer ID [VALUE] --url URL{hint or '; see dither answer --help'}", 2)


def _parse_value(text: str) -> float:
    """The number that `text` writes. Raises `InvalidValue`."""
    if not _NUMBER.fullmatch(text):
        raise InvalidValue("the value must be a finite number, such as 42 or -3.5")
    return check_value(float(text))


def _answer_when_asked(
    client: Client, collection: str, max_epsilon: str, chosen: Fraction | None, invitation: str | None
) -> Receipt:
    """Sends what the ledger already holds; otherwise says what will happen and asks for the value."""
    stored = client.send_stored(collection)
    if stored is not None:
        return stored
    terms = client.terms(collection)
    if terms.state != "open":
        fail(f"the collection is {terms.state}")
    console.print(f"{terms.name}: your value stays on this machine; one answer with noise in it is sent.")
    if chosen is not None and chosen not in (terms.epsilon_choices or (terms.epsilon,)):
        fail(f"epsilon must be one of {listed(terms.epsilon_choices or (terms.epsilon,))} here", 2)
    if terms.notice is not None:
        console.print(terms.notice)
    price = terms.epsilon if chosen is None else chosen
    costs, spent = epsilon_text(price), epsilon_text(client.ledger.spent())
    stated = "" if terms.rho is None else f" (stated ρ = {epsilon_text(terms.rho)})"
    console.print(
        f"It costs ε = {costs}{stated}; you have spent {spent} and allow {max_epsilon} in all. You can answer once."
    )
    if not sys.stdin.isatty():
        fail("there is no terminal to ask on: give - to read the value from standard input", 2)
    if terms.admission == "invite" and invitation is None:
        invitation = getpass.getpass("Your invitation's code (it is not shown): ").strip()
    number = _parse_value(getpass.getpass("Your value (it is not shown): ").strip())
    return client.answer(collection, number, price, chosen, invitation)


def _report(client: Client, receipt: Receipt, as_json: bool) -> None:
    epsilon, spent = receipt.query.epsilon, client.ledger.spent()
    if as_json:
        print_json(
            {
                "collection": receipt.collection,
                "receipt": receipt.receipt,
                "epsilon": epsilon,
                "rho": receipt.query.rho,
                "spent": spent,
                "query": receipt.query.to_json(),
                "answer": receipt.answer,
            }
        )
        return
    typer.echo(f"Your answer was sent: {receipt.answer} of 0 to {receipt.query.n_answers - 1}.")
    stated = "" if receipt.query.rho is None else f" (ρ = {epsilon_text(receipt.query.rho)})"
    typer.echo(f"It cost ε = {epsilon_text(epsilon)}{stated}; you have spent {epsilon_text(spent)} in all.")
    typer.echo(f"Receipt: {receipt.receipt}")
