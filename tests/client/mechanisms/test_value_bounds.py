"""Public bounds of values: what lies outside is refused on the device, silently for the server, and never repeated."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither_client import AsyncClient, BadResponse, Client, InvalidValue, Ledger, MemoryLedger
from dither_client.ledger.protocol import LedgerProtocol
from dither_client.mechanisms.bounds import ANYTHING, Bounds
from dither_client.mechanisms.price import Price
from testing.servers.fake_server import FakeServer
from tests.client.protocol.test_flow import RECEIPT, answer, play, ticket, told

TERMS = "/v1/collections/laplace"
SPENDING = {"minimum": 0, "maximum": 10_000}
"""Bounds of a week's spending."""


@pytest.fixture
def spending(server: FakeServer) -> FakeServer:
    server.refusals[TERMS] = (200, {**server.terms("laplace"), **SPENDING})
    return server


@pytest.mark.parametrize("value", [-5.0, 1e9, -1e-300, 10_000.000_001])
def test_a_refusal_is_followed_by_no_request(spending: FakeServer, value: float) -> None:
    """The terms are read before, and nothing comes after: no ticket, no charge; the message has the bounds alone."""
    ledger = MemoryLedger()
    with Client(spending.url, ledger) as client:
        client.terms("laplace")
        for _ in range(2):
            with pytest.raises(InvalidValue, match=r"^the value must be from 0 to 10,000 here: please check it$"):
                client.answer("laplace", value)
    assert [request.path for request in spending.requests] == [TERMS]
    assert ledger.entries() == []


def test_whoever_has_not_read_the_terms_reads_them_and_no_more(spending: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(spending.url, MemoryLedger()) as client:
            await client.answer("laplace", -5.0)

    with pytest.raises(InvalidValue, match="from 0 to 10,000"):
        asyncio.run(run())
    assert [request.path for request in spending.requests] == [TERMS]


def test_values_on_the_bounds_are_answered() -> None:
    for value in (0.0, -0.0, 10_000.0, 9_999.999):
        outcome, sent, _ = play(answer(MemoryLedger(), value, told(**SPENDING)), ticket(), RECEIPT)
        assert outcome.receipt == "r"
        assert len(sent) == 2


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6), st.floats(0, 1e6))
@example(1.5, 2.0, 149.5)
def test_bounds_refuse_and_do_nothing_else(value: float, low: float, width: float) -> None:
    price = Price("laplace", "identity", told().epsilon, bounds=Bounds(low, low + width))
    if low <= value <= low + width:
        assert price.held(value) == value
    else:
        with pytest.raises(InvalidValue) as caught:
            price.held(value)
        # The same words for every value outside: its digits may be among those of a bound, as 1.5 is in 151.5.
        assert str(caught.value) == f"the value must be {price.bounds} here: please check it"


def test_a_bound_that_was_forgotten_would_be_noticed() -> None:
    """The broken variant: a price without its bounds takes what the terms rule out."""
    price = told(**SPENDING).price
    with pytest.raises(InvalidValue):
        price.held(-5.0)
    forgetful = Price(price.mechanism, price.transform, price.epsilon)
    assert forgetful.held(-5.0) == -5.0


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (ANYTHING, ""),
        (Bounds(0.0), "at least 0"),
        (Bounds(maximum=1e6), "at most 1,000,000"),
        (Bounds(-2.5, 100.0), "from -2.5 to 100"),
    ],
)
def test_bounds_in_words(bounds: Bounds, words: str) -> None:
    assert str(bounds) == words


@pytest.mark.parametrize("later", [{"minimum": 500}, {"minimum": 500, "maximum": 10_000}, {"maximum": 10_000}, {}])
def test_bounds_that_change_are_refused(spending: FakeServer, tmp_path: Path, later: dict[str, Any]) -> None:
    """A server that could move them would learn by silence on which side a value lies, again and again."""
    makers: list[Callable[[], LedgerProtocol]] = [MemoryLedger, lambda: Ledger(tmp_path / "ledger.sqlite")]
    for make in makers:
        ledger = make()
        spending.refusals[TERMS] = (200, {**spending.terms("laplace"), **SPENDING})
        with Client(spending.url, ledger) as client:
            client.terms("laplace")
            spending.refusals[TERMS] = (200, {**spending.terms("laplace"), **later})
            with pytest.raises(BadResponse, match="has changed the bounds of this collection, which never change"):
                client.terms("laplace")
            before = len(spending.requests)
            with pytest.raises(InvalidValue, match="from 0 to 10,000"):
                client.answer("laplace", 10_001.0)
            assert len(spending.requests) == before
        if isinstance(ledger, Ledger):
            ledger.close()


def test_a_price_that_was_kept_without_bounds_goes_on(spending: FakeServer) -> None:
    """As an earlier version kept it, which knew none."""
    old: dict[str, Any] = {
        "mechanism": "laplace",
        "transform": "identity",
        "epsilon": "1",
        "choices": [],
        "rho": None,
        "levels": None,
    }
    price = Price.from_json(old)
    assert price.to_json() == old
    price.check_kept(told(**SPENDING).price)
    assert price.held(-5.0) == -5.0
    ledger = MemoryLedger()
    ledger.keep_price(spending.url, "laplace", price)
    with Client(spending.url, ledger) as client:
        terms = client.terms("laplace")
        assert (terms.minimum, terms.maximum) == (None, None)  # other bounds each time would each be a question
        assert client.answer("laplace", -5.0).receipt == "receipt-of-laplace-1"


def test_members_values_are_held_to_them(spending: FakeServer) -> None:
    spending.refusals[TERMS] = (200, {**spending.terms("laplace"), **SPENDING, "member_cuts": [0.25]})
    ledger = MemoryLedger()
    with Client(spending.url, ledger, token="t") as client, pytest.raises(InvalidValue, match="from 0 to 10,000"):
        client.share("laplace", [1.0, 20_000.0])
    assert ledger.entries() == []
    assert [request.path for request in spending.requests] == [TERMS]
