"""What `dither answer` refuses: each time in one sentence, which does not repeat the value."""

from pathlib import Path
from typing import Any

import pytest

from dither_client import Ledger
from testing.command_line import VALUE, Answer, check_refusal
from testing.servers.fake_server import LAPLACE, FakeServer, problem


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
        ({"family": "bernoulli"}, "31415", "the value must be 0 or 1"),
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
    server.questions["dear"] = {**LAPLACE, "epsilon": 3}
    check_refusal(answer("dear", VALUE), 1, "and 2 is allowed for one answer; set --max-epsilon to allow more")
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


def test_a_choice_of_epsilon_is_checked(server: FakeServer, answer: Answer) -> None:
    check_refusal(answer("laplace", VALUE, "--epsilon", "much"), 2, "epsilon must be")
    assert server.requests == []
    choices = {"epsilon_choices": [0.5, 1, 2]}
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), **choices})
    check_refusal(answer("laplace", VALUE, "--epsilon", "0.5"), 1, "costs ε = 1, more than the ε = 0.5 that you chose")
    check_refusal(answer("laplace", VALUE, "--epsilon", "2"), 1, "not at the ε = 2 that you chose")
    check_refusal(answer("laplace", VALUE, "--epsilon", "3"), 2, "epsilon must be one of 0.5, 1, 2 here")


def test_a_collection_that_is_not_open_asks_for_nothing(server: FakeServer, answer: Answer) -> None:
    server.state = "paused"
    check_refusal(answer("randomized"), 1, "the collection is paused")
