"""`dither answer`: the one command that a value is given to, and never comes out of."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from dither_client import ComponentQuery, JointQuery, Laplace, Ledger, Query, RandomizedResponse, parse_query
from dither_client.commands import run
from dither_client.mechanisms.calendar_period import CalendarPeriod
from testing.patience import PATIENCE
from testing.servers.fake_server import GAUSSIAN, GROUPED, LAPLACE, Failure, FakeServer, problem

VALUE = "-31415.9265"
DIGITS = "31415"

Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def answer(
    server: FakeServer, ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Answer:
    """Runs `dither answer`: its status, standard output and standard error."""
    monkeypatch.setenv("DITHER_URL", server.url)

    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        status = run(["answer", "--ledger", str(ledger), *arguments])
        return status, *capsys.readouterr()

    return call


def check_refusal(outcome: tuple[int, str, str], status: int, says: str) -> None:
    assert outcome[0] == status
    assert outcome[1] == ""
    assert outcome[2].startswith("dither: ")
    assert outcome[2].count("\n") == 1
    assert says in outcome[2]
    assert DIGITS not in outcome[2]


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


@pytest.mark.parametrize(
    "value",
    [
        *("nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "", " ", "x31415", "3,14,15", "0x31415"),
        *("1_31415", "--31415", "3 1415", "31415 e", "٣", "31415 euros", "1" * 400),
    ],
)
def test_what_is_no_value(server: FakeServer, answer: Answer, ledger: Path, value: str) -> None:
    check_refusal(answer("laplace", value), 2, "the value must be a finite number")
    check_refusal(answer("laplace", "-", stdin=value.encode()), 2, "the value must be a finite number")
    assert {request.method for request in server.requests} == {"GET"}
    with Ledger(ledger) as account:
        assert account.entries() == []


@pytest.mark.parametrize(
    ("said", "value", "says"),
    [
        ({"minimum": 0, "maximum": 10_000}, "-31415", "the value must be from 0 to 10,000 here: please check it"),
        ({"minimum": 0}, "-0.31415", "the value must be at least 0 here"),
        ({"maximum": 100}, "31415", "the value must be at most 100 here"),
        ({"decimals": 2}, "0.31415", "the value must have at most 2 decimals"),
        ({"decimals": 0}, "31415.5", "the value must be a whole number"),
        ({}, "314,159", "can be read in two ways: write it without a mark between thousands"),
    ],
)
def test_what_the_collection_does_not_take(
    server: FakeServer, answer: Answer, ledger: Path, said: dict[str, Any], value: str, says: str
) -> None:
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), **said})
    check_refusal(answer("laplace", value), 2, says)
    check_refusal(answer("laplace", "-", stdin=value.encode()), 2, says)
    assert {request.path for request in server.requests} == {"/v1/collections/laplace"}
    with Ledger(ledger) as account:
        assert account.entries() == []


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
        (ComponentQuery(1, RandomizedResponse([0.5], 1)), "your number 2 is above 0.5"),
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


def test_other_answers_are_confirmed_by_their_place(server: FakeServer, answer: Answer) -> None:
    server.questions["cycling"] = GROUPED
    out = answer("cycling", "never")[1]
    last = parse_query(GROUPED).n_answers - 1
    assert out.splitlines()[0] == f"Your answer was sent: {server.answers['cycling-1']} of 0 to {last}."


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


def test_garbage_on_standard_input(answer: Answer) -> None:
    check_refusal(answer("laplace", "-", stdin=b"\xff\xfe31415"), 2, "the value must be a finite number")


@pytest.mark.parametrize(
    "arguments",
    [
        ["laplace", VALUE, "extra"],
        ["laplace", "5", VALUE],
        ["laplace", VALUE, VALUE],
        [VALUE, "laplace", "--nonsense"],
        ["laplace", VALUE, "--max-epsilon"],
        ["laplace", VALUE, "--leger", VALUE],
        ["laplace", VALUE, f"--json={VALUE}"],
        [f"--{VALUE}", "laplace", VALUE],
        [],
    ],
)
def test_usage_errors_repeat_nothing(server: FakeServer, answer: Answer, arguments: list[str]) -> None:
    check_refusal(answer(*arguments), 2, "")
    assert server.requests == []


def test_a_value_in_place_of_the_id_is_not_sent(server: FakeServer, answer: Answer) -> None:
    for arguments in (["314.159"], ["31415"], ["-31415"], ["31415", "laplace"], ["314.15", "7"], ["31415", "7"]):
        check_refusal(answer(*arguments), 2, "")
    assert server.requests == []


def test_options_are_checked_before_anyone_is_asked(server: FakeServer, answer: Answer) -> None:
    check_refusal(answer("laplace", VALUE, "--max-epsilon", "much"), 2, "epsilon must be")
    check_refusal(answer("laplace", VALUE, "--url", "http://example.org"), 2, "must begin with https")
    check_refusal(answer("lap/lace", VALUE), 2, "a collection's id may contain only")
    check_refusal(
        answer("laplace", VALUE, "--ledger", "/nowhere/ledger"), 1, "the ledger /nowhere/ledger cannot be used"
    )
    assert server.requests == []


def test_refusals_while_running(server: FakeServer, answer: Answer) -> None:
    check_refusal(answer("laplace", VALUE, "--max-epsilon", "0.5"), 1, "costs ε = 1")
    check_refusal(answer("nothing", VALUE), 2, "there is no such collection")
    server.questions["fine"] = {**LAPLACE, "levels": 4096}
    check_refusal(answer("fine", VALUE), 1, "the server's question is refused: levels must be 1 to 1024")
    server.refusals["/v1/collections/laplace/responses"] = problem(410, "ticket-expired", "the ticket has expired")
    check_refusal(answer("laplace", VALUE), 1, "your answer came too late")
    check_refusal(answer("laplace", VALUE), 1, "came too late")
    assert answer("randomized", VALUE)[0] == 0
    check_refusal(answer("randomized", VALUE), 1, "already has your answer")


def test_a_gateways_collection_is_not_for_this_command(server: FakeServer, answer: Answer) -> None:
    server.refusals["/v1/collections/laplace/tickets"] = problem(401, "unauthorized", "Send the header Authorization.")
    check_refusal(answer("laplace", VALUE), 2, "is answered through an app or a site where you are known")


def test_without_a_value_and_without_a_terminal(server: FakeServer, answer: Answer) -> None:
    status, out, err = answer("randomized")
    assert (status, out) == (2, "")
    assert "The randomized one" in err
    assert "ε = 0.5; you have spent 0 and allow 10 in total" in err
    assert "give - to read it from standard input" in err
    assert [request.path for request in server.requests] == ["/v1/collections/randomized"], "no ticket was asked for"


def test_a_choice_of_epsilon(server: FakeServer, answer: Answer) -> None:
    server.questions["laplace"] = {**LAPLACE, "epsilon": 0.5}
    status, out, _ = answer("laplace", VALUE, "--epsilon", "0.5", "--json")
    assert (status, json.loads(out)["epsilon"]) == (0, 0.5)
    assert server.sent_to("/v1/collections/laplace/tickets") == [b'{"epsilon": 0.5}']


def test_a_choice_of_epsilon_is_checked(server: FakeServer, answer: Answer) -> None:
    check_refusal(answer("laplace", VALUE, "--epsilon", "much"), 2, "epsilon must be")
    assert server.requests == []
    choices = {"epsilon_choices": [0.5, 1, 2]}
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), **choices})
    check_refusal(answer("laplace", VALUE, "--epsilon", "0.5"), 1, "costs ε = 1, more than the ε = 0.5 that you chose")
    check_refusal(answer("laplace", VALUE, "--epsilon", "2"), 1, "not at the ε = 2 that you chose")
    check_refusal(answer("laplace", VALUE, "--epsilon", "3"), 2, "epsilon must be one of 0.5, 1, 2 here")


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


def test_a_collection_that_is_not_open_asks_for_nothing(server: FakeServer, answer: Answer) -> None:
    server.state = "paused"
    check_refusal(answer("randomized"), 1, "the collection is paused")


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


def type_at_the_prompt(server: FakeServer, ledger: Path, *texts: str) -> tuple[int, str, str]:
    """Runs `dither answer laplace` on a terminal of its own, on which each text is typed when it is asked for.

    Returns its status, the screen, and its standard output.
    """
    main, other = os.openpty()
    code = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "from dither_client.commands import main; main()"
    )
    command = [sys.executable, "-c", code, "answer", "laplace", "--url", server.url, "--ledger", str(ledger), "--json"]
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command, stdin=other, stderr=other, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(other)
    screen = b""
    for asked, text in enumerate(texts, 1):
        while len(re.findall(rb"\(it is not shown\): |\((?:d|y or n)\)\? ", screen)) < asked:
            screen += os.read(main, 1000)
        os.write(main, text.encode() + b"\n")
    out, _ = process.communicate(timeout=PATIENCE)
    with suppress(OSError):
        while True:
            screen += os.read(main, 1000)
    os.close(main)
    return process.returncode, screen.decode(), out.decode()


def test_the_hidden_prompt(server: FakeServer, ledger: Path) -> None:
    """The terms are shown; the value is typed and does not appear."""
    status, screen, out = type_at_the_prompt(server, ledger, VALUE)
    assert status == 0
    assert "The laplace one: your value stays on this machine" in screen
    assert "It costs ε = 1; you have spent 0 and allow 10 in total. You can answer once." in screen
    assert DIGITS not in screen + out
    assert json.loads(out)["receipt"] == "receipt-of-laplace-1"
    assert DIGITS.encode() not in ledger.read_bytes()


def panel(server: FakeServer, **change: Any) -> None:
    """Makes the collection `laplace` a panel: of two months, both of which are turns, unless it is changed."""
    terms = server.terms("laplace") | {"period": "month", "panel": {"answers": 2, "periods": 2}} | change
    server.refusals["/v1/collections/laplace"] = (200, terms)


def test_a_turn_of_a_panel(server: FakeServer, answer: Answer) -> None:
    panel(server)
    status, out, _ = answer("laplace", VALUE)
    assert status == 0
    assert "It cost ε = 1; you have spent 2 in total." in out


def test_a_period_that_is_not_ones_turn(server: FakeServer, answer: Answer, ledger: Path) -> None:
    panel(server)
    with Ledger(ledger) as account:
        far = CalendarPeriod("month").number_of("2090-03")
        account.join(server.url, "laplace", [far - 1, far], Fraction(1))
    for value in (["-"], []):
        status, out, err = answer("laplace", *value, stdin=VALUE.encode())
        assert status == 0
        assert "This is not your turn, and nothing was sent: the next one is in February 2090." in out
        assert DIGITS not in out + err
    status, out, _ = answer("laplace", "--json", "-", stdin=VALUE.encode())
    assert (status, json.loads(out)["next_turn"], json.loads(out)["spent"]) == (0, "2090-02", 2)
    assert {request.method for request in server.requests} == {"GET"}


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
