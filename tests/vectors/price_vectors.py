"""Vectors of the price: terms, what is asked after them, and what a client has to make of it."""

import json
from fractions import Fraction
from typing import Any

from dither_client import DitherError
from dither_client.protocol.messages import parse_terms, parse_ticket
from dither_client.strict_json import decode_json

__all__ = ["price_vectors"]

_LAPLACE = {"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": 1}
_TERMS = {
    "id": "c", "name": "C", "family": "normal", "transform": "identity", "epsilon": 1, "mechanism": "laplace",
    "state": "open", "answers": 0, "admission": "public", "visibility": "private",
}  # fmt: skip
_RESPONSE = {"mechanism": "randomized_response", "epsilon": 1}
_SETS = {"mechanism": "staircase", "cuts": [-1, 1], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 1}
_NOISE = {"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 0.25, "epsilon": 0.75}
_CHOICES = {"epsilon_choices": [0.5, 1, 2]}
_TENTH = {"epsilon": 0.1}
_GROUPS = {"mechanism": "grouped_randomized_response", "groups": [[0, 2], [1]], "epsilon": 1}
_CATEGORIES = {"mechanism": "grouped_randomized_response", "categories": ["a", "b", "c"]}
_BOUNDS = {"minimum": 0, "maximum": 100.5}
_GROUPED = {"groups": {"name": "region", "labels": ["north", "south"]}}
_RENAMED = {"groups": {"name": "region", "labels": ["north", "west"]}}
_WAGE = {"name": "wage", "transform": "log", "minimum": 0, "unit": "€"}
_AGE = {"name": "age", "transform": "identity", "minimum": 0, "maximum": 120, "decimals": 0}
_SEVERAL = {"family": "components", "components": [_WAGE, _AGE]}
_THREE = {**_SEVERAL, "components": [_WAGE, _AGE, {"name": "rent", "transform": "log"}]}
_INNER = {**_LAPLACE, "transform": "identity"}
_ABOUT_AGE = {"mechanism": "component", "component": 1, "query": _INNER, "epsilon": 1}
_CHANNEL = {"mechanism": "randomized_response", "cuts": [0], "epsilon": 1}
_BOTH = {
    "mechanism": "joint", "components": [0, 1], "states": "same_side", "cuts": [[6.5], [40]],
    "transforms": ["log", "identity"], "channel": _CHANNEL, "epsilon": 1,
}  # fmt: skip
_ALL = {
    **_BOTH, "components": [0, 1, 2], "states": "odd_one_out", "cuts": [[6.5], [40], [6]],
    "transforms": ["log", "identity", "log"], "channel": {**_CHANNEL, "cuts": [0, 1, 2]},
}  # fmt: skip
_PANEL = {"period": "week", "panel": {"answers": 2, "periods": 30}}
_OTHERS = {**_CATEGORIES, "categories": ["b", "a", "c"]}
_PRICES: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
    ({}, {}, None), ({}, {"levels": 1}, None), ({}, {"levels": 1024}, None), ({"levels": 4}, {}, None),
    ({}, {"epsilon": 0.5}, None), ({"epsilon": "1.0"}, {"epsilon": "1"}, None), ({"levels": 64}, {"levels": 1}, None),
    ({}, {"epsilon": 1.000001}, None), (_TENTH, {**_RESPONSE, "cuts": list(range(1000)), "epsilon": 10}, None),
    (_TENTH, {"epsilon": 0.100001}, None), ({"levels": 4}, {"levels": 5}, None), ({}, {"transform": "log"}, None),
    ({"transform": "log"}, {}, None), ({"transform": "log"}, {"transform": "log"}, None),
    (_CHOICES, {}, None), (_CHOICES, {"epsilon": 2}, None), (_CHOICES, {"epsilon": 2}, "2"),
    (_CHOICES, {"epsilon": 0.5}, "0.5"), (_CHOICES, {"epsilon": 1}, "0.5"), (_CHOICES, {"epsilon": 0.5}, "2"),
    (_CHOICES, {"epsilon": 3}, "3"), ({}, {}, "1"), ({}, {"epsilon": 0.5}, "0.5"),
    ({}, {**_RESPONSE, "cuts": [0]}, None), ({}, _NOISE, None), ({}, _SETS, None),
    (_RESPONSE, {**_RESPONSE, "cuts": [0]}, None), (_RESPONSE, {**_RESPONSE, "cuts": [0, 1, 2]}, None),
    (_RESPONSE, {"levels": 1}, None), (_RESPONSE, {"levels": 2}, None), (_RESPONSE, _SETS, None),
    ({**_RESPONSE, "levels": 3}, {**_RESPONSE, "cuts": [0, 1, 2]}, None),
    ({**_RESPONSE, "levels": 3}, {**_RESPONSE, "cuts": [0, 1]}, None),
    ({**_RESPONSE, "levels": 3}, {**_RESPONSE, "cuts": [0, 1, 2, 3]}, None),
    ({"mechanism": "staircase"}, _SETS, None), ({"mechanism": "staircase"}, {**_RESPONSE, "cuts": [0, 1]}, None),
    ({"mechanism": "staircase"}, {"levels": 1}, None), ({"mechanism": "staircase"}, {"levels": 2}, None),
    ({"mechanism": "gaussian", "rho": 0.25}, _NOISE, None), ({"mechanism": "gaussian", "rho": 0.5}, _NOISE, None),
    ({"mechanism": "gaussian", "rho": 0.249999}, _NOISE, None), ({"mechanism": "gaussian"}, _NOISE, None),
    ({"mechanism": "gaussian", "rho": 0.25}, {"levels": 1}, None),
    ({"mechanism": "cauchy"}, {}, None), ({"mechanism": "constructor"}, {}, None),
    (_CATEGORIES, _GROUPS, None), (_CATEGORIES, {**_GROUPS, "groups": [[0], [1]]}, None), (_CATEGORIES, {}, None),
    (_CATEGORIES, {**_GROUPS, "epsilon": 2}, None), ({}, _GROUPS, None), (_CATEGORIES, {"levels": 1}, None),
    ({"categories": ["a", "b"]}, {"levels": 1}, None), ({"categories": ["a", "b"]}, {}, None),
    (_SEVERAL, _ABOUT_AGE, None), (_SEVERAL, _BOTH, None), (_THREE, _ALL, None), (_THREE, _BOTH, None),
    (_SEVERAL, {}, None), ({}, _ABOUT_AGE, None), ({}, _BOTH, None), (_CATEGORIES, _BOTH, None), (_SEVERAL, _ALL, None),
    (_SEVERAL, _GROUPS, None),
    (_SEVERAL, {**_ABOUT_AGE, "component": 2}, None), (_THREE, {**_ABOUT_AGE, "component": 2}, None),
    (_SEVERAL, {**_ABOUT_AGE, "query": {**_INNER, "transform": "log"}, "transform": "log"}, None),
    (_SEVERAL, {**_ABOUT_AGE, "query": {**_INNER, "epsilon": 2}, "epsilon": 2}, None),
    (_SEVERAL, {**_BOTH, "channel": {**_CHANNEL, "epsilon": 2}, "epsilon": 2}, None),
    ({**_SEVERAL, **_CHOICES}, {**_BOTH, "channel": {**_CHANNEL, "epsilon": 0.5}, "epsilon": 0.5}, "0.5"),
    ({**_SEVERAL, **_CHOICES}, _BOTH, "0.5"),
    (_SEVERAL, {**_BOTH, "transforms": ["log", "log"]}, None), (_THREE, {**_BOTH, "components": [0, 2]}, None),
    (_SEVERAL, {**_ABOUT_AGE, "query": {**_RESPONSE, "cuts": [0]}}, None),
    (_SEVERAL, {**_ABOUT_AGE, "query": {**_SETS, "epsilon": 1}}, None),
    ({**_SEVERAL, **_RESPONSE}, {**_ABOUT_AGE, "query": {**_RESPONSE, "cuts": [0]}}, None),
    ({**_SEVERAL, **_RESPONSE}, {**_ABOUT_AGE, "query": {**_INNER, "levels": 1}}, None),
    ({**_SEVERAL, **_RESPONSE}, _ABOUT_AGE, None), ({**_SEVERAL, "levels": 1}, _ABOUT_AGE, None),
    ({**_SEVERAL, "levels": 1}, _ALL, None), ({**_THREE, "levels": 1}, _ALL, None),
    (_SEVERAL, {**_ABOUT_AGE, "query": _NOISE, "epsilon": 0.75}, None),
]  # fmt: skip
"""Terms, questions (unlike the usual ones by what is given) and the ε that was chosen."""


def _price(terms: dict[str, Any], query: dict[str, Any], chosen: str | None) -> dict[str, Any]:
    said = json.dumps(_TERMS | terms)
    base = {} if "mechanism" in query else _LAPLACE
    ticket = json.dumps({"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": base | query})
    refused = None
    try:
        price = parse_terms(decode_json(said.encode())).price
        price.check(parse_ticket(decode_json(ticket.encode())).query, None if chosen is None else Fraction(chosen))
    except DitherError as error:
        refused = error
    outcome = {"error": type(refused).__name__ if refused else None, "reason": str(refused) if refused else None}
    return {"terms": said, "ticket": ticket, "epsilon": chosen, **outcome}


_RAISED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}), (_TENTH, {}), ({}, _TENTH), (_TENTH, {"epsilon": 0.100001}), ({}, _CHOICES), (_CHOICES, {}),
    (_CHOICES, {"epsilon": 1, "epsilon_choices": [1, 3]}), (_CHOICES, {"epsilon": 2, "epsilon_choices": [1, 2]}),
    (_CATEGORIES, _CATEGORIES), (_CATEGORIES, _OTHERS), ({}, _CATEGORIES), (_CATEGORIES, {}),
    (_BOUNDS, _BOUNDS), (_BOUNDS, {"minimum": 0, "maximum": 50}), (_BOUNDS, {"minimum": 0}), (_BOUNDS, {}),
    ({}, _BOUNDS), ({"minimum": 0}, {"minimum": 0.0}), ({"maximum": 7}, {"minimum": 7}),
    (_GROUPED, _GROUPED), (_GROUPED, _RENAMED), (_GROUPED, {}), ({}, _GROUPED),
    (_SEVERAL, _SEVERAL), (_SEVERAL, {"components": [_AGE, _WAGE]}), (_SEVERAL, _THREE), (_SEVERAL, {}), ({}, _SEVERAL),
    (_SEVERAL, {"components": [_WAGE, {**_AGE, "maximum": 100}]}),
    (_SEVERAL, {"components": [{**_WAGE, "transform": "identity"}, _AGE]}),
    (_PANEL, _PANEL), (_PANEL, {}), ({}, _PANEL), (_PANEL, {"period": "week"}), (_PANEL, {**_PANEL, "period": "day"}),
    (_PANEL, {**_PANEL, "panel": {"answers": 3, "periods": 30}}), (_PANEL, {**_PANEL, **_TENTH}),
    (_SEVERAL, {"components": [{**_WAGE, "unit": "£", "question": "What is your wage?"}, {**_AGE, "decimals": 2}]}),
]  # fmt: skip


def _raised(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    texts = [json.dumps(_TERMS | change) for change in (before, after)]
    told, now = (parse_terms(decode_json(text.encode())) for text in texts)
    reason = None
    try:
        told.price.check_kept(now.price)
    except DitherError as error:
        reason = str(error)
    return {"told": texts[0], "now": texts[1], "reason": reason}


_VALUES: list[tuple[dict[str, Any], Any]] = [
    ({}, 0.0), ({}, -1e300), (_BOUNDS, 0.0), (_BOUNDS, 100.5), (_BOUNDS, 50.0), (_BOUNDS, -0.001), (_BOUNDS, 100.501),
    (_BOUNDS, 1e9), (_BOUNDS, -5.0), ({"minimum": 0}, -5.0), ({"minimum": 0}, 1e300), ({"maximum": 100000}, 100000.5),
    ({"maximum": 100000}, -1e300), ({"minimum": -1234.5, "maximum": "null"}, -1235.0),
    ({"transform": "log", "minimum": 1e-7}, 0.0), (_CATEGORIES, "b"), (_CATEGORIES, "B"), (_CATEGORIES, 1.0),
    (_SEVERAL, {"wage": 540.5, "age": 41.0}), (_SEVERAL, {"age": 0.0, "wage": 1e300}), (_SEVERAL, {"wage": 540.5}),
    (_SEVERAL, {"wage": 540.5, "age": 121.0}), (_SEVERAL, {"wage": -1.0, "age": 121.0}), (_SEVERAL, {}),
    (_SEVERAL, {"wage": 540.5, "age": 41.0, "weight": 70.0}), (_SEVERAL, {"wage": 540.5, "age": 41.0, "41.5": 70.0}),
    (_SEVERAL, {"wage": "540", "age": 41.0}), (_SEVERAL, {"wage": None, "age": 41.0}),
    (_SEVERAL, {"wage": True, "age": 4.0}),
    (_SEVERAL, 540.5), (_SEVERAL, "wage"), (_SEVERAL, [540.5, 41.0]), ({}, {"wage": 540.5}),
    ({**_SEVERAL, "maximum": 1}, {"wage": 540.5, "age": 41.0}), (_CATEGORIES, {"a": 1.0}),
]  # fmt: skip
"""Terms, and values of respondents."""


def _value(terms: dict[str, Any], value: Any) -> dict[str, Any]:
    said = json.dumps(_TERMS | terms).replace('"null"', "null")
    try:
        number = parse_terms(decode_json(said.encode())).price.held(value)
    except DitherError as error:
        return {"terms": said, "value": value, "number": None, "reason": str(error)}
    return {"terms": said, "value": value, "number": number, "reason": None}


def price_vectors() -> dict[str, list[Any]]:
    """The lists of `prices.json`."""
    return {
        "prices": [_price(*case) for case in _PRICES],
        "raised": [_raised(before, after) for before, after in _RAISED],
        "values": [_value(terms, value) for terms, value in _VALUES],
    }
