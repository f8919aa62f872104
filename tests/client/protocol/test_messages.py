"""What the server says is read strictly."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import BadResponse, InvalidQuery, Laplace
from dither_client.mechanisms.bounds import Bounds
from dither_client.protocol.messages import parse_problem, parse_receipt, parse_terms, parse_ticket, printable
from dither_client.strict_json import decode_json

QUERY = {"mechanism": "laplace", "low": 0, "high": 1, "levels": 1, "epsilon": 1, "transform": "log"}
TICKET = {"ticket": "abc", "query": QUERY, "expires_at": "2026-01-01T00:00:00Z"}
TERMS: dict[str, Any] = {
    "id": "w4ges",
    "name": "Wages",
    "family": "normal",
    "transform": "log",
    "epsilon": Decimal("0.1"),
    "mechanism": "laplace",
    "goal": {"mu": 1},
    "policy": "adaptive",
    "levels": None,
    "state": "open",
    "answers": 12,
    "created_at": "2026-01-01T00:00:00Z",
    "opens_at": None,
    "closes_at": "2027-01-01T00:00:00Z",
    "max_answers": 100,
    "admission": "public",
    "visibility": "private",
    "advice": None,
}


def test_numbers_are_exact_decimals() -> None:
    text = b'{"epsilon": 0.1, "levels": 3, "low": -1.5e2}'
    assert decode_json(text) == {"epsilon": Decimal("0.1"), "levels": 3, "low": Decimal("-150")}
    assert decode_json(b"[0.1, 2]", exact=False) == [0.1, 2]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "bad",
    [
        *(b"", b"{", b"nul", b"{'a': 1}", b'{"a": 1} x', b"\xff", b"NaN", b"[Infinity]", b"-Infinity"),
        *(b'{"a": 1, "a": 1}', b'"\\ud800"', b"\xef\xbb\xbf1", b"1" * 900_000, b"0." + b"1" * 900_000),
        *(b"1e400", b"[-1e999]", b"1" * 5000, b"[" * 100_000, '{"a": "é"}'.encode("latin-1"), "[1]".encode("utf-16")),
    ],
)
def test_anything_but_strict_json_is_refused(bad: bytes, exact: bool) -> None:
    with pytest.raises(BadResponse):
        decode_json(bad, exact)


@given(st.binary(max_size=40))
def test_bytes_are_json_or_refused(body: bytes) -> None:
    try:
        decode_json(body)
    except BadResponse:
        return
    json.loads(body)


def test_a_ticket() -> None:
    ticket = parse_ticket({**TICKET, "later": "fields are ignored"})
    assert (ticket.ticket, ticket.query, ticket.expires_at) == ("abc", Laplace(0, 1, 1, 1, "log"), TICKET["expires_at"])
    assert "abc" not in repr(ticket)


@pytest.mark.parametrize(
    "bad",
    [
        *(None, [], "abc", {}),
        *({**TICKET, "ticket": ticket} for ticket in (None, 3, "", "é", "a\nb", "\ud800", "x" * 65_537)),
        {**TICKET, "expires_at": None},
    ],
)
def test_bad_tickets(bad: Any) -> None:
    with pytest.raises(BadResponse):
        parse_ticket(bad)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (None, "must be a JSON object"),
        ({**QUERY, "levels": 4096}, "levels must be 1 to 1024"),
        ({**QUERY, "low": 2}, "low must be below high"),
        ({**QUERY, "epsilon": 51}, "epsilon must be at most 50"),
    ],
)
def test_a_question_that_is_refused_says_why(query: Any, says: str) -> None:
    with pytest.raises(InvalidQuery, match=f"the server's question is refused: .*{says}"):
        parse_ticket({**TICKET, "query": query})


def test_terms() -> None:
    terms = parse_terms(TERMS)
    assert (terms.id, terms.name, terms.epsilon, terms.max_answers) == ("w4ges", "Wages", Fraction(1, 10), 100)
    assert terms.opens_at is None
    assert terms.closes_at == "2027-01-01T00:00:00Z"
    assert terms.rho is None
    assert parse_terms({**TERMS, "rho": Decimal("0.25")}).rho == Fraction(1, 4)
    assert parse_terms({**TERMS, "answers": None}).answers is None  # of a private collection, to a stranger


def test_terms_have_what_a_respondent_reads() -> None:
    words = {"question": "How much?", "unit": "€", "period_of_value": "per week", "organisation": "An office"}
    rest = {"contact": "a@b.example", "privacy_url": "https://a.example/x", "thank_you": "Thanks.", "decimals": 2}
    terms = parse_terms({**TERMS, **words, **rest, "minimum": Decimal("-0.5"), "maximum": 10})
    assert {name: getattr(terms, name) for name in {**words, **rest}} == {**words, **rest}
    assert (terms.minimum, terms.maximum) == (-0.5, 10.0)
    assert terms.price.bounds == Bounds(-0.5, 10.0)
    plain = parse_terms(TERMS)
    assert {getattr(plain, name) for name in {**words, **rest, "minimum": None, "maximum": None}} == {None}
    assert parse_terms({**TERMS, "question": "\x1b[31m\n" + "x" * 1000}).question == " [31m " + "x" * 494


def test_terms_cannot_steer_a_terminal() -> None:
    terms = parse_terms({**TERMS, "name": "\x1b[31mred\x07\n" + "x" * 1000})
    assert terms.name.isprintable()
    assert len(terms.name) == 500


@pytest.mark.parametrize(
    "change",
    [
        *({"epsilon": epsilon} for epsilon in (None, 0, "x", Decimal("0.0000001"), True)),
        *({"answers": answers} for answers in (-1, 1.5, True, "3")),
        *({"name": name} for name in (None, 3)),
        *({"id": id_} for id_ in (None, 3, "", "a b\n")),
        *({"rho": rho} for rho in (0, "x", Decimal("0.0000001"), True)),
        {"max_answers": "many"},
        *({"minimum": bound} for bound in ("0", True, Decimal("1e999"))),
        {"minimum": 5, "maximum": 5},
        *({"decimals": decimals} for decimals in (-1, 7, Decimal("1.5"), True)),
        *({"privacy_url": url} for url in ("http://a.example", "javascript:alert(1)", "https://a b", "https://", 3)),
        *({name: 3} for name in ("question", "unit", "period_of_value", "organisation", "contact", "thank_you")),
        {"advice": 3},
    ],
)
def test_bad_terms(change: dict[str, Any]) -> None:
    with pytest.raises(BadResponse):
        parse_terms({**TERMS, **change})


@pytest.mark.parametrize("field", sorted(TERMS.keys() - {"goal", "policy", "levels", "created_at"}))
def test_terms_that_lack_a_field(field: str) -> None:
    terms = {name: value for name, value in TERMS.items() if name != field}
    if TERMS[field] is None or field in ("closes_at", "max_answers", "answers"):
        parse_terms(terms)
    else:
        with pytest.raises(BadResponse):
            parse_terms(terms)


def test_receipts() -> None:
    assert parse_receipt({"receipt": "r"}) == "r"
    for bad in (None, {}, {"receipt": 3}, {"receipt": "\x00"}):
        with pytest.raises(BadResponse):
            parse_receipt(bad)


def test_problems() -> None:
    body = b'{"type": "urn:dither:ticket-expired", "title": "x", "status": 410, "detail": "too\\nlate"}'
    problem = parse_problem(410, body)
    assert (problem.status, problem.type, problem.name, str(problem)) == (
        410,
        "urn:dither:ticket-expired",
        "ticket-expired",
        "too late",
    )


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"type": 3, "detail": "x"}', b'{"type": "a", "detail": 3}']
)
def test_problems_without_a_document(body: bytes) -> None:
    problem = parse_problem(502, body)
    assert (problem.status, problem.type) == (502, "about:blank")
    assert "502" in str(problem)


@given(st.text())
def test_printable(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
