"""Reads a respondent's value: typed at a prompt, or written by a program.

    introduce(terms)         says who asks for which value
    ask_group(terms, given)  asks for the public group, where the collection has groups and none was given
    ask_value(terms)         asks for it, again and again until the text that is typed can be one
    read_value(terms, text)  the number that a text writes, or the category that it is
    read_named(terms, texts) the numbers of components, each written as NAME=NUMBER

None of them shows the value, and none needs a server: what is refused here, nobody learns.
"""

import getpass
import sys
from collections.abc import Sequence

from dither_client.commands._shared import console
from dither_client.errors import InvalidGroup, InvalidValue
from dither_client.mechanisms.components import Component
from dither_client.mechanisms.groups import Groups
from dither_client.mechanisms.price import Value
from dither_client.posterior.names import is_yes_or_no
from dither_client.protocol.messages import Terms
from dither_client.tables.values import is_number
from dither_client.typed_numbers import check_decimals, read_typed

__all__ = ["ask_group", "ask_value", "introduce", "read_named", "read_value"]


def introduce(terms: Terms) -> None:
    """Says who asks for which value."""
    console.print(f"{terms.name}: your value stays on this machine; one noisy answer is sent.")
    told = (
        ("", terms.question),
        ("Who asks: ", terms.organisation),
        ("Contact: ", terms.contact),
        ("What is done with answers: ", terms.privacy_url),
        ("Your value is one of: ", ", ".join(terms.categories)),
        ("Your value is in ", " ".join(filter(None, (terms.unit, terms.period_of_value)))),
        ("Your value is ", str(terms.price.bounds)),
        ("Your numbers, of which one question is asked: ", ", ".join(some.name for some in terms.components)),
        ("Sent as it is, without noise: ", terms.groups and f"your {terms.groups.name}, one of {terms.groups.listed}"),
    )
    for label, words in told:
        if words:
            console.print(f"{label}{words}")


def ask_group(terms: Terms, given: str | None) -> str | None:
    """The public group, asked for until it is valid if none was given; None where the collection has no groups.

    Raises `InvalidGroup` if what was given is not one of the groups.
    """
    if given is not None or terms.groups is None:
        Groups.check(terms.groups, given)
        return given
    while True:
        typed = console.input(f"Your {terms.groups.name} (it is sent as it is): ").strip()
        try:
            Groups.check(terms.groups, typed)
            return typed
        except InvalidGroup as error:
            console.print(f"T{str(error)[1:]}. Nothing was sent.")


def ask_value(terms: Terms) -> Value:
    """The value that is typed at the prompt, which is shown again until the text is a value.

    Where there are components, the number of each is asked for.
    """
    return {some.name: _ask_number(some) for some in terms.components} or _ask_one(terms)


def _ask_number(component: Component) -> float:
    if component.question is not None:
        console.print(component.question)
    unit = " ".join(filter(None, (component.unit, component.period_of_value)))
    told = ", ".join(filter(None, (unit, str(component.bounds))))
    prompt = f"Your {component.name}{f', {told}' if told else ''} (it is not shown): "
    while True:
        try:
            return _component_number(component, getpass.getpass(prompt).strip())
        except InvalidValue as error:
            console.print(f"{error}. Nothing was sent.")


def _component_number(component: Component, text: str) -> float:
    number = _number(text, component.decimals)
    component.bounds.check(number, component.name)
    return number


def _ask_one(terms: Terms) -> float | str:
    while True:
        try:
            return read_value(terms, getpass.getpass("Your value (it is not shown): ").strip())
        except InvalidValue as error:
            refusal = str(error)
            console.print(f"{refusal[0].upper()}{refusal[1:]}. Nothing was sent.")


def read_value(terms: Terms, text: str) -> float | str:
    """The text itself where values are categories, and otherwise the number that it writes.

    Raises `InvalidValue` for what the collection does not take.
    """
    if terms.components:
        names = ", ".join(some.name for some in terms.components)
        raise InvalidValue(f"the collection asks for several numbers: give --value NAME=NUMBER for each of {names}")
    value = text if terms.categories else _number(text, terms.decimals)
    if is_yes_or_no(terms.family) and value not in (0, 1):
        raise InvalidValue("the value must be 0 or 1")
    terms.price.held(value)
    return value


def read_named(terms: Terms, texts: Sequence[str]) -> Value:
    """The numbers of all components, from texts such as `wage=540`. Raises `InvalidValue`, which repeats no text."""
    found: dict[str, float] = {}
    by_name = {some.name: some for some in terms.components}
    if not by_name:
        raise InvalidValue("the collection asks for one value: give it alone, without --value")
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals or name not in by_name or name in found:
            raise InvalidValue(f"give --value NAME=NUMBER once for each of {', '.join(by_name)}")
        found[name] = _component_number(by_name[name], number.strip())
    terms.price.held(found)
    return found


def _number(text: str, decimals: int | None) -> float:
    """The number that a person or a program has written: in a program's, a point begins the decimals."""
    person = sys.stdin.isatty()
    if is_number(text) and not person:
        value = float(text)
        check_decimals(value, decimals)
        return value
    typed = read_typed(text, decimals)
    if typed.other is None:
        return typed.value
    if not person:
        raise InvalidValue("the value can be read in two ways: write it without a mark between thousands")
    decimal, thousands = sorted((typed.value, typed.other), key=abs)
    return thousands if _separates_thousands() else decimal


def _separates_thousands() -> bool:
    """Asks what the person means by the one mark in the number, without showing either reading."""
    while True:
        meant = console.input("Does the point or comma in it separate thousands (t) or begin the decimals (d)? ")
        if meant.strip().lower() in ("t", "d"):
            return meant.strip().lower() == "t"
