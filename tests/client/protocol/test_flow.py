"""The protocol step by step, without any I/O but the ledger's."""

import json
import random
from fractions import Fraction
from itertools import count
from typing import Any

import pytest

from dither_client import (
    AlreadyAnswered,
    AnswerExpired,
    BadResponse,
    InvalidAddress,
    InvalidQuery,
    InvalidValue,
    Laplace,
    LedgerError,
    MemoryLedger,
    OverCap,
    Problem,
    Receipt,
    Retry,
    Terms,
    Unreachable,
)
from dither_client.ledger.protocol import Entry
from dither_client.mechanisms.member_counts import Asked
from dither_client.protocol.flow import ConnectionFailed, Finished, Flow, Response, Send, Sleep, advance, exchange
from dither_client.protocol.messages import parse_terms
from dither_client.protocol.respondent import answer_flow, send_flow, terms_flow

SERVER = "https://example.org"
QUERY = {"mechanism": "laplace", "low": 0, "high": 1, "levels": 64, "epsilon": 1, "transform": "identity"}
RECEIPT = Response(201, {}, b'{"receipt": "r"}')
FAILED = ConnectionFailed("ConnectError")


def ticket(name: str = "t1", **change: Any) -> Response:
    data = {"ticket": name, "query": {**QUERY, **change}, "expires_at": "2026-01-01T00:00:00Z"}
    return Response(201, {}, json.dumps(data).encode())


def problem(status: int, name: str, headers: dict[str, str] | None = None) -> Response:
    body = {"type": f"urn:dither:{name}", "title": "x", "status": status, "detail": f"it is {name}"}
    return Response(status, headers or {}, json.dumps(body).encode())


def play(flow: Flow[Any], *replies: Response | ConnectionFailed) -> tuple[Any, list[Send], list[float]]:
    """Runs a flow against a script: its result or its error, what it sent, and the seconds it slept."""
    script, sent, slept = list(replies), [], []
    step = advance(flow, None)
    while not isinstance(step, Finished):
        if isinstance(step, Sleep):
            slept.append(step.seconds)
            step = advance(flow, None)
        else:
            sent.append(step)
            try:
                step = advance(flow, script.pop(0))
            except Exception as error:
                return error, sent, slept
    assert not script, "the flow ended before the script"
    return step.value, sent, slept


def told(epsilon: Any = 1, **change: Any) -> Terms:
    """What the terms say."""
    data = {"id": "c", "name": "C", "family": "normal", "transform": "identity", "mechanism": "laplace"}
    rest = {"state": "open", "answers": 0, "admission": "public", "visibility": "private"}
    return parse_terms({**data, **rest, "epsilon": epsilon, **change})


SAID = told()


def answer(ledger: MemoryLedger, value: Any = 0.5, terms: Terms | None = SAID, **options: Any) -> Flow[Receipt]:
    return answer_flow(SERVER, "c", value, ledger, terms=terms, **options)


def test_an_answer() -> None:
    ledger = MemoryLedger()
    receipt, sent, slept = play(answer(ledger), ticket(), RECEIPT)
    assert [(send.method, send.path) for send in sent] == [
        ("POST", "/v1/collections/c/tickets"),
        ("POST", "/v1/collections/c/responses"),
    ]
    assert sent[0].body == b"{}"
    entry = ledger.find(SERVER, "c")
    assert entry is not None
    assert json.loads(sent[1].body) == {"ticket": "t1", "answer": receipt.answer, "retry_key": entry.retry_key}
    assert entry.retry_key not in (None, ledger.retry_key(SERVER, "c"))  # an invitation's is another
    assert all(send.headers["content-type"] == "application/json" for send in sent)
    assert (receipt.collection, receipt.receipt) == ("c", "r")
    assert receipt.query == Laplace(0, 1, 64, 1)
    assert type(receipt.answer) is int
    assert slept == []
    assert (entry.state, entry.receipt) == ("sent", "r")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), b"0.5", None, True])
def test_the_value_is_checked_before_anything_else(bad: Any) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("the ledger was used")

    with pytest.raises(InvalidValue):
        advance(answer_flow(SERVER, "not an id", bad, Untouchable()), None)


def test_the_id_is_checked_before_anything_is_sent() -> None:
    with pytest.raises(InvalidAddress):
        advance(answer_flow(SERVER, "../admin", 0.5, MemoryLedger()), None)


def test_epsilon_is_charged_before_noise_is_drawn() -> None:
    events: list[str] = []

    class Watched(MemoryLedger):
        def charge(self, *arguments: Any) -> Any:
            events.append("charge")
            return super().charge(*arguments)

        def draw(self, *arguments: Any) -> Any:
            events.append("store")
            return super().draw(*arguments)

    def randbelow(n: int) -> int:
        if events[-1] != "noise":
            events.append("noise")
        return generator.randrange(n)

    generator = random.Random(1)
    flow = answer(Watched(), randbelow=randbelow)
    assert isinstance(advance(flow, None), Send)
    assert events == []
    assert isinstance(advance(flow, ticket()), Send)
    assert events == ["charge", "noise", "store"]


def test_a_stored_answer_is_sent_as_it_is() -> None:
    """A new value is not used, no ticket is asked for, and nothing more is charged."""
    ledger = MemoryLedger()
    flow = answer(ledger, 0.5)
    advance(flow, None)
    first = advance(flow, ticket())
    flow.close()
    for value in (-1e9, 1e9):
        outcome, sent, _ = play(answer(ledger, value, retry=Retry(attempts=1)), FAILED)
        assert isinstance(outcome, Unreachable)
        assert sent == [first]
    receipt, sent, _ = play(answer(ledger, 1e9), Response(200, {}, b'{"receipt": "r"}'))
    assert receipt.receipt == "r"
    assert sent == [first]
    assert ledger.spent() == 1


def test_a_charged_entry_is_drawn_with_its_own_question() -> None:
    ledger = MemoryLedger()
    ledger.charge(SERVER, "c", "t0", Laplace(10, 20, 2, "0.5"))
    receipt, sent, _ = play(answer(ledger), RECEIPT)
    assert receipt.query == Laplace(10, 20, 2, "0.5")
    assert json.loads(sent[0].body)["ticket"] == "t0"


def test_a_second_answer_is_refused() -> None:
    ledger = MemoryLedger()
    play(answer(ledger), ticket(), RECEIPT)
    with pytest.raises(AlreadyAnswered) as caught:
        advance(answer(ledger, 0.1), None)
    assert caught.value.receipt == "r"
    assert ledger.spent() == 1


def test_over_the_cap() -> None:
    ledger = MemoryLedger(max_epsilon="0.99")
    outcome, sent, _ = play(answer(ledger), ticket())
    assert isinstance(outcome, OverCap)
    assert len(sent) == 1
    assert ledger.spent() == 0
    assert ledger.find(SERVER, "c") is None


def test_a_question_that_costs_more_than_was_told() -> None:
    """Whoever was told the terms has agreed to their ε, whatever the ledger would allow."""
    ledger = MemoryLedger()
    with pytest.raises(OverCap, match=r"costs ε = 1, more than the ε = 0\.999999 that you were told"):
        advance(answer(ledger, max_epsilon=Fraction("0.999999")), None)
    assert ledger.entries() == []
    assert play(answer(ledger, max_epsilon=Fraction(1)), ticket(), RECEIPT)[0].receipt == "r"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"levels": 1025}, "levels must be 1 to 1024"),
        ({"low": 1}, "low must be below high"),
        ({"epsilon": 50.1}, "epsilon must be at most 50"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"mechanism": "none"}, "mechanism must be"),
        ({"cuts": [1]}, "exactly the fields"),
    ],
)
def test_questions_that_are_refused(change: dict[str, Any], says: str) -> None:
    ledger = MemoryLedger(max_epsilon=1000)
    outcome, _, _ = play(answer(ledger), ticket(**change))
    assert isinstance(outcome, InvalidQuery)
    assert says in str(outcome)
    assert ledger.entries() == []


@pytest.mark.parametrize("bound", [b'"low": 1e400', b'"low": NaN', b'"low": Infinity'])
def test_questions_that_are_not_finite(bound: bytes) -> None:
    reply = ticket()
    reply = reply._replace(body=reply.body.replace(b'"low": 0', bound))
    outcome, _, _ = play(answer(MemoryLedger()), reply)
    assert isinstance(outcome, BadResponse)


@pytest.mark.parametrize(
    "failure", [FAILED, problem(500, "internal"), problem(503, "overloaded"), Response(429, {}, b"")]
)
def test_retries_send_the_same_bytes(failure: Response | ConnectionFailed) -> None:
    receipt, sent, slept = play(answer(MemoryLedger()), failure, ticket(), failure, failure, RECEIPT)
    assert receipt.receipt == "r"
    assert len(sent) == 5
    assert sent[0] == sent[1]
    assert len({send.body for send in sent[2:]}) == 1
    assert len(slept) == 3


def test_backoff() -> None:
    _, sent, slept = play(exchange(Send("GET", "/", b"", {}), Retry(9, 0.5, 30)), *[FAILED] * 9)
    assert len(sent) == 9
    assert len(slept) == 8
    for n, seconds in enumerate(slept):
        assert min(0.25 * 2**n, 30) <= seconds <= min(0.5 * 2**n, 30)
    assert len(set(slept)) == len(slept) - sum(seconds == 30 for seconds in slept) + (30 in slept)


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("0", 0.25, 0.5),
        ("86400", 30, 30),
        ("9" * 400, 30, 30),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.25, 0.5),
        ("-5", 0.25, 0.5),
        ("nan", 0.25, 0.5),
        ("٣", 0.25, 0.5),
    ],
)
def test_retry_after_is_honoured_within_bounds(asked: str, least: float, most: float) -> None:
    busy = problem(503, "overloaded", {"retry-after": asked})
    _, _, slept = play(exchange(Send("GET", "/", b"", {})), busy, RECEIPT)
    assert least <= slept[0] <= most


def test_when_nothing_comes_back() -> None:
    ledger = MemoryLedger()
    outcome, sent, _ = play(answer(ledger), *[FAILED] * 6)
    assert isinstance(outcome, Unreachable)
    assert len(sent) == 6
    assert ledger.entries() == []
    outcome, sent, _ = play(answer(ledger), ticket(), *[FAILED] * 6)
    assert isinstance(outcome, Unreachable)
    assert [charge.state for charge in ledger.entries()] == ["drawn"]


def test_the_last_refusal_is_told() -> None:
    outcome, sent, _ = play(answer(MemoryLedger()), *[problem(503, "overloaded")] * 6)
    assert isinstance(outcome, Problem)
    assert (outcome.status, outcome.name) == (503, "overloaded")
    assert len(sent) == 6


@pytest.mark.parametrize("name", ["collection-paused", "collection-closed", "collection-full", "collection-not-open"])
def test_no_ticket_no_charge(name: str) -> None:
    ledger = MemoryLedger()
    outcome, sent, _ = play(answer(ledger), problem(409, name))
    assert isinstance(outcome, Problem)
    assert outcome.name == name
    assert len(sent) == 1
    assert ledger.entries() == []


@pytest.mark.parametrize(
    "refusal", [problem(410, "ticket-expired"), problem(409, "collection-closed"), problem(409, "collection-full")]
)
def test_an_answer_that_comes_too_late(refusal: Response) -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger), ticket(), refusal)
    assert isinstance(outcome, AnswerExpired)
    assert "charge stands" in str(outcome)
    assert [charge.state for charge in ledger.entries()] == ["expired"]
    assert ledger.spent() == 1
    assert ledger.unsent(SERVER) == []
    with pytest.raises(AnswerExpired):
        advance(answer(ledger), None)


def test_another_answer_to_the_same_ticket() -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger), ticket(), problem(409, "already-answered"))
    assert isinstance(outcome, AlreadyAnswered)
    assert outcome.receipt is None
    assert ledger.unsent(SERVER) == []
    assert ledger.spent() == 1


@pytest.mark.parametrize("refusal", [problem(403, "ticket-invalid"), problem(404, "not-found"), Response(301, {}, b"")])
def test_other_refusals_keep_the_answer(refusal: Response) -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger), ticket(), refusal)
    assert isinstance(outcome, Problem)
    assert [charge.state for charge in ledger.entries()] == ["drawn"]


@pytest.mark.parametrize("garbage", [b"", b"<html>", b"{}", b'{"receipt": 3}'])
def test_garbage_is_no_receipt(garbage: bytes) -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger), ticket(), Response(201, {}, garbage))
    assert isinstance(outcome, BadResponse)
    assert [charge.state for charge in ledger.entries()] == ["drawn"]
    assert play(answer(ledger), Response(200, {}, b'{"receipt": "r"}'))[0].receipt == "r"


def test_two_respondents_with_one_ledger() -> None:
    """Two flows in step with each other: one charge, one answer, both receive its receipt or are told it is there."""
    ledger, tickets = MemoryLedger(), count(1)
    one, two = answer(ledger, 0.0), answer(ledger, 1.0)
    for flow in (one, two):
        advance(flow, None)
    sends = [advance(flow, ticket(f"t{next(tickets)}")) for flow in (one, two)]
    assert sends[0] == sends[1]
    assert isinstance(sends[0], Send)
    assert json.loads(sends[0].body)["ticket"] == "t1"
    for flow in (one, two):
        done = advance(flow, RECEIPT)
        assert isinstance(done, Finished)
        assert done.value.receipt == "r"
    assert ledger.spent() == 1


def test_the_draw_that_was_stored_first_is_sent() -> None:
    """Another process that shares the ledger draws between this one's charge and its draw."""

    class Shared(MemoryLedger):
        def charge(self, server: str, collection: str, ticket: str, query: Asked, period: int = 0) -> Entry:
            charged = super().charge(server, collection, ticket, query, period)
            super().draw(server, collection, 63)
            return charged

    receipt, sent, _ = play(
        answer(Shared(max_epsilon=50), -1e9, told(50), randbelow=random.Random(1).randrange),
        ticket(epsilon=50),
        RECEIPT,
    )
    assert json.loads(sent[1].body)["answer"] == receipt.answer == 63


def test_terms() -> None:
    outcome, sent, _ = play(terms_flow("c"), FAILED, problem(404, "not-found"))
    assert isinstance(outcome, Problem)
    assert [(send.method, send.path, send.body) for send in sent] == [("GET", "/v1/collections/c", b"")] * 2


def test_an_entry_without_an_answer_is_not_sent() -> None:
    ledger = MemoryLedger()
    with pytest.raises(LedgerError, match="no answer to send"):
        advance(send_flow(ledger.charge(SERVER, "c", "t", Laplace(0, 1, 1, 1)), ledger), None)
