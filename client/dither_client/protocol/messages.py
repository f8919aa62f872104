"""Strict parsing of the server's messages: terms, tickets, receipts and problem documents."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar, get_args

from dither_client.errors import BadResponse, InvalidEpsilon, InvalidQuery, Problem
from dither_client.mechanisms.bounds import Bounds
from dither_client.mechanisms.calendar_period import PeriodName
from dither_client.mechanisms.components import Component, check_component_names
from dither_client.mechanisms.epsilon import wire_epsilon
from dither_client.mechanisms.grouped_randomized_response import MAX_CATEGORIES
from dither_client.mechanisms.groups import MAX_GROUPS, Groups
from dither_client.mechanisms.member_counts import MemberCounts
from dither_client.mechanisms.panel import Panel
from dither_client.mechanisms.price import Price
from dither_client.mechanisms.query import Query, check_coordinate, check_transform
from dither_client.mechanisms.registry import parse_query
from dither_client.strict_json import decode_json
from dither_client.typed_numbers import MAX_DECIMALS

__all__ = [
    "Receipt",
    "Shared",
    "Terms",
    "Ticket",
    "parse_problem",
    "parse_receipt",
    "parse_terms",
    "parse_ticket",
    "printable",
]

_T = TypeVar("_T")

_MAX_TOKEN = 65_536
_HTTPS = re.compile(r"https://[!-~]{1,492}")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a respondent should know about a collection before answering. Times are RFC 3339 texts."""

    id: str
    name: str
    family: str
    transform: str
    epsilon: Fraction
    mechanism: str
    state: str
    answers: int | None
    """The number of answers stored; None if only those who may read the posterior may know it."""
    opens_at: str | None
    closes_at: str | None
    max_answers: int | None
    admission: str
    visibility: str
    advice: str | None
    notice: str | None = None
    """What a respondent must be told before choosing an ε."""
    epsilon_choices: tuple[Fraction, ...] = ()
    """The values of ε that respondents may choose from, increasing; empty if `epsilon` applies to everyone."""
    rho: Fraction | None = None
    """The largest ρ of zero-concentrated differential privacy of any question, if the mechanism states one."""
    levels: int | None = None
    """The number of levels or cuts of every question that has more than one; None if the server chooses."""
    member_cuts: tuple[float, ...] | None = None
    """The cuts at which institutions count their members, on the transformed scale; None if they are not asked."""
    categories: tuple[str, ...] = ()
    """The texts of the categories, one of which is the value; empty where the value is a number."""
    question: str | None = None
    """The words that ask for the value. The question that a ticket has is another one, about the value."""
    unit: str | None = None
    period_of_value: str | None = None
    """The time that the value refers to, such as `per week`."""
    minimum: float | None = None
    """The least value that there can be, in the values' own units; None for no bound."""
    maximum: float | None = None
    decimals: int | None = None
    """How many decimals the value may be typed with, and is shown with; None for any."""
    organisation: str | None = None
    contact: str | None = None
    privacy_url: str | None = None
    """Where the organisation says what it does with answers: an address that begins with https."""
    thank_you: str | None = None
    """What to say once the answer is sent."""
    groups: Groups | None = None
    """The public groups, one of which the respondent names, without noise; None where there are none."""
    components: tuple[Component, ...] = ()
    """The numbers that a respondent gives, where there are several; empty where there is one value."""
    panel: Panel | None = None
    """The panel, where each respondent answers in several periods; None if everybody answers once."""

    @property
    def price(self) -> Price:
        """What the terms promise about every question."""
        return Price(
            self.mechanism,
            self.transform,
            self.epsilon,
            self.epsilon_choices,
            self.rho,
            self.levels,
            self.categories,
            Bounds(self.minimum, self.maximum),
            self.groups,
            self.components,
            self.panel,
        )


@dataclass(frozen=True, slots=True)
class Ticket:
    """One question, and the right to one answer to it."""

    ticket: str = field(repr=False)
    query: Query
    expires_at: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that the server has stored an answer. `query` and `answer` are what was asked and sent."""

    collection: str
    receipt: str
    query: Query
    answer: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Shared:
    """Proof that the server has stored an institution's counts. `query` and `counts` are what was asked and sent."""

    collection: str
    receipt: str
    query: MemberCounts
    counts: tuple[int, ...] = field(repr=False)


def parse_terms(data: object) -> Terms:
    """Reads a collection's terms; unknown fields are ignored. Raises `BadResponse`."""
    terms = _object(data, "terms")
    try:
        epsilon = wire_epsilon(terms["epsilon"])
        choices = tuple(sorted(map(wire_epsilon, _optional(terms, "epsilon_choices", _list) or ())))
    except (KeyError, InvalidEpsilon):
        raise BadResponse("the server's terms lack a valid epsilon") from None
    try:
        rho = None if terms.get("rho") is None else wire_epsilon(terms["rho"], "rho")
    except InvalidEpsilon:
        raise BadResponse("the server's terms lack a valid rho") from None
    bounds = _bounds(terms)
    return Terms(
        id=_token(terms, "id"),
        name=_text(terms, "name"),
        family=_text(terms, "family"),
        transform=_text(terms, "transform"),
        epsilon=epsilon,
        mechanism=_text(terms, "mechanism"),
        state=_text(terms, "state"),
        answers=_optional(terms, "answers", _count),
        opens_at=_optional(terms, "opens_at", _text),
        closes_at=_optional(terms, "closes_at", _text),
        max_answers=_optional(terms, "max_answers", _count),
        admission=_text(terms, "admission"),
        visibility=_text(terms, "visibility"),
        advice=_optional(terms, "advice", _text),
        notice=_optional(terms, "notice", _text),
        epsilon_choices=choices,
        rho=rho,
        levels=_optional(terms, "levels", _count),
        member_cuts=_optional(terms, "member_cuts", _coordinates),
        categories=_optional(terms, "categories", _categories) or (),
        question=_optional(terms, "question", _text),
        unit=_optional(terms, "unit", _text),
        period_of_value=_optional(terms, "period_of_value", _text),
        minimum=bounds.minimum,
        maximum=bounds.maximum,
        decimals=_optional(terms, "decimals", _decimals),
        organisation=_optional(terms, "organisation", _text),
        contact=_optional(terms, "contact", _text),
        privacy_url=_optional(terms, "privacy_url", _https),
        thank_you=_optional(terms, "thank_you", _text),
        groups=_optional(terms, "groups", _groups),
        components=_optional(terms, "components", _components) or (),
        panel=_optional(terms, "panel", _panel),
    )


def parse_ticket(data: object) -> Ticket:
    """Reads a ticket. Raises `BadResponse`, and `InvalidQuery` for a question that an honest server would not ask."""
    fields = _object(data, "ticket")
    ticket, expires_at = _token(fields, "ticket"), _text(fields, "expires_at")
    try:
        query = parse_query(fields.get("query"))
    except InvalidQuery as error:
        raise InvalidQuery(f"the server's question is refused: {error}") from None
    return Ticket(ticket, query, expires_at)


def parse_receipt(data: object) -> str:
    """Reads the receipt of an answer. Raises `BadResponse`."""
    return _token(_object(data, "receipt"), "receipt")


def parse_problem(status: int, body: bytes) -> Problem:
    """Reads a problem document; a refusal without a valid one has the type `about:blank`."""
    try:
        document = _object(decode_json(body), "problem")
        fields = document.get("fields")
        known = [printable(name) for name in fields if isinstance(name, str)] if isinstance(fields, list) else []
        return Problem(status, _token(document, "type"), _text(document, "detail"), known)
    except BadResponse:
        return Problem(status, "about:blank", f"the server refused with status {status} and gave no reason")


def printable(text: str) -> str:
    """The first 500 characters of `text` with a blank for each control character, so that a terminal can show it."""
    text = text[:500]
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _object(data: object, name: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise BadResponse(f"the server's {name} is not a JSON object")
    return data


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise BadResponse(f"the server's response lacks the text {name!r}")
    return printable(value)


def _token(data: dict[str, Any], name: str) -> str:
    """A text that is sent back or stored unchanged, and so must be printable ASCII."""
    value = data.get(name)
    if isinstance(value, str) and 1 <= len(value) <= _MAX_TOKEN and value.isascii() and value.isprintable():
        return value
    raise BadResponse(f"the server's response lacks a proper {name!r}")


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise BadResponse(f"the server's response lacks the list {name!r}")
    return value


def _coordinates(data: dict[str, Any], name: str) -> tuple[float, ...]:
    return tuple(_coordinate({name: value}, name) for value in _list(data, name))


def _categories(data: dict[str, Any], name: str) -> tuple[str, ...]:
    """Texts that are compared with the value and so are taken as they are, or refused."""
    return _different(_list(data, name), MAX_CATEGORIES, name)


def _groups(data: dict[str, Any], name: str) -> Groups:
    """Labels that are sent as they are, and what they are called."""
    groups = _object(data[name], f"{name!r}")
    return Groups(_text(groups, "name"), _different(_list(groups, "labels"), MAX_GROUPS, name))


def _components(data: dict[str, Any], name: str) -> tuple[Component, ...]:
    described = [_object(some, "component") for some in _list(data, name)]
    try:
        check_component_names([some.get("name") for some in described])
        transforms = [check_transform(some.get("transform")) for some in described]
    except ValueError:
        raise BadResponse(f"the server's response lacks proper {name!r}") from None
    return tuple(
        Component(
            some["name"],
            transform,
            _bounds(some),
            _optional(some, "question", _text),
            _optional(some, "unit", _text),
            _optional(some, "period_of_value", _text),
            _optional(some, "decimals", _decimals),
        )
        for some, transform in zip(described, transforms, strict=True)
    )


def _panel(data: dict[str, Any], name: str) -> Panel:
    panel, period = _object(data[name], f"{name!r}"), data.get("period")
    if period in get_args(PeriodName):
        with suppress(ValueError):
            return Panel.from_json({**panel, "period": period})
    raise BadResponse(f"the server's response lacks a proper {name!r}")


def _different(values: list[Any], most: int, name: str) -> tuple[str, ...]:
    proper = all(isinstance(value, str) and value == printable(value) for value in values)
    if not (proper and 2 <= len(values) <= most and len(set(values)) == len(values)):
        raise BadResponse(f"the server's response lacks proper {name!r}")
    return tuple(values)


def _coordinate(data: dict[str, Any], name: str) -> float:
    try:
        return check_coordinate(name, data[name])
    except InvalidQuery:
        raise BadResponse(f"the server's response lacks a proper {name!r}") from None


def _bounds(data: dict[str, Any]) -> Bounds:
    minimum, maximum = (_optional(data, name, _coordinate) for name in ("minimum", "maximum"))
    if minimum is not None and maximum is not None and minimum >= maximum:
        raise BadResponse("the server's terms have a minimum that is not below their maximum")
    return Bounds(minimum, maximum)


def _decimals(data: dict[str, Any], name: str) -> int:
    decimals = _count(data, name)
    if decimals > MAX_DECIMALS:
        raise BadResponse(f"the server's response lacks a proper {name!r}")
    return decimals


def _https(data: dict[str, Any], name: str) -> str:
    """An address that a person may follow, and so may be of no other scheme."""
    address = _token(data, name)
    if not _HTTPS.fullmatch(address):
        raise BadResponse(f"the server's response lacks a proper {name!r}")
    return address


def _count(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadResponse(f"the server's response lacks the count {name!r}")
    return value


def _optional(data: dict[str, Any], name: str, read: Callable[[dict[str, Any], str], _T]) -> _T | None:
    return None if data.get(name) is None else read(data, name)
