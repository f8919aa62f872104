"""`dither answer` on a terminal: the value is typed at a prompt that does not show it."""

import json
from pathlib import Path

import pytest

from dither_client import JointQuery, Ledger, RandomizedResponse
from testing.command_line import DIGITS, VALUE, panel, type_at_the_prompt
from testing.servers.fake_server import GAUSSIAN, FakeServer


def test_the_hidden_prompt(server: FakeServer, ledger: Path) -> None:
    """The terms are shown; the value is typed and does not appear."""
    status, screen, out = type_at_the_prompt(server, ledger, VALUE)
    assert status == 0
    assert "The laplace one: your value stays on this machine" in screen
    assert "It costs ε = 1; you have spent 0 and allow 10 in total. You can answer once." in screen
    assert DIGITS not in screen + out
    assert json.loads(out)["receipt"] == "receipt-of-laplace-1"
    assert DIGITS.encode() not in ledger.read_bytes()


def test_whoever_does_not_join_spends_nothing(server: FakeServer, ledger: Path) -> None:
    panel(server)
    status, screen, _ = type_at_the_prompt(server, ledger, "n")
    assert status == 1
    assert "It costs ε = 2; you have spent 0 and allow 10 in total." in screen
    assert "you have not joined, and nothing was spent" in screen
    with Ledger(ledger) as account:
        assert account.spent() == 0
    status, screen, out = type_at_the_prompt(server, ledger, "y", VALUE)
    assert (status, json.loads(out)["spent"]) == (0, 2)
    assert DIGITS not in screen + out


def test_several_numbers_are_asked_for_one_by_one(server: FakeServer, ledger: Path) -> None:
    """One that is out of bounds is asked for again; none is shown, and nothing is sent before all are there."""
    components = [
        {"name": "wage", "transform": "log", "question": "What do you earn?", "unit": "€", "minimum": 0},
        {"name": "age", "transform": "identity", "maximum": 120, "decimals": 0},
    ]
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), "components": components})
    channel = RandomizedResponse([0.0], 1)
    server.questions["laplace"] = JointQuery(
        [0, 1], "same_side", [[6.0], [40.0]], ["log", "identity"], channel
    ).to_json()
    status, screen, out = type_at_the_prompt(server, ledger, VALUE[1:], "140", "41")
    assert status == 0, screen
    assert "Your wage, €, at least 0 (it is not shown): " in screen
    assert "age must be at most 120 here: please check it. Nothing was sent." in " ".join(screen.split())
    assert "What do you earn?" in screen
    assert DIGITS not in screen + out
    assert json.loads(out)["query"]["mechanism"] == "joint"


def test_the_prompt_shows_rho(server: FakeServer, ledger: Path) -> None:
    server.questions["laplace"] = GAUSSIAN
    status, screen, _ = type_at_the_prompt(server, ledger, VALUE)
    assert status == 0
    assert "It costs ε = 0.75 (stated ρ = 0.25); you have spent 0" in screen


def test_what_is_no_value_at_the_prompt_is_asked_for_again(server: FakeServer, ledger: Path) -> None:
    """No request is made for what is refused, so nobody learns that anything was."""
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), "minimum": 0, "maximum": 10_000})
    status, screen, out = type_at_the_prompt(server, ledger, "", "abc", "-31415", "1000031415", "5,400.50 €")
    assert status == 0
    assert screen.count("The value must be a finite number, such as 42 or -3.5. Nothing was sent.") == 2
    assert screen.count("The value must be from 0 to 10,000 here: please check it. Nothing was sent.") == 2
    assert DIGITS not in screen + out
    assert "5,400" not in screen + out
    assert [request.path for request in server.requests] == [
        "/v1/collections/laplace",
        "/v1/collections/laplace/tickets",
        "/v1/collections/laplace/responses",
    ]


@pytest.mark.parametrize(("meant", "accepted"), [("t", True), ("d", False)])
def test_whoever_types_a_number_with_two_readings_is_asked(
    server: FakeServer, ledger: Path, meant: str, accepted: bool
) -> None:
    """Below 100 only the one with decimals is refused, so the bounds tell which was taken."""
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), "minimum": 100})
    rest = [] if accepted else ["540"]
    status, screen, _ = type_at_the_prompt(server, ledger, "1.250", "what", meant, *rest)
    assert status == 0
    assert screen.count("separate thousands (t) or begin the decimals (d)?") == 2
    assert ("must be at least 100 here" in screen) is not accepted
    assert "1.250" not in screen


def test_the_price_that_was_shown_is_the_most_that_is_paid(server: FakeServer, ledger: Path) -> None:
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), "epsilon": 0.25})
    status, screen, out = type_at_the_prompt(server, ledger, VALUE)
    assert (status, out) == (1, "")
    assert "It costs ε = 0.25;" in screen
    assert "this question costs ε = 1, more than the ε = 0.25 that the collection's terms say" in screen
    with Ledger(ledger) as book:
        assert book.entries() == []
