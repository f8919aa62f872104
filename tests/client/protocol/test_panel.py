"""A respondent of a panel: charged once, asked in the periods that its device drew, and left alone in all others."""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dither_client import (
    AlreadyAnswered,
    BadResponse,
    DitherError,
    MemoryLedger,
    NotYourTurn,
    OverCap,
    Problem,
    Receipt,
    Terms,
    Unreachable,
)
from dither_client.mechanisms.calendar_period import CalendarPeriod
from dither_client.mechanisms.panel import Panel
from dither_client.protocol.flow import Flow, Response, Retry, Send
from dither_client.protocol.messages import parse_terms
from dither_client.protocol.respondent import answer_flow, join_flow
from tests.client.protocol.test_flow import FAILED, RECEIPT, SERVER, play, problem, ticket, told

WEEK = 7 * 86_400
START = 1_770_681_600.0
"""Tuesday, 10 February 2026."""
PANEL: dict[str, Any] = {"period": "week", "panel": {"answers": 2, "periods": 30}}
TERMS = told(1, **PANEL)
FETCHED = json.dumps(
    {
        "id": "c", "name": "C", "family": "normal", "transform": "identity", "mechanism": "laplace", "epsilon": 1,
        "state": "open", "answers": 0, "admission": "public", "visibility": "private", **PANEL,
    }
).encode()  # fmt: skip
Person = Callable[[int], float]


class Waves:
    """One respondent in waves one after the other, with a ledger and the requests that left the device."""

    def __init__(self, seed: int, terms: Terms = TERMS, ledger: MemoryLedger | None = None) -> None:
        self.ledger = ledger or MemoryLedger()
        self.randbelow = random.Random(seed).randrange
        self.terms = terms
        self.sent: list[tuple[int, Send]] = []

    def flow(self, wave: int, value: float, **options: Any) -> Flow[Receipt]:
        terms = None if self.ledger.turns(SERVER, "c") else self.terms
        now = START + wave * WEEK
        return answer_flow(
            SERVER,
            "c",
            value,
            self.ledger,
            Retry(attempts=1),
            self.randbelow,
            terms=terms,
            clock=lambda: now,
            **options,
        )

    def answer(self, wave: int, value: float, *replies: Any) -> Any:
        script = replies or ([ticket(f"t{wave}"), RECEIPT] if self.turn(wave) else [])
        try:
            outcome, sent, _ = play(self.flow(wave, value), *script)
        except NotYourTurn as error:
            return error
        self.sent += [(wave, each) for each in sent]
        return outcome

    def turn(self, wave: int) -> bool:
        """Whether it is this respondent's turn, once it has joined."""
        if not self.ledger.turns(SERVER, "c"):
            play(self.join())
        return CalendarPeriod("week").number(START + wave * WEEK) in self.ledger.turns(SERVER, "c")

    def join(self) -> Flow[tuple[int, ...]]:
        return join_flow(SERVER, "c", self.ledger, randbelow=self.randbelow, clock=lambda: START, terms=self.terms)


def constant(wave: int) -> float:
    return 0.3


def changing(wave: int) -> float:
    return wave / 30


@pytest.mark.parametrize("person", [constant, changing])
@pytest.mark.parametrize("seed", range(20))
def test_thirty_waves_cost_two_answers_whether_or_not_the_value_changes(person: Person, seed: int) -> None:
    waves = Waves(seed)
    outcomes = [waves.answer(wave, person(wave)) for wave in range(40)]
    assert waves.ledger.spent() == 2
    assert sum(isinstance(outcome, Receipt) for outcome in outcomes) == 2
    assert all(isinstance(outcome, Receipt | NotYourTurn) for outcome in outcomes)
    assert {charge.state for charge in waves.ledger.entries()} == {"sent"}
    assert {send.path.rpartition("/")[2] for _, send in waves.sent} == {"tickets", "responses"}
    assert len({wave for wave, _ in waves.sent}) == 2, "nothing is sent in other waves"


def test_a_device_that_charges_by_the_wave_without_a_cap_is_caught() -> None:
    """The broken variant: the same person, with a ledger that has no periods drawn and charges as it goes."""

    class ByTheWave(MemoryLedger):
        def turns(self, server: str, collection: str) -> tuple[int, ...]:
            return tuple(range(2_000, 4_000))

    ledger = ByTheWave(max_epsilon=50)
    ledger.keep_price(SERVER, "c", TERMS.price)
    waves = Waves(1, ledger=ledger)
    for wave in range(30):
        waves.answer(wave, constant(wave))
    assert ledger.spent() == 30, "and not 2"


def test_when_somebody_answers_depends_on_no_value() -> None:
    for seed in range(10):
        sent = []
        for person in (constant, changing, lambda wave: 1e9 * (-1) ** wave):
            waves = Waves(seed)
            turns = [wave for wave in range(30) if isinstance(waves.answer(wave, person(wave)), Receipt)]
            sent.append((turns, waves.ledger.turns(SERVER, "c")))
        assert sent[0][1] == sent[1][1] == sent[2][1]
        assert sent[0][0] == sent[1][0] == sent[2][0]


def test_the_next_turn_is_said_and_costs_no_request() -> None:
    waves = Waves(1)
    play(waves.join())
    first, second = (turn - CalendarPeriod("week").number(START) for turn in waves.ledger.turns(SERVER, "c"))
    assert first > 0
    early = waves.answer(first - 1, 0.5)
    label = CalendarPeriod("week").label(waves.ledger.turns(SERVER, "c")[0])
    assert early.next_turn == label
    assert "the next one is in the week of" in str(early)
    assert isinstance(waves.answer(first, 0.5), Receipt)
    again, sent = outcome(waves.flow(first, 0.9))
    assert (type(again), sent) == (AlreadyAnswered, [])
    assert isinstance(waves.answer(second, 0.5), Receipt)
    over = waves.answer(second + 1, 0.5)
    assert over.next_turn is None
    assert waves.ledger.spent() == 2


def test_a_missed_turn_is_not_made_up_for() -> None:
    waves = Waves(1)
    play(waves.join())
    last = waves.ledger.turns(SERVER, "c")[1] - CalendarPeriod("week").number(START)
    assert waves.answer(last + 1, 0.5).next_turn is None
    assert waves.ledger.spent() == 2
    assert {charge.state for charge in waves.ledger.entries()} == {"reserved"}


def test_a_retried_wave_sends_the_same_bytes_and_draws_no_other_answer() -> None:
    waves = Waves(3, told(1, period="week", panel={"answers": 2, "periods": 2}))
    lost, sent, _ = play(waves.flow(0, 0.5), ticket("t0"), FAILED)
    assert isinstance(lost, Unreachable)
    receipt, again, _ = play(waves.flow(0, -7.0), RECEIPT)
    assert receipt.answer == json.loads(sent[1].body)["answer"]
    assert again == [sent[1]]
    assert waves.ledger.spent() == 2


def test_the_charge_comes_before_the_first_ticket() -> None:
    waves = Waves(3, told(1, period="week", panel={"answers": 2, "periods": 2}))
    lost, _, _ = play(waves.flow(0, 0.5), FAILED)
    assert isinstance(lost, Unreachable)
    assert waves.ledger.spent() == 2


@pytest.mark.parametrize(("said", "cap"), [(Fraction(19, 10), 10), (None, "1.9")])
def test_the_sum_for_life_is_what_limits_are_held_to(said: Fraction | None, cap: Any) -> None:
    waves = Waves(3, ledger=MemoryLedger(max_epsilon=cap))
    refused, sent = outcome(waves.flow(0, 0.5, max_epsilon=said))
    assert type(refused) is OverCap
    assert "ε = 2" in str(refused)
    assert sent == []
    assert waves.ledger.entries() == []


def outcome(flow: Flow[Any]) -> tuple[Any, list[Send]]:
    """What comes of a flow that sends nothing."""
    try:
        found, sent, _ = play(flow)
    except DitherError as error:
        return error, []
    return found, sent


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_only_an_open_collection_is_joined(state: str) -> None:
    waves = Waves(3, told(1, **PANEL, state=state))
    with pytest.raises(Problem) as refused:
        play(waves.flow(0, 0.5))
    assert refused.value.name == f"collection-{state}"
    assert waves.ledger.entries() == []


def test_a_refused_ticket_leaves_the_turn() -> None:
    waves = Waves(3, told(1, period="week", panel={"answers": 2, "periods": 2}))
    refused, _, _ = play(waves.flow(0, 0.5), problem(409, "collection-paused"))
    assert refused.name == "collection-paused"
    assert isinstance(waves.answer(0, 0.5), Receipt)
    assert waves.ledger.spent() == 2


def test_terms_are_fetched_before_joining_even_if_their_price_is_kept() -> None:
    ledger = MemoryLedger()
    ledger.keep_price(SERVER, "c", TERMS.price)
    flow = join_flow(SERVER, "c", ledger, clock=lambda: START)
    turns, sent, _ = play(flow, Response(200, {}, FETCHED))
    assert [send.method for send in sent] == ["GET"]
    assert len(turns) == 2


def test_who_kept_a_price_without_a_panel_answers_once() -> None:
    """An earlier version knew no panels; its respondents are not charged more than it told them."""
    ledger = MemoryLedger()
    ledger.keep_price(SERVER, "c", told(1).price)
    flow = answer_flow(SERVER, "c", 0.5, ledger, terms=TERMS, clock=lambda: START)
    receipt, _, _ = play(flow, ticket(), RECEIPT)
    assert isinstance(receipt, Receipt)
    assert ledger.spent() == 1
    again, sent = outcome(answer_flow(SERVER, "c", 0.5, ledger, terms=TERMS, clock=lambda: START + WEEK))
    assert (type(again), sent) == (AlreadyAnswered, [])


@pytest.mark.parametrize("panel", [None, {"answers": 3, "periods": 30}, {"answers": 2, "periods": 31}])
def test_the_panel_never_changes(panel: Any) -> None:
    ledger = MemoryLedger()
    ledger.keep_price(SERVER, "c", TERMS.price)
    with pytest.raises(BadResponse, match="changed the panel"):
        play(join_flow(SERVER, "c", ledger, terms=told(1, period="week", panel=panel)))


@pytest.mark.parametrize(
    "change",
    [
        {"panel": {"answers": 2}},
        {"panel": {"answers": 31, "periods": 30}},
        {"panel": {"answers": 2.0, "periods": 30}},
        {"panel": [2, 30]},
        {"period": "year"},
        {"period": None},
        {"period": ["week"]},
    ],
)
def test_terms_with_a_panel_that_there_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadResponse):
        parse_terms({**json.loads(FETCHED), **change})
    assert parse_terms(json.loads(FETCHED)).panel == Panel(2, 30, CalendarPeriod("week"))
