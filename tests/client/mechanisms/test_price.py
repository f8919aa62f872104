"""The terms are the price: a server that says one ε and asks at another gets no answer, on no path.

The server of these tests says ε = 0.1 and asks 1,000 cuts at ε = 10, which would show a value's cell nearly always.
"""

import asyncio
import sys
from collections.abc import Callable
from fractions import Fraction
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from dither_client import (
    AsyncClient,
    BadResponse,
    Client,
    InvalidQuery,
    Ledger,
    MemoryLedger,
    OverCap,
    RandomizedResponse,
    Retry,
)
from dither_client.commands import run
from dither_client.ledger.protocol import LedgerProtocol
from dither_client.mechanisms.bounds import Bounds
from dither_client.mechanisms.price import Price
from dither_client.protocol.flow import Response, advance
from testing.servers.fake_server import LAPLACE, FakeServer
from tests.client.protocol.test_flow import RECEIPT, SERVER, answer, play, problem, ticket, told

CUTS = {
    "mechanism": "randomized_response",
    "cuts": [float(cut) for cut in range(1000)],
    "epsilon": 10,
    "transform": "identity",
}
SAID = {"epsilon": 0.1, "mechanism": "randomized_response"}
TERMS = "/v1/collections/laplace"
OPEN = {"max_epsilon": 50}
"""Caps that would let it pass."""


@pytest.fixture
def hostile(server: FakeServer) -> FakeServer:
    server.questions["laplace"] = CUTS
    server.refusals[TERMS] = (200, {**server.terms("laplace"), **SAID})
    return server


def nothing_went_out(server: FakeServer, ledger: LedgerProtocol) -> None:
    assert ledger.entries() == []
    assert [
        request.path for request in server.requests if request.path.endswith(("/responses", "/member-counts"))
    ] == []


def test_the_server_would_learn_the_cell() -> None:
    """What is at stake: the chance that the answer is the value's own cell."""
    query = RandomizedResponse(CUTS["cuts"], 10)  # type: ignore[arg-type]
    assert query.channel()[500][500] > 0.95


@pytest.mark.parametrize("told_first", [False, True])
def test_clients_refuse_it(hostile: FakeServer, told_first: bool) -> None:
    ledger = MemoryLedger(**OPEN)

    async def run() -> None:
        async with AsyncClient(hostile.url, ledger) as client:
            if told_first:
                await client.terms("laplace")
            await client.answer("laplace", 540.0)

    with Client(hostile.url, ledger) as client, pytest.raises(OverCap, match=r"ε = 10, more than the ε = 0\.1 that"):
        client.answer("laplace", 540.0)
    with pytest.raises(OverCap, match="the collection's terms say"):
        asyncio.run(run())
    nothing_went_out(hostile, ledger)


@pytest.mark.parametrize("value", ["540", "-"])
def test_the_command_refuses_it(
    hostile: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"540\n")))
    path = tmp_path / "ledger.sqlite"
    options = ["--url", hostile.url, "--ledger", str(path), "--max-epsilon", "50"]
    assert run(["answer", "laplace", value, *options]) == 1
    assert "costs ε = 10, more than the ε = 0.1 that the collection's terms say" in capsys.readouterr().err
    with Ledger(path) as ledger:
        nothing_went_out(hostile, ledger)


@pytest.mark.parametrize("path", [None, "file"])
def test_a_price_that_rises_is_refused(server: FakeServer, tmp_path: Path, path: str | None) -> None:
    """What was told first counts, also after a restart; terms that cost less are let be."""
    ledger: LedgerProtocol = MemoryLedger(**OPEN) if path is None else Ledger(tmp_path / "ledger.sqlite", 50)
    server.questions["laplace"] = {**LAPLACE, "epsilon": 0.5}
    with Client(server.url, ledger) as client:
        assert client.terms("laplace").epsilon == Fraction(1, 2)
    if isinstance(ledger, Ledger):
        ledger.close()
        ledger = Ledger(tmp_path / "ledger.sqlite", 50)
    server.questions["laplace"] = LAPLACE
    with Client(server.url, ledger, token="t") as client:
        for call in (client.terms, lambda name: client.share(name, [1.0, 2.0])):
            with pytest.raises(BadResponse, match=r"terms said ε = 0\.5 and now say ε = 1"):
                call("laplace")
        with pytest.raises(OverCap, match=r"costs ε = 1, more than the ε = 0\.5"):
            client.answer("laplace", 0.3)
        assert ledger.entries() == []
        server.questions["laplace"] = {**LAPLACE, "epsilon": 0.25}
        assert client.terms("laplace").epsilon == Fraction(1, 4)
        assert client.answer("laplace", 0.3).query.epsilon == Fraction(1, 4)
    if isinstance(ledger, Ledger):
        ledger.close()


def test_institutions_are_told_once_too(server: FakeServer) -> None:
    """Counts of members are at the ε of the terms, which may not rise between what was shown and what is shared."""
    ledger = MemoryLedger(**OPEN)
    with Client(server.url, ledger, token="t") as client:
        server.refusals[TERMS] = (200, {**server.terms("laplace"), "epsilon": 0.1, "member_cuts": [0, 1]})
        client.terms("laplace")
        server.refusals[TERMS] = (200, {**server.terms("laplace"), "epsilon": 10, "member_cuts": [0, 1]})
        with pytest.raises(BadResponse, match="raised the price"):
            client.share("laplace", [0.5, 1.5, 2.5])
    nothing_went_out(server, ledger)


def test_terms_are_fetched_once_before_the_ticket(server: FakeServer, quick: Retry) -> None:
    ledger = MemoryLedger()
    server.questions["other"] = LAPLACE
    with Client(server.url, ledger, retry=quick) as client:
        client.answer("laplace", 0.3)
        server.refusals["/v1/collections/other/tickets"] = problem_reply()
        for _ in range(2):
            with pytest.raises(Exception, match="paused"):
                client.answer("other", 0.3)
    assert [request.path for request in server.requests] == [
        TERMS,
        f"{TERMS}/tickets",
        f"{TERMS}/responses",
        "/v1/collections/other",
        *["/v1/collections/other/tickets"] * 2,
    ]


def problem_reply() -> tuple[int, Any]:
    return 409, {"type": "urn:dither:collection-paused", "title": "x", "status": 409, "detail": "it is paused"}


def test_without_terms_there_is_no_ticket() -> None:
    for reply in (problem(404, "not-found"), Response(200, {}, b"{}"), Response(200, {}, b"[]")):
        outcome, sent, _ = play(answer(MemoryLedger(), terms=None), reply)
        assert isinstance(outcome, Exception)
        assert [send.path for send in sent] == ["/v1/collections/c"]


def test_an_entry_that_is_charged_goes_on() -> None:
    """Whatever the server says now: the question was checked when it was charged."""
    ledger = MemoryLedger(max_epsilon=50)
    ledger.charge(SERVER, "c", "t0", RandomizedResponse([0.0], 3))
    receipt, sent, _ = play(answer(ledger, terms=None), RECEIPT)
    assert receipt.query.epsilon == 3
    assert [send.path for send in sent] == ["/v1/collections/c/responses"]


@pytest.mark.parametrize(
    ("said", "asked", "says"),
    [
        ({"transform": "log"}, {}, "its transform is identity, and the terms say log"),
        ({"mechanism": "gaussian", "rho": 1}, {}, "its mechanism is not the one that the terms say"),
        ({"levels": 32}, {}, "it has 64 edges between its cells, and the terms say 32 at most"),
        (
            {"mechanism": "gaussian", "rho": "0.1"},
            {"mechanism": "gaussian", "rho": 0.25},
            "it states ρ = 0.25, and the",
        ),
    ],
)
def test_other_questions_than_the_terms_say(said: dict[str, Any], asked: dict[str, Any], says: str) -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger, terms=told(**said)), ticket(**asked))
    assert isinstance(outcome, InvalidQuery)
    assert says in str(outcome)
    assert ledger.entries() == []


def test_a_ledger_keeps_every_price_as_it_was(tmp_path: Path) -> None:
    prices = [
        Price("gaussian", "log", Fraction("0.333333"), (Fraction(1, 2), Fraction(2))),
        Price("laplace", "identity", Fraction("0.000001"), levels=7, bounds=Bounds(-0.1, 1e300)),
    ]
    makers: list[Callable[[], LedgerProtocol]] = [MemoryLedger, lambda: Ledger(tmp_path / "ledger.sqlite")]
    for make in makers:
        ledger = make()
        for name, price in zip("ab", prices, strict=True):
            assert ledger.price(SERVER, name) is None
            assert ledger.keep_price(SERVER, name, price) == price
            assert ledger.keep_price(SERVER, name, prices[1]) == price
            assert ledger.price(SERVER, name) == price
            assert ledger.price("https://other.example", name) is None
        if isinstance(ledger, Ledger):
            ledger.close()


def test_the_price_is_not_asked_for_when_the_answer_is_known() -> None:
    ledger = MemoryLedger()
    play(answer(ledger), ticket(), RECEIPT)
    with pytest.raises(Exception, match="already has your answer"):
        advance(answer(ledger, terms=None), None)
