"""Both ledgers keep the same account."""

import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import (
    Gaussian,
    InvalidEpsilon,
    Laplace,
    Ledger,
    LedgerError,
    LedgerProtocol,
    MemoryLedger,
    OverCap,
    RandomizedResponse,
)
from dither_client.ledger.protocol import Caps

Maker = Callable[..., LedgerProtocol]

ONE = Laplace(0, 1, 4, 1)
TENTH = RandomizedResponse([0.1, 1e300], "0.1", "log")
SERVER = "https://example.org"


@pytest.fixture(params=["file", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    """Makes a new ledger of one of the two kinds."""
    opened: list[Ledger] = []

    def in_file(**caps: Any) -> LedgerProtocol:
        opened.append(Ledger(tmp_path / f"{len(opened)}.sqlite", **caps))
        return opened[-1]

    yield in_file if request.param == "file" else MemoryLedger
    for ledger in opened:
        ledger.close()


def test_the_life_of_an_answer(make: Maker) -> None:
    ledger = make()
    assert ledger.find(SERVER, "a") is None
    charged = ledger.charge(SERVER, "a", "ticket-1", TENTH)
    assert (charged.state, charged.ticket, charged.query, charged.micro_epsilon) == (
        "charged",
        "ticket-1",
        TENTH,
        100_000,
    )
    assert (charged.answer, charged.receipt) == (None, None)
    assert ledger.unsent(SERVER) == []
    drawn = ledger.draw(SERVER, "a", 2)
    assert (drawn.state, drawn.answer, drawn.ticket, drawn.query) == ("drawn", 2, "ticket-1", TENTH)
    assert ledger.unsent(SERVER) == [drawn]
    ledger.mark_sent(SERVER, "a", "receipt")
    sent = ledger.find(SERVER, "a")
    assert sent is not None
    assert (sent.state, sent.answer, sent.receipt) == ("sent", 2, "receipt")
    assert ledger.unsent(SERVER) == []


def test_one_collection_is_charged_once(make: Maker) -> None:
    ledger = make()
    ledger.charge(SERVER, "a", "ticket-1", ONE)
    again = ledger.charge(SERVER, "a", "ticket-2", TENTH)
    assert (again.ticket, again.query) == ("ticket-1", ONE)
    assert ledger.spent() == 1
    ledger.charge(SERVER, "b", "ticket-3", TENTH)
    ledger.charge("https://other.example", "a", "ticket-4", TENTH)
    assert ledger.spent() == Fraction(12, 10)
    assert ledger.spent(SERVER) == Fraction(11, 10)
    assert ledger.spent("https://nobody.example") == 0


def test_a_release_keeps_its_rho_beside_its_epsilon(make: Maker) -> None:
    ledger = make()
    ledger.charge(SERVER, "a", "ticket-1", Gaussian(0, 1, 4, "0.25", "0.75"))
    ledger.charge(SERVER, "b", "ticket-2", ONE)
    assert [(charge.epsilon, charge.rho) for charge in ledger.entries()] == [
        (Fraction(3, 4), Fraction(1, 4)),
        (1, None),
    ]
    assert ledger.spent() == Fraction(7, 4)


def test_only_the_first_draw_is_ever_used(make: Maker) -> None:
    ledger = make()
    ledger.charge(SERVER, "a", "ticket", ONE)
    assert ledger.draw(SERVER, "a", 0).answer == 0
    assert ledger.draw(SERVER, "a", 3).answer == 0
    ledger.mark_sent(SERVER, "a", "receipt")
    assert ledger.draw(SERVER, "a", 4).answer == 0


def test_an_answer_has_a_retry_key_of_its_own_for_good(make: Maker) -> None:
    ledger = make()
    keys = [ledger.retry_key(SERVER, "a")]  # an invitation's
    for collection in ("a", "b"):
        assert ledger.charge(SERVER, collection, "ticket", TENTH).retry_key is None
        drawn = ledger.draw(SERVER, collection, 1)
        assert drawn == ledger.draw(SERVER, collection, 2) == ledger.find(SERVER, collection)
        assert str(drawn.retry_key) not in repr(drawn)
        keys.append(str(drawn.retry_key))
    ledger.mark_sent(SERVER, "a", "r")
    ledger.mark_expired(SERVER, "b")
    assert [ledger.find(SERVER, collection).retry_key for collection in "ab"] == keys[1:]  # type: ignore[union-attr]
    assert len({*keys}) == 3
    assert all(len(key) == 32 for key in keys)


def test_states_do_not_go_back(make: Maker) -> None:
    ledger = make()
    for collection in ("sent", "expired", "charged"):
        ledger.charge(SERVER, collection, "ticket", TENTH)
    for collection in ("sent", "expired"):
        ledger.draw(SERVER, collection, 1)
    ledger.mark_sent(SERVER, "sent", "receipt")
    ledger.mark_expired(SERVER, "expired")
    for collection in ("sent", "expired", "charged"):
        ledger.mark_sent(SERVER, collection, "another")
        ledger.mark_expired(SERVER, collection)
    assert {charge.collection: charge.state for charge in ledger.entries()} == {
        "sent": "sent",
        "expired": "expired",
        "charged": "charged",
    }
    assert [charge.receipt for charge in ledger.entries()] == ["receipt", None, None]
    assert ledger.spent() == Fraction(3, 10)


def test_what_was_never_charged(make: Maker) -> None:
    with pytest.raises(LedgerError, match="no charge"):
        make().draw(SERVER, "a", 1)


def test_a_panel_is_charged_once_for_all_its_answers(make: Maker) -> None:
    ledger = make(max_epsilon=3)
    assert ledger.turns(SERVER, "a") == ()
    assert ledger.join(SERVER, "a", [7, 3], Fraction(1)) == ledger.turns(SERVER, "a") == (3, 7)
    assert ledger.join(SERVER, "a", [8, 9, 10], Fraction(1)) == (3, 7), "the periods that were drawn first stay"
    assert ledger.spent() == ledger.spent(SERVER) == 2
    reserved = sorted((charge.period, str(charge.state), charge.epsilon) for charge in ledger.entries())
    assert reserved == [(3, "reserved", Fraction(1)), (7, "reserved", Fraction(1))]
    assert ledger.find(SERVER, "a") is ledger.find(SERVER, "a", 3) is None
    charged = ledger.charge(SERVER, "a", "ticket-1", ONE, 3)
    assert (charged.period, charged.state, charged.micro_epsilon) == (3, "charged", 1_000_000)
    assert ledger.charge(SERVER, "a", "ticket-2", TENTH, 3) == charged
    drawn = ledger.draw(SERVER, "a", 2, 3)
    assert ledger.unsent(SERVER) == [drawn]
    ledger.mark_sent(SERVER, "a", "receipt", 3)
    assert ledger.charge(SERVER, "a", "ticket-3", TENTH, 7).micro_epsilon == 1_000_000, "what was spent stays spent"
    assert ledger.draw(SERVER, "a", 1, 7).retry_key != drawn.retry_key
    ledger.mark_expired(SERVER, "a", 7)
    assert sorted((charge.period, charge.state) for charge in ledger.entries()) == [(3, "sent"), (7, "expired")]
    assert ledger.spent() == 2


def test_a_panel_is_joined_whole_or_not_at_all(make: Maker) -> None:
    ledger = make(max_epsilon="1.9")
    with pytest.raises(OverCap, match=r"this panel costs ε = 2 for 2 answers, and ε = 0 of the 1.9 allowed"):
        ledger.join(SERVER, "a", [3, 7], Fraction(1))
    assert ledger.turns(SERVER, "a") == ()
    assert ledger.spent() == 0
    with pytest.raises(OverCap, match="for one answer"):
        make(max_epsilon=9, max_epsilon_per_answer="0.5").join(SERVER, "a", [3, 7], Fraction(1))
    ledger.join(SERVER, "a", [3], Fraction(1, 2))
    with pytest.raises(OverCap, match=r"costs ε = 1, and ε = 0\.5 was spent on it"):
        ledger.charge(SERVER, "a", "ticket", ONE, 3)
    assert ledger.find(SERVER, "a", 3) is None


def test_entries_tell_nothing_of_question_or_answer(make: Maker) -> None:
    ledger = make()
    ledger.charge(SERVER, "a", "the-ticket", Laplace(123.25, 987.5, 4, 1))
    entry = ledger.draw(SERVER, "a", 3)
    (charge,) = ledger.entries()
    assert (charge.server, charge.collection, charge.state) == (SERVER, "a", "drawn")
    assert charge.epsilon == 1
    for shown in (repr(charge), repr(ledger.entries()), repr(ledger)):
        assert "ticket" not in shown
        assert "123.25" not in shown
        assert "answer" not in shown
    assert "answer" not in repr(entry)
    assert "the-ticket" not in repr(entry)


@pytest.mark.parametrize("cap", ["0.3", 0.3, Decimal("0.3"), Fraction(3, 10), "3e-1", 0.3000009])
def test_caps_are_read_exactly_and_rounded_down(make: Maker, cap: Any) -> None:
    ledger = make(max_epsilon=cap)
    for collection in "abc":
        ledger.charge(SERVER, collection, "ticket", TENTH)
    with pytest.raises(OverCap, match=r"costs ε = 0.1, and ε = 0.3 of the 0.3 allowed in total is spent"):
        ledger.charge(SERVER, "d", "ticket", TENTH)
    assert ledger.spent() == Fraction(3, 10)
    assert len(ledger.entries()) == 3


def test_a_cap_just_below_refuses(make: Maker) -> None:
    ledger = make(max_epsilon="0.0999999")
    with pytest.raises(OverCap, match=r"0.099999 allowed"):
        ledger.charge(SERVER, "a", "ticket", TENTH)
    assert ledger.spent() == 0


def test_the_default_caps_are_ten_in_all_five_on_a_server_and_two_for_an_answer(make: Maker) -> None:
    ledger = make()
    with pytest.raises(OverCap, match=r"ε = 2\.000001, and 2 is allowed for one answer; set max_epsilon_per_answer to"):
        ledger.charge(SERVER, "dear", "ticket", Laplace(0, 1, 1, "2.000001"))
    for number in range(5):
        ledger.charge(SERVER, str(number), "ticket", ONE)
    with pytest.raises(OverCap, match="of the 5 allowed on this server is spent; set max_epsilon_per_server to"):
        ledger.charge(SERVER, "more", "ticket", TENTH)
    for number in range(5):
        ledger.charge("https://other.example", str(number), "ticket", ONE)
    with pytest.raises(OverCap, match="of the 10 allowed in total is spent; set max_epsilon to allow more"):
        ledger.charge("https://third.example", "more", "ticket", TENTH)
    assert ledger.spent() == 10


def test_whoever_sets_a_total_has_set_all(make: Maker) -> None:
    ledger = make(max_epsilon=20)
    ledger.charge(SERVER, "dear", "ticket", Laplace(0, 1, 1, 20))
    with pytest.raises(OverCap, match="for one answer"):
        make(max_epsilon_per_answer="0.5").charge(SERVER, "a", "ticket", ONE)


def test_caps_per_server(make: Maker) -> None:
    ledger = make(max_epsilon=2, max_epsilon_per_server="1.05")
    ledger.charge(SERVER, "a", "ticket", ONE)
    with pytest.raises(OverCap, match="on this server is spent; set max_epsilon_per_server to"):
        ledger.charge(SERVER, "b", "ticket", TENTH)
    ledger.charge("https://other.example", "a", "ticket", TENTH)
    with pytest.raises(OverCap, match="in total is spent; set max_epsilon to"):
        ledger.charge("https://third.example", "a", "ticket", ONE)
    assert ledger.charge(SERVER, "a", "ticket", ONE).state == "charged"


@pytest.mark.parametrize("cap", ["0", "-1", "nan", "inf", "much", 0.0, True])
def test_refused_caps(make: Maker, cap: Any) -> None:
    with pytest.raises(InvalidEpsilon):
        make(max_epsilon=cap)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20), st.lists(st.integers(1, 5_000_000), max_size=30))
def test_a_cap_is_never_exceeded(cap: Fraction, costs: list[int]) -> None:
    caps, spent = Caps.read(cap, None, None), 0
    for cost in costs:
        try:
            caps.check(cost, spent, spent)
        except OverCap:
            assert spent + cost > cap * 1_000_000
        else:
            spent += cost
    assert Fraction(spent, 1_000_000) <= cap


def test_threads_share_a_ledger(make: Maker) -> None:
    ledger, answers, refused = make(max_epsilon=1), set(), []

    def work(number: int) -> None:
        for collection in range(20):
            try:
                ledger.charge(SERVER, str(collection), f"ticket-{number}", TENTH)
            except OverCap:
                refused.append(collection)
            else:
                answers.add((collection, ledger.draw(SERVER, str(collection), number % 3).answer))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent() == 1
    assert len(answers) == 10
    assert len(refused) == 60
