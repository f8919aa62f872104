"""What a server may know of a device beyond one answer: no cookies; and whom a ledger takes two servers to be."""

import asyncio
from fractions import Fraction
from typing import Any

import pytest

from dither_client import Admin, AlreadyAnswered, Analyst, AsyncClient, Client, MemoryLedger, OverCap, Problem, Retry
from dither_client.transport.json_api import Api
from testing.servers.fake_server import LAPLACE, Failure, FakeServer

COOKIE = {"Set-Cookie": "person=1234; Path=/; Max-Age=99999"}
REDIRECT = {**COOKIE, "Location": "/v1/collections/randomized"}


def cookies(server: FakeServer) -> list[str]:
    return [name for request in server.requests for name in request.headers if name.lower() == "cookie"]


def test_respondents_keep_no_cookies(server: FakeServer, quick: Retry) -> None:
    """From a refusal, from a redirect, and over the next requests of the same client."""

    async def run() -> None:
        async with AsyncClient(server.url, MemoryLedger(), retry=quick) as client:
            server.failures += [Failure(503, COOKIE)]
            await client.answer("laplace", 0.5)
            assert not client._driver._http.cookies.jar

    asyncio.run(run())
    with Client(server.url, MemoryLedger(), retry=quick) as client:
        server.failures += [Failure(503, COOKIE), Failure(307, REDIRECT)]
        with pytest.raises(Problem):
            client.terms("laplace")
        client.answer("laplace", 0.5)
        assert not client._driver._http.cookies.jar
    assert cookies(server) == []
    assert len(server.requests) == 9


@pytest.mark.parametrize("kind", [Api, Admin, Analyst])
def test_analysts_and_admins_keep_no_cookies(server: FakeServer, quick: Retry, kind: Any) -> None:
    with kind(server.url, "token") as caller:
        api = caller if kind is Api else caller._api
        server.failures += [Failure(200, COOKIE, b"{}")]
        for _ in range(2):
            api.get("/v1/collections/laplace")
        assert not api._driver._http.cookies.jar
    assert cookies(server) == []


def test_two_servers_below_one_host(server: FakeServer) -> None:
    """Each takes an answer to a collection of the same name; their ε counts as that of one host."""
    for name in ("a", "b"):
        base = f"/{name}/v1/collections/laplace"
        server.refusals[base] = (200, server.terms("laplace"))
        ticket = {"ticket": name, "query": LAPLACE, "expires_at": "x"}
        server.refusals[f"{base}/tickets"] = (201, ticket)
        server.refusals[f"{base}/responses"] = (201, {"receipt": name})
    ledger = MemoryLedger(max_epsilon_per_server="2.5")
    for name in ("a", "b"):
        with Client(f"{server.url}/{name}", ledger) as client:
            assert client.answer("laplace", 0.5).receipt == name
        with Client(f"{server.url}/{name}/", ledger) as client, pytest.raises(AlreadyAnswered):
            client.answer("laplace", 0.5)
    assert [charge.server for charge in ledger.entries()] == [f"{server.url}/a", f"{server.url}/b"]
    assert ledger.spent(f"{server.url}/a") == 1
    assert ledger.spent(server.url) == Fraction(2)
    with Client(server.url, ledger) as client, pytest.raises(OverCap, match="on this server"):
        client.answer("laplace", 0.5)


def test_an_entry_from_before_paths_were_told_apart_still_counts(server: FakeServer) -> None:
    ledger = MemoryLedger()
    with Client(server.url, ledger) as client:
        client.answer("laplace", 0.5)
    with Client(f"{server.url}/a", ledger) as client, pytest.raises(AlreadyAnswered):
        client.answer("laplace", 0.5)
    assert len(ledger.entries()) == 1
