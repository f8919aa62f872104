"""What a server says beside its questions, for `make_vectors`: terms, receipts and problems."""

import json
from collections.abc import Iterable
from typing import Any

from dither_client.errors import BadResponse
from dither_client.protocol.messages import parse_problem, parse_receipt, parse_terms
from dither_client.strict_json import decode_json

__all__ = ["problems", "receipts", "terms"]

_TERMS = {
    "id": "c", "name": "Wages", "family": "normal", "transform": "log", "epsilon": 1, "mechanism": "laplace",
    "state": "open", "answers": 0, "admission": "public", "visibility": "private",
}  # fmt: skip
"""What is required, but for `answers`."""

_WAGE = '{"name": "wage", "transform": "log"}'
_AGE = '{"name": "age", "transform": "identity"}'
_NO_NAMES = ("7", "null", '""', '"a b"', '"é"', '"a\\n"', '["a"]', '"' + "a" * 65 + '"')
_NO_SURVEYS = (
    '"question": 7', '"unit": ["x"]', '"period_of_value": 7', '"minimum": "0"', '"minimum": 5, "maximum": 5',
    '"decimals": 7', '"decimals": 2.0', '"maximum": true',
)  # fmt: skip
_CHANGES = [
    *((name, wrong) for name in ("id", "name", "state", "mechanism", "transform") for wrong in ("null", "7", '["x"]')),
    *(("epsilon", wrong) for wrong in ("null", "0", "-1", '"1_0"', '" 1"', "0.0000001", "[1]", "true")),
    *(("answers", wrong) for wrong in ("-1", "1.0", '"0"', "true", "1" + "0" * 40)),
    ("id", '""'), ("id", '"é"'), ("id", '"a\\nb"'), ("rho", "0"), ("rho", '"x"'), ("epsilon_choices", "1"),
    ("epsilon_choices", "[0]"), ("epsilon_choices", '["x"]'), ("notice", "7"), ("max_answers", "1.5"),
    ("opens_at", "7"), ("epsilon", '1, "epsilon": 1'),
    *(("categories", wrong) for wrong in ('["a"]', '["a", "a"]', '"ab"', "[1, 2]", '["a", "b\\n"]', '["a", null]')),
    ("categories", json.dumps(list(map(str, range(65))))),
    *(("groups", wrong) for wrong in ('["a", "b"]', '"a"', '{"name": "region"}', '{"labels": ["a", "b"]}', "{}", "7")),
    *(("groups", f'{{"name": "region", "labels": {wrong}}}') for wrong in ('["a"]', '["a", "a"]', '["a", 1]', "null")),
    ("groups", '{"name": 7, "labels": ["a", "b"]}'), ("groups", '{"name": "region", "labels": ["a", "b\\n"]}'),
    ("groups", json.dumps({"name": "region", "labels": list(map(str, range(501)))})),
    *(
        ("components", wrong)
        for wrong in (
            "7", "{}", "[]", '["wage", "age"]', f"[{_WAGE}]", f"[{_WAGE}, {_WAGE}]", f"[{_WAGE}, null]",
            f'[{_WAGE}, {{"name": "age"}}]', f'[{_WAGE}, {{"name": "age", "transform": "sqrt"}}]',
            f'[{_WAGE}, {{"transform": "log"}}]',
        )
    ),
    *(("components", f'[{_WAGE}, {{"name": {name}, "transform": "log"}}]') for name in _NO_NAMES),
    *(("components", f"[{_WAGE}, {_AGE[:-1]}, {wrong}}}]") for wrong in _NO_SURVEYS),
    ("components", json.dumps([{"name": f"c{i}", "transform": "log"} for i in range(9)])),
    *((name, wrong) for name in ("question", "unit", "period_of_value", "thank_you") for wrong in ("7", '["x"]')),
    *((name, wrong) for name in ("organisation", "contact") for wrong in ("7", "true")),
    *((name, wrong) for name in ("minimum", "maximum") for wrong in ('"0"', "true", "[0]", '"1e5"')),
    ("minimum", '5, "maximum": 5'), ("minimum", '5, "maximum": -5'), ("minimum", "1e400"),
    *(("decimals", wrong) for wrong in ("-1", "7", "2.0", '"2"', "true")),
    *(("privacy_url", wrong) for wrong in ('"http://a.example"', '"javascript:alert(1)"', '"https://"', '""', "7")),
    *(("privacy_url", wrong) for wrong in ('"https://a b"', '"HTTPS://a"', '" https://a"', '"https://é.example"')),
    ("privacy_url", '"https://' + "a" * 493 + '"'),
    *(("period", f'"week", "panel": {wrong}') for wrong in ("[2, 30]", "2", "{}", '{"answers": 2}', '{"periods": 2}')),
    *(
        ("period", f'"week", "panel": {{"answers": {answers}, "periods": {periods}}}')
        for answers, periods in (
            ("0", "30"), ("31", "30"), ("1", "1"), ("2", "1501"), ("2.0", "30"), ('"2"', "30"), ("2", "null"),
        )
    ),
    *(("panel", f'{{"answers": 2, "periods": 30}}, "period": {wrong}') for wrong in ('"year"', "null", "7", '["day"]')),
    ("panel", '{"answers": 2, "periods": 30}'),
]  # fmt: skip

_FINE = [
    ("period", '"week", "panel": {"answers": 2, "periods": 30, "later": 1}'), ("period", '"year", "panel": null'),
    ("period", '"month", "panel": {"answers": 1500, "periods": 1500}'), ("period", '"day"'),
    ("epsilon", '"0.5"'), ("epsilon", "5e-1"), ("rho", "null"), ("rho", "0.25"), ("rho", '"0.25"'),
    ("epsilon_choices", "[0.5, 1]"), ("epsilon_choices", '["0.5", 1]'), ("notice", '"Mind."'), ("notice", "null"),
    ("max_answers", "100"), ("later", '{"unknown": [1]}'), ("name", '"two\\nlines"'), ("answers", "9007199254740993"),
    ("answers", "null"), ("categories", "null"), ("categories", '["never", "é"]'),
    ("categories", json.dumps(list(map(str, range(64))))),
    ("groups", "null"), ("groups", '{"name": "region", "labels": ["north", "Île-de-France"], "shares": null}'),
    ("groups", json.dumps({"name": "district", "labels": list(map(str, range(500)))})),
    ("components", "null"), ("components", f"[{_WAGE}, {_AGE}]"),
    ("components", json.dumps([{"name": f"c-{i}_X", "transform": "log", "later": [i]} for i in range(8)])),
    (
        "components",
        f'[{_WAGE}, {{"name": "{"a" * 64}", "transform": "identity", "question": "How old\\n?", "unit": null, '
        '"minimum": -0.0, "maximum": 1e3, "decimals": 6}]',
    ),
    (
        "components",
        f'[{_WAGE}, {{"name": "b", "transform": "log", "unit": "€", "period_of_value": "per week"}}]',
    ),
    ("question", '"How much?\\n"'), ("question", "null"), ("unit", '"€"'), ("period_of_value", '"per week"'),
    ("minimum", '-0.0, "maximum": 1e5'), ("minimum", "null"), ("maximum", "1e300"), ("decimals", "0"),
    ("decimals", "6"), ("decimals", "null"), ("organisation", '"An office"'), ("contact", '"a@b.example"'),
    ("privacy_url", '"https://a.example/x?y=1#z"'), ("privacy_url", '"https://' + "a" * 492 + '"'),
    ("thank_you", '"Thanks."'), ("thank_you", "null"),
]  # fmt: skip

_RECEIPTS = [
    '{"receipt": "r"}', '{"receipt": "a b~", "later": 1}', '{"receipt": "' + "r" * 65_536 + '"}', "{}", "[]", "null",
    '{"receipt": ""}', '{"receipt": "é"}', '{"receipt": "a\\u0000"}', '{"receipt": 7}', '{"receipt": null}', "",
    '{"receipt": "' + "r" * 65_537 + '"}', '{"receipt": "r", "receipt": "r"}', '{"receipt": "r"} x',
]  # fmt: skip

_PROBLEMS = [
    '{"type": "urn:dither:ticket-expired", "title": "x", "status": 410, "detail": "Late."}',
    '{"type": "urn:dither:already-answered", "detail": ""}',
    '{"type": "https://example.org/other", "detail": "Something else."}',
    '{"type": "urn:dither:ticket-expired"}', '{"type": 7, "detail": "x"}', '{"detail": "x"}', "[]", "", "<html>",
    '{"type": "urn:dither:ticket-expired", "detail": "x", "detail": "x"}', '{"type": "", "detail": "x"}',
]  # fmt: skip


def terms() -> Iterable[dict[str, Any]]:
    """Replies about a collection; ε in millionths, or null where they are refused."""
    texts = [json.dumps(_TERMS)]
    texts += [_changed(name, value) for name, value in _FINE + _CHANGES]
    texts += [json.dumps({name: value for name, value in _TERMS.items() if name != left}) for left in _TERMS]
    texts += ["[]", "null", "", '"terms"']
    for text in texts:
        try:
            yield {"body": text, "micro": int(parse_terms(decode_json(text.encode())).epsilon * 1_000_000)}
        except BadResponse:
            yield {"body": text, "micro": None}


def _changed(name: str, value: str) -> str:
    return json.dumps({**_TERMS, name: "@"}).replace('"@"', value)


def receipts() -> Iterable[dict[str, Any]]:
    """Replies to an answer, and the receipt, or null where they are refused."""
    for text in _RECEIPTS:
        try:
            yield {"body": text, "receipt": parse_receipt(decode_json(text.encode()))}
        except BadResponse:
            yield {"body": text, "receipt": None}


def problems() -> Iterable[dict[str, Any]]:
    """Refusals, and the name that says what to do: `about:blank` where there is no proper document."""
    return [{"body": text, "name": parse_problem(400, text.encode()).name} for text in _PROBLEMS]
