"""A respondent who chooses its ε: before the ticket, once, and whatever the value is."""

import asyncio
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dither_client import (
    AsyncClient,
    BadResponse,
    Client,
    InvalidEpsilon,
    InvalidQuery,
    Laplace,
    MemoryLedger,
    OverCap,
    Particles,
    Problem,
)
from dither_client.posterior.reading import parse_posterior
from dither_client.protocol.flow import advance
from dither_client.protocol.messages import parse_terms
from testing.servers.fake_server import LAPLACE, POSTERIOR, FakeServer
from tests.client.protocol.test_flow import RECEIPT, SERVER, answer, play, problem, ticket, told
from tests.client.protocol.test_messages import TERMS

LEFT = told(1, epsilon_choices=[Fraction(1, 2), 1, 2])
"""Terms that leave a choice."""
TICKETS = "/v1/collections/laplace/tickets"


@pytest.mark.parametrize(("epsilon", "body"), [(None, {}), (Fraction(1, 2), {"epsilon": 0.5}), (2, {"epsilon": 2})])
def test_the_choice_is_in_the_request_for_the_ticket_and_no_value_changes_it(epsilon: Any, body: Any) -> None:
    requests = []
    for value in (-1e9, 0.0, 0.5, 1e9):
        flow = answer(MemoryLedger(), value, LEFT, epsilon=None if epsilon is None else Fraction(epsilon))
        outcome, sent, _ = play(flow, ticket(epsilon=body.get("epsilon", 1)), RECEIPT)
        assert outcome.query.epsilon == (epsilon or 1)
        requests.append(sent[0])
    assert json.loads(requests[0].body) == body
    assert len(set(map(repr, requests))) == 1


def test_the_choice_is_written_as_its_exact_decimal() -> None:
    for epsilon in (Fraction(1, 1_000_000), Fraction(3, 10), Fraction("49.999999")):
        terms = told(1, epsilon_choices=[epsilon])
        _, sent, _ = play(answer(MemoryLedger(50), 0.5, terms, epsilon=epsilon), problem(409, "collection-paused"))
        assert Fraction(json.loads(sent[0].body, parse_float=Decimal)["epsilon"]) == epsilon


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        (1, OverCap, "this question costs ε = 1, more than the ε = 0.5 that you chose"),
        (0.500001, OverCap, "costs ε = 0.500001, more than the ε = 0.5 that you chose"),
        (0.499999, InvalidQuery, "it is asked at ε = 0.499999, not at the ε = 0.5 that you chose"),
    ],
)
def test_a_question_at_another_epsilon_is_refused(asked: float, error: type[Exception], says: str) -> None:
    ledger = MemoryLedger()
    outcome, sent, _ = play(answer(ledger, 0.5, LEFT, epsilon=Fraction(1, 2)), ticket(epsilon=asked))
    assert type(outcome) is error
    assert says in str(outcome)
    assert len(sent) == 1
    assert ledger.entries() == []


def test_what_was_told_and_what_was_chosen_both_hold() -> None:
    flow = answer(MemoryLedger(), epsilon=Fraction(1), max_epsilon=Fraction(1, 2))
    with pytest.raises(OverCap, match=r"more than the ε = 0\.5 that you were told"):
        advance(flow, None)


@pytest.mark.parametrize("drawn", [False, True])
def test_an_entry_of_the_ledger_is_taken_up_at_its_own_epsilon(drawn: bool) -> None:
    ledger = MemoryLedger()
    ledger.charge(SERVER, "c", "t0", Laplace(0, 1, 4, 2))
    if drawn:
        ledger.draw(SERVER, "c", 3)
    receipt, sent, _ = play(answer(ledger, epsilon=Fraction(1, 2)), RECEIPT)
    assert receipt.query.epsilon == 2
    assert [send.path for send in sent] == ["/v1/collections/c/responses"]
    assert ledger.spent() == 2


@pytest.mark.parametrize("epsilon", ["0.5", 0.5, Decimal("0.5"), Fraction(1, 2), "5e-1"])
def test_clients_send_the_choice(server: FakeServer, epsilon: Any) -> None:
    server.questions["laplace"] = {**LAPLACE, "epsilon": 0.5}
    server.refusals["/v1/collections/laplace"] = (200, {**server.terms("laplace"), "epsilon_choices": [0.5, 1]})

    async def run() -> None:
        async with AsyncClient(server.url, MemoryLedger()) as client:
            assert (await client.answer("laplace", 0.3, epsilon=epsilon)).query.epsilon == Fraction(1, 2)

    with Client(server.url, MemoryLedger()) as client:
        assert client.answer("laplace", 0.3, epsilon=epsilon).query.epsilon == Fraction(1, 2)
    asyncio.run(run())
    assert server.sent_to(TICKETS) == [b'{"epsilon": 0.5}'] * 2


@pytest.mark.parametrize("epsilon", [0, -1, "much", "0.1234567", True, float("nan")])
def test_what_is_no_epsilon_is_refused_before_anything_is_sent(server: FakeServer, epsilon: Any) -> None:
    with Client(server.url, MemoryLedger()) as client, pytest.raises(InvalidEpsilon):
        client.answer("laplace", 0.3, epsilon=epsilon)
    assert server.requests == []


def test_a_server_that_knows_no_choice_refuses_it(server: FakeServer) -> None:
    server.refusals[TICKETS] = (422, {"type": "urn:dither:invalid-body", "title": "x", "status": 422, "detail": "no."})
    with Client(server.url, MemoryLedger()) as client:
        with pytest.raises(Problem, match="no"):
            client.answer("laplace", 0.3, epsilon=1)
        assert client.ledger.entries() == []


def test_terms_say_what_may_be_chosen() -> None:
    terms = parse_terms({**TERMS, "epsilon_choices": [2, Decimal("0.1")], "notice": "You choose."})
    assert (terms.epsilon_choices, terms.notice) == ((Fraction(1, 10), Fraction(2)), "You choose.")
    for older in (TERMS, {**TERMS, "epsilon_choices": None, "notice": None}):
        assert (parse_terms(older).epsilon_choices, parse_terms(older).notice) == ((), None)


@pytest.mark.parametrize("bad", ["0.5", 0.5, {"a": 1}, [0], ["x"], [None], [Decimal("0.1234567")], True])
def test_terms_with_bad_choices(bad: Any) -> None:
    with pytest.raises(BadResponse):
        parse_terms({**TERMS, "epsilon_choices": bad})


def _posterior(**fields: Any) -> Any:
    return parse_posterior("x", {**POSTERIOR, **fields}, lambda: Particles((), (), ()))


def test_a_posterior_says_how_many_came_at_each_epsilon() -> None:
    posterior = _posterior(answers_by_epsilon={"2": 1000, "0.5": 234})
    assert list(posterior.answers_by_epsilon.items()) == [(Fraction(1, 2), 234), (Fraction(2), 1000)]
    assert repr(posterior).splitlines()[-1] == "  answers at ε = 0.5: 234, 2: 1,000"


def test_one_epsilon_goes_without_saying() -> None:
    assert "ε" not in repr(_posterior(answers_by_epsilon={"1": 1234}))
    older = dict(POSTERIOR)
    del older["answers_by_epsilon"]
    assert parse_posterior("x", older, lambda: Particles((), (), ())).answers_by_epsilon == {}


@pytest.mark.parametrize("bad", [{"x": 1}, {"1": "many"}, {"0": 1}, [1], None])
def test_answers_by_epsilon_that_cannot_be_read(bad: Any) -> None:
    with pytest.raises(BadResponse):
        _posterior(answers_by_epsilon=bad)
