"""`dither answer`: the one command that is given a value, which it never prints."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from dither_client import ComponentQuery, JointQuery, Laplace, Ledger, Query, RandomizedResponse, parse_query
from dither_client.mechanisms.calendar_period import CalendarPeriod
from testing.command_line import DIGITS, VALUE, Answer, check_refusal, panel
from testing.servers.fake_server import GAUSSIAN, GROUPED, LAPLACE, Failure, FakeServer


def test_an_answer(server: FakeServer, answer: Answer) -> None:
    status, out, err = answer("laplace", VALUE)
    assert (status, err) == (0, "")
    assert "Receipt: receipt-of-laplace-1" in out
    assert "It cost ε = 1; you have spent 1 in total." in out
    assert DIGITS not in out
    assert server.answers["laplace-1"] in range(5)


def test_rho_stands_beside_epsilon(server: FakeServer, answer: Answer) -> None:
    server.questions["gaussian"] = GAUSSIAN
    status, out, _ = answer("gaussian", VALUE)
    assert status == 0
    assert "It cost ε = 0.75 (ρ = 0.25); you have spent 0.75 in total." in out
    server.questions["again"] = GAUSSIAN
    assert json.loads(answer("again", VALUE, "--json")[1])["rho"] == 0.25


@pytest.mark.parametrize(
    "value", ["42", "-3.5", "+.5", "-.5e-3", "1E5", "0", "-0", "3.", "1e-400", "1.250,00", "12,5", "31415€", "1.250"]
)
def test_values(server: FakeServer, answer: Answer, value: str) -> None:
    status, out, _ = answer("laplace", value, "--json")
    assert status == 0
    shown = json.loads(out)
    assert shown["query"] == parse_query(LAPLACE).to_json()
    assert shown["answer"] == server.answers["laplace-1"]
    assert {name: shown[name] for name in ("collection", "receipt", "epsilon", "spent")} == {
        "collection": "laplace",
        "receipt": "receipt-of-laplace-1",
        "epsilon": 1,
        "spent": 1,
    }


def test_a_negative_value_before_the_options(answer: Answer) -> None:
    assert answer("laplace", "-3.5", "--max-epsilon", "1", "--json")[0] == 0
    assert answer("--json", "randomized", "-7")[0] == 0


def test_the_words_of_the_collection_are_shown(server: FakeServer, answer: Answer) -> None:
    words = {
        "question": "How much did you spend last week?", "unit": "€", "period_of_value": "per week", "minimum": 0,
        "maximum": 10_000, "organisation": "An office", "contact": "a@b.example",
        "privacy_url": "https://b.example/privacy", "thank_you": "Thank you for taking part.",
    }  # fmt: skip
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), **words})
    _, out, err = answer("laplace")
    assert err.splitlines()[:7] == [
        "The laplace one: your value stays on this machine; one noisy answer is sent.",
        "How much did you spend last week?",
        "Who asks: An office",
        "Contact: a@b.example",
        "What is done with answers: https://b.example/privacy",
        "Your value is in € per week",
        "Your value is from 0 to 10,000",
    ]
    assert out == ""
    assert answer("laplace", "540")[1].splitlines()[-1] == "Thank you for taking part."


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (RandomizedResponse([0.5], 1), "your value is above 0.5"),
        (Laplace(20, 40, 1, 1), "your value is above 30"),
        (RandomizedResponse([math.log(500)], 1, "log"), "your value is above 500"),
        (RandomizedResponse([math.nextafter(1, 0)], 1), "your value is at least 1"),
        (ComponentQuery(1, RandomizedResponse([0.5], 1)), "your age is above 0.5"),
    ],
)
def test_yes_or_no_is_confirmed_in_words(server: FakeServer, answer: Answer, question: Query, asked: str) -> None:
    server.questions["sick"] = question.to_json()
    if question.about:
        several = {"components": [{"name": name, "transform": "identity"} for name in ("wage", "age")]}
        server.refusals["/v1/collections/sick"] = (
            200,
            {**server.terms("sick"), "mechanism": "randomized_response", **several},
        )
    value = ["--value", "wage=1", "--value", "age=1"] if question.about else ["1"]
    status, out, err = answer("sick", *value)
    assert (status, err) == (0, "")
    said = ["no", "yes"][server.answers["sick-1"]]
    assert out.splitlines()[0] == f"Your answer was sent: {said}, to whether {asked}; true or not, only you can tell."


def test_a_category_is_confirmed_by_the_texts_of_its_group(server: FakeServer, answer: Answer) -> None:
    server.questions["cycling"] = GROUPED
    out = answer("cycling", "never")[1]
    chosen = ["“never” or “3”", "“weekly”"][server.answers["cycling-1"]]
    assert out.splitlines()[0] == f"Your answer was sent: you chose {chosen}; true or not, only you can tell."


def test_numbers_are_confirmed_by_their_ranges_in_their_units(server: FakeServer, answer: Answer) -> None:
    cells = RandomizedResponse(list(range(1, 6)), 20)
    question = JointQuery([0, 1], "cells", [[500.5, 700.5], [40]], ["identity"] * 2, cells)
    server.questions["sick"] = question.to_json()
    components = [
        {"name": "wage", "transform": "identity", "decimals": 0, "unit": "€", "period_of_value": "a week"},
        {"name": "age", "transform": "identity"},
    ]
    told = {**server.terms("sick"), "mechanism": "randomized_response", "epsilon": 20, "components": components}
    server.refusals["/v1/collections/sick"] = (200, told)
    status, out, err = answer("sick", "--value", "wage=650", "--value", "age=41", "--max-epsilon", "20")
    assert (status, err) == (0, "")
    said = "your wage is above 500 € a week and at most 700 € a week, and your age is above 40"
    assert out.splitlines()[0] == f"Your answer was sent: {said}; true or not, only you can tell."


def test_a_category(server: FakeServer, answer: Answer) -> None:
    server.questions["cycling"] = GROUPED
    check_refusal(answer("cycling", "monthly"), 2, "one of the collection's categories: never, weekly, 3")
    server.questions["walking"] = GROUPED
    for collection, text in (("cycling", "weekly"), ("walking", "3")):
        status, out, _ = answer(collection, "-", "--json", stdin=f"{text}\n".encode())
        assert status == 0
        assert json.loads(out)["query"] == GROUPED


@pytest.mark.parametrize("stdin", [b"31415.9", b"  -31415.9\n", b"3.14159e4\r\n"])
def test_standard_input(server: FakeServer, answer: Answer, stdin: bytes) -> None:
    status, out, err = answer("laplace", "-", "--json", stdin=stdin)
    assert status == 0
    assert json.loads(out)["receipt"] == "receipt-of-laplace-1"
    assert DIGITS not in out + err


def test_a_choice_of_epsilon(server: FakeServer, answer: Answer) -> None:
    server.questions["laplace"] = {**LAPLACE, "epsilon": 0.5}
    status, out, _ = answer("laplace", VALUE, "--epsilon", "0.5", "--json")
    assert (status, json.loads(out)["epsilon"]) == (0, 0.5)
    assert server.sent_to("/v1/collections/laplace/tickets") == [b'{"epsilon": 0.5}']


def test_the_terms_tell_of_the_choice_before_the_value_is_asked_for(server: FakeServer, answer: Answer) -> None:
    choices = {"epsilon_choices": [0.5, 1, 2], "notice": "You choose ε, whatever your value is."}
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), **choices})
    _, _, err = answer("laplace", "--epsilon", "2")
    assert "You choose ε, whatever your value is." in err
    assert "It costs ε = 2; you have spent 0" in err
    assert "It costs ε = 1; you have spent 0" in answer("laplace")[2]
    assert "epsilon must be one of 0.5, 1, 2 here" in answer("laplace", "--epsilon", "3")[2]
    assert "epsilon must be one of 0.5 here" in answer("randomized", "--epsilon", "1")[2]
    assert {request.path for request in server.requests} == {
        "/v1/collections/laplace",
        "/v1/collections/randomized",
    }, "no ticket was asked for"


def test_what_is_stored_is_sent_without_asking(server: FakeServer, answer: Answer, ledger: Path) -> None:
    with Ledger(ledger) as book:
        book.charge(server.url, "laplace", "stored-ticket", parse_query(LAPLACE))
        book.draw(server.url, "laplace", 3)
    status, out, _ = answer("laplace", "--json")
    assert status == 0
    assert json.loads(out)["receipt"] == "receipt-of-stored-ticket"
    assert server.answers["stored-ticket"] == 3
    check_refusal(answer("laplace"), 1, "already has your answer")


def test_a_lost_connection_is_mended(server: FakeServer, answer: Answer) -> None:
    server.failures += [None, Failure(late=True)]
    assert answer("laplace", VALUE)[0] == 0
    assert len(set(server.sent_to("/v1/collections/laplace/responses"))) == 1


def test_a_turn_of_a_panel(server: FakeServer, answer: Answer) -> None:
    panel(server)
    status, out, _ = answer("laplace", VALUE)
    assert status == 0
    assert "It cost ε = 1, as each of your 2 turns does, paid when you joined; you have spent 2 in total." in out


def test_a_period_that_is_not_ones_turn(server: FakeServer, answer: Answer, ledger: Path) -> None:
    panel(server)
    with Ledger(ledger) as account:
        far = CalendarPeriod("month").number_of("2090-03")
        account.join(server.url, "laplace", [far - 1, far], Fraction(1))
    for value in (["-"], []):
        status, out, err = answer("laplace", *value, stdin=VALUE.encode())
        assert status == 0
        assert (
            "This is not your turn, and nothing was sent: the next one is in February 2090. You have spent 2 in total."
            in out
        )
        assert DIGITS not in out + err
    status, out, _ = answer("laplace", "--json", "-", stdin=VALUE.encode())
    assert (status, json.loads(out)["next_turn"], json.loads(out)["spent"]) == (0, "2090-02", 2)
    assert {request.method for request in server.requests} == {"GET"}


@pytest.mark.parametrize(
    ("question", "fields", "asked"),
    [
        (RandomizedResponse([math.log(244.69133)], 1, "log"), {"decimals": 2}, "above 244.69"),
        (RandomizedResponse([0.29], 1), {"decimals": 2}, "above 0.29"),
        (RandomizedResponse([math.log(1.3412e40)], 1, "log"), {"decimals": 6}, "above 1.3412e+40"),
        (RandomizedResponse([-3.5e15], 1), {"decimals": 2}, "above -3,500,000,000,000,000"),
        (RandomizedResponse([-0.221], 1), {"decimals": 2}, "above -0.23"),
        (
            RandomizedResponse([30.7], 1),
            {"decimals": 0, "unit": "€", "period_of_value": "per week"},
            "above 30 € per week",
        ),
    ],
)
def test_a_question_is_told_in_the_unit_and_as_finely_as_values_are(
    server: FakeServer, answer: Answer, question: Query, fields: dict[str, object], asked: str
) -> None:
    server.questions["sick"] = question.to_json()
    told = {**server.terms("sick"), "mechanism": "randomized_response", "transform": question.transform, **fields}
    server.refusals["/v1/collections/sick"] = (200, told)
    _, out, err = answer("sick", "1")
    assert err == ""
    assert f"to whether your value is {asked}; true or not" in out
