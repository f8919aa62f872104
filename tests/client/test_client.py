"""The clients against a server on a real socket."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither_client import (
    AlreadyAnswered,
    AnswerExpired,
    AsyncClient,
    BadResponse,
    Client,
    InvalidAddress,
    InvalidQuery,
    InvalidValue,
    Ledger,
    MemoryLedger,
    OverCap,
    Problem,
    Receipt,
    Retry,
    Unreachable,
    parse_query,
)
from testing.patience import PATIENCE
from testing.servers.fake_server import CATEGORIES, GROUPED, LAPLACE, Failure, FakeServer, problem

Caller = Callable[..., Any]


@pytest.fixture(params=["threads", "asyncio"])
def call(request: pytest.FixtureRequest, server: FakeServer, quick: Retry) -> Caller:
    """Calls one method of either client, with a ledger."""

    def in_thread(ledger: Any, method: str, *arguments: Any) -> Any:
        with Client(server.url, ledger, retry=quick) as client:
            return getattr(client, method)(*arguments)

    def in_loop(ledger: Any, method: str, *arguments: Any) -> Any:
        async def work() -> Any:
            async with AsyncClient(server.url, ledger, retry=quick) as client:
                return await getattr(client, method)(*arguments)

        return asyncio.run(work())

    return in_thread if request.param == "threads" else in_loop


def test_an_answer(server: FakeServer, call: Caller) -> None:
    ledger = MemoryLedger()
    receipt = call(ledger, "answer", "laplace", 0.5)
    assert isinstance(receipt, Receipt)
    assert receipt.receipt == "receipt-of-laplace-1"
    assert receipt.query == parse_query(LAPLACE)
    assert server.answers["laplace-1"] == receipt.answer
    assert [charge.server for charge in ledger.entries()] == [server.url]
    assert ledger.spent() == 1


def test_terms(call: Caller) -> None:
    terms = call(MemoryLedger(), "terms", "randomized")
    assert (terms.id, terms.name, float(terms.epsilon), terms.state) == (
        "randomized",
        "The randomized one",
        0.5,
        "open",
    )


def test_bad_values_reach_nobody(server: FakeServer, call: Caller) -> None:
    for bad in (float("nan"), float("-inf"), None):
        with pytest.raises(InvalidValue):
            call(MemoryLedger(), "answer", "laplace", bad)
    assert server.requests == []
    with pytest.raises(InvalidValue):
        call(MemoryLedger(), "answer", "laplace", "12")
    assert [request.method for request in server.requests] == ["GET"], "a text may be a category, as the terms say"


def test_a_category_is_answered_by_its_text(server: FakeServer, call: Caller) -> None:
    server.questions["cycling"] = GROUPED
    assert call(MemoryLedger(), "terms", "cycling").categories == tuple(CATEGORIES)
    receipt = call(MemoryLedger(), "answer", "cycling", "weekly")
    assert server.answers["cycling-1"] == receipt.answer in (0, 1)
    for bad in ("Weekly", "", 3.0):
        with pytest.raises(InvalidValue, match="one of the collection's categories: never, weekly, 3") as caught:
            call(MemoryLedger(), "answer", "cycling", bad)
        assert repr(bad) not in str(caught.value)
    assert len(server.sent_to("/v1/collections/cycling/tickets")) == 1
    assert not any(b"weekly" in request.body for request in server.requests)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("status", [None, 500, 503, 429])
def test_retries(server: FakeServer, call: Caller, status: int | None, late: bool) -> None:
    """Cut connections and server errors, before and after the server did its work, at each request."""
    failure = Failure(status, late=late)
    server.failures += [failure, None, failure, None, failure, failure]
    receipt = call(MemoryLedger(), "answer", "laplace", 0.5)
    bodies = server.sent_to("/v1/collections/laplace/responses")
    assert len(bodies) == 3
    assert len(set(bodies)) == 1
    assert receipt.receipt.startswith("receipt-of-laplace-")
    assert len(server.answers) == 2, "one answer was counted"


def test_retry_after(server: FakeServer) -> None:
    server.failures += [Failure(503, {"Retry-After": "1"})]
    started = time.monotonic()
    with Client(server.url, MemoryLedger(), retry=Retry(attempts=2, first=0.001, longest=1.0)) as client:
        client.answer("laplace", 0.5)
    assert time.monotonic() - started >= 1.0


def test_no_server(server: FakeServer, call: Caller) -> None:
    server.close()
    ledger = MemoryLedger()
    with pytest.raises(Unreachable, match="4 attempts"):
        call(ledger, "answer", "laplace", 0.5)
    assert ledger.entries() == []


def test_a_server_that_hangs(server: FakeServer) -> None:
    release = threading.Event()
    reply = server._reply
    server._reply = lambda request: (release.wait(PATIENCE), reply(request))[1]  # type: ignore[method-assign]
    with Client(server.url, MemoryLedger(), timeout=0.1, retry=Retry(attempts=1)) as client:
        with pytest.raises(Unreachable):
            client.terms("laplace")
        release.set()


def test_redirects_are_not_followed(server: FakeServer, call: Caller) -> None:
    server.failures += [Failure(307, {"Location": "/v1/collections/randomized/tickets"})]
    with pytest.raises(Problem) as caught:
        call(MemoryLedger(), "answer", "laplace", 0.5)
    assert caught.value.status == 307
    assert len(server.requests) == 1


def test_refusals(server: FakeServer, call: Caller) -> None:
    ledger = MemoryLedger(max_epsilon=1)
    with pytest.raises(Problem) as caught:
        call(ledger, "answer", "nothing", 0.5)
    assert caught.value.name == "not-found"
    server.questions["fine"] = {**LAPLACE, "levels": 2048}
    with pytest.raises(InvalidQuery, match="levels"):
        call(ledger, "answer", "fine", 0.5)
    server.questions["dear"] = {**LAPLACE, "epsilon": 2}
    with pytest.raises(OverCap):
        call(ledger, "answer", "dear", 0.5)
    server.failures += [Failure(200, body=b"<html>")]
    with pytest.raises(BadResponse):
        call(ledger, "terms", "laplace")
    assert ledger.entries() == []
    call(ledger, "answer", "laplace", 0.5)
    with pytest.raises(AlreadyAnswered):
        call(ledger, "answer", "laplace", 0.5)


def test_resume(server: FakeServer, call: Caller) -> None:
    """What was stored and not sent is sent, each answer for itself; what was not drawn cannot be."""
    ledger, query = MemoryLedger(max_epsilon=100), parse_query(LAPLACE)
    for collection in ("laplace", "randomized", "late", "charged"):
        ledger.charge(server.url, collection, f"ticket-{collection}", query)
    for collection in ("laplace", "randomized", "late"):
        ledger.draw(server.url, collection, 3)
    ledger.charge("https://other.example", "laplace", "t", query)
    ledger.draw("https://other.example", "laplace", 1)
    server.refusals["/v1/collections/late/responses"] = problem(410, "ticket-expired", "the ticket has expired")
    outcomes = call(ledger, "resume")
    assert outcomes.keys() == {"laplace", "randomized", "late"}
    assert outcomes["laplace"].receipt == "receipt-of-ticket-laplace"
    assert outcomes["randomized"].answer == 3
    assert isinstance(outcomes["late"], AnswerExpired)
    assert [charge.state for charge in ledger.entries()] == ["sent", "sent", "expired", "charged", "drawn"]
    assert call(ledger, "resume") == {}


def test_resume_without_a_server(server: FakeServer, call: Caller) -> None:
    ledger = MemoryLedger()
    ledger.charge(server.url, "laplace", "t", parse_query(LAPLACE))
    ledger.draw(server.url, "laplace", 1)
    server.close()
    with pytest.raises(Unreachable):
        call(ledger, "resume")
    assert len(ledger.unsent(server.url)) == 1


def test_send_stored(server: FakeServer, call: Caller) -> None:
    ledger = MemoryLedger()
    assert call(ledger, "send_stored", "laplace") is None
    ledger.charge(server.url, "laplace", "t", parse_query(LAPLACE))
    assert call(ledger, "send_stored", "laplace") is None
    ledger.draw(server.url, "laplace", 1)
    assert call(ledger, "send_stored", "laplace").receipt == "receipt-of-t"
    with pytest.raises(AlreadyAnswered):
        call(ledger, "send_stored", "laplace")


def test_the_default_ledger(server: FakeServer, call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_client.ledger.sqlite.user_data_folder", lambda: tmp_path / "dither")
    call(None, "answer", "laplace", 0.5)
    with Ledger() as ledger:
        assert ledger.spent() == 1
        assert [charge.state for charge in ledger.entries()] == ["sent"]


def test_a_server_is_its_origin(server: FakeServer) -> None:
    ledger = MemoryLedger()
    with Client(server.url + "/", ledger) as client:
        assert client.server == server.url
        client.answer("laplace", 0.5)
        paths = ["/v1/collections/laplace", "/v1/collections/laplace/tickets"]
        assert [request.path for request in server.requests[:2]] == paths
    with Client(server.url, ledger) as client, pytest.raises(AlreadyAnswered):
        client.answer("laplace", 0.5)


def test_the_url_may_have_a_path(server: FakeServer) -> None:
    with Client(server.url + "/dither/", MemoryLedger()) as client:
        with pytest.raises(Problem):
            client.terms("laplace")
        assert server.requests[0].path == "/dither/v1/collections/laplace"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_only_https_leaves_the_machine(kind: Callable[[str], Any]) -> None:
    with pytest.raises(InvalidAddress):
        kind("http://example.org")


def test_a_proxy_is_not_asked_about_this_machine(
    server: FakeServer, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert call(MemoryLedger(), "terms", "laplace").id == "laplace"


def test_the_ledger_never_blocks_the_loop(server: FakeServer, quick: Retry) -> None:
    """It may wait for the disk or for another process, so it is used in other threads than the loop's."""
    threads: dict[str, set[int]] = {}

    class Watched:
        def __init__(self, ledger: MemoryLedger) -> None:
            self._ledger = ledger

        def __getattr__(self, name: str) -> Any:
            def call(*arguments: Any) -> Any:
                threads.setdefault(name, set()).add(threading.get_ident())
                return getattr(self._ledger, name)(*arguments)

            return call

    async def main() -> None:
        ledger: Any = Watched(MemoryLedger())
        async with AsyncClient(server.url, ledger, retry=quick) as client:
            await client.answer("laplace", 0.5)
            await client.resume()

    asyncio.run(main())
    assert threads.keys() == {"find", "price", "keep_price", "charge", "draw", "mark_sent", "unsent"}
    assert threading.get_ident() not in set().union(*threads.values())


def test_many_answers_at_once(server: FakeServer, quick: Retry) -> None:
    server.questions.update({f"c{n}": LAPLACE for n in range(20)})
    ledger = MemoryLedger(max_epsilon=15)

    async def main() -> list[Any]:
        async with AsyncClient(server.url, ledger, retry=quick) as client:
            answers = [client.answer(f"c{n}", 0.5) for n in range(20)]
            return list(await asyncio.gather(*answers, return_exceptions=True))

    outcomes = asyncio.run(main())
    assert sum(isinstance(outcome, Receipt) for outcome in outcomes) == 15
    assert sum(isinstance(outcome, OverCap) for outcome in outcomes) == 5
    assert ledger.spent() == 15


def test_an_answer_that_is_cancelled_can_be_resumed(server: FakeServer, quick: Retry) -> None:
    ledger = MemoryLedger()
    server.refusals["/v1/collections/laplace/responses"] = problem(500, "internal", "no")

    async def main() -> None:
        async with AsyncClient(server.url, ledger, retry=Retry(attempts=1000, first=10)) as client:
            task = asyncio.ensure_future(client.answer("laplace", 0.5))
            while not server.sent_to("/v1/collections/laplace/responses"):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    server.refusals.clear()
    with Client(server.url, ledger, retry=quick) as client:
        assert isinstance(client.resume()["laplace"], Receipt)
    assert len(set(server.sent_to("/v1/collections/laplace/responses"))) == 1


def test_nothing_is_logged_but_addresses(server: FakeServer, caplog: pytest.LogCaptureFixture, quick: Retry) -> None:
    caplog.set_level(logging.DEBUG)
    server.failures += [Failure(), None, Failure(500)]
    with Client(server.url, MemoryLedger(), retry=quick) as client:
        receipt = client.answer("laplace", 123456.789)
    assert caplog.records
    assert "123456" not in caplog.text
    assert receipt.receipt not in caplog.text


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_path_is_no_ledger(client: type[Client | AsyncClient], tmp_path: Path) -> None:
    for path in (tmp_path / "ledger", str(tmp_path / "ledger")):
        with pytest.raises(TypeError, match=r"give dither_client\.Ledger\(path\)"):
            client("https://example.org", ledger=path)  # type: ignore[arg-type]
