"""Helpers for the commands that spend ε, which never repeat an argument they are given.

discreet(usage)              the class of a command whose usage errors repeat no argument, and which names its own cap
fail_usage(usage)            ends the command with that error
check_open(terms)            ends the command unless the collection is open
LedgerFile, MaxEpsilon       annotated types of the options --ledger and --max-epsilon
price(...)                   the sentence that says what an answer will cost
report(...)                  prints what it has cost
"""

import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from dither_client.client import Client
from dither_client.commands._shared import did_you_mean, fail
from dither_client.errors import OverCap
from dither_client.forgetting import forgetful
from dither_client.ledger.sqlite import Ledger
from dither_client.mechanisms.epsilon import MICRO, epsilon_text
from dither_client.protocol.messages import Receipt, Shared, Terms

__all__ = ["LedgerFile", "MaxEpsilon", "check_open", "discreet", "fail_usage", "price", "report"]

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="The file that records the ε you spend; by default in your data folder.", show_default=False
    ),
]

MaxEpsilon = Annotated[
    str | None,
    typer.Option(
        "--max-epsilon",
        help="Spend no more ε than this in total.",
        show_default="10 in total, 5 on any one server, 2 for any one answer",
    ),
]

_CAP = re.compile(r"set max_epsilon\w* ")


def fail_usage(usage: str, hint: str = "") -> NoReturn:
    """Ends the command with an error that shows its usage, which begins with its name, such as `share ID FILE`."""
    fail(f"use: dither {usage} --url URL{hint or f'; see dither {usage.split()[0]} --help'}", 2)


def discreet(usage: str) -> type[TyperCommand]:
    """A class of commands whose usage errors never repeat an argument, since any argument may be a value.

    Where a cap of the ledger refuses a question, they name the option that sets all caps.
    """

    class Discreet(TyperCommand):
        @forgetful
        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            except OverCap as error:
                fail(_CAP.sub("set --max-epsilon ", str(error)))
            finally:
                ctx.params.clear()

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            typed = [word.partition("=")[0] for word in args if word.startswith("--")]  # the parser empties `args`
            try:
                return super().parse_args(ctx, args)
            except typer.TyperException:
                known = [name for parameter in self.get_params(ctx) for name in parameter.opts if name.startswith("--")]
                fail_usage(usage, next((did_you_mean(word, known) for word in typed if word not in known), ""))

    return Discreet


def check_open(terms: Terms) -> None:
    """Ends the command unless the collection is open."""
    if terms.state != "open":
        fail(f"the collection is {terms.state}")


def price(epsilon: Fraction, rho: Fraction | None, account: Ledger) -> str:
    """A sentence that says what an answer costs, and what was spent before."""
    stated = "" if rho is None else f" (stated ρ = {epsilon_text(rho)})"
    spent, allowed = epsilon_text(account.spent()), epsilon_text(Fraction(account.caps.total, MICRO))
    return f"It costs ε = {epsilon_text(epsilon)}{stated}; you have spent {spent} and allow {allowed} in total."


def report(client: Client, receipt: Receipt | Shared, turns: int = 1) -> None:
    """Prints what an answer, or one of so many turns of a panel, has cost, and the receipt."""
    rho = receipt.query.rho
    stated = "" if rho is None else f" (ρ = {epsilon_text(rho)})"
    cost, spent = epsilon_text(receipt.query.epsilon), epsilon_text(client.ledger.spent())
    others = f", as each of your {turns} turns does, paid when you joined" if turns > 1 else ""
    typer.echo(f"It cost ε = {cost}{stated}{others}; you have spent {spent} in total.")
    typer.echo(f"Receipt: {receipt.receipt}")
