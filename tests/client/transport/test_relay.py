"""A client behind a relay that is hostile or broken: nothing that the relay says passes for the server's word."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dither_client import AsyncClient, BadResponse, Client, InvalidAddress, MemoryLedger, MissingExtra, Problem, Retry
from dither_client.oblivious.binary_http import Request, Response, read_request, write_response
from dither_client.oblivious.encapsulation import (
    KEYS_TYPE,
    PADDING,
    REPLY_TYPE,
    KeyConfiguration,
    decapsulate,
    write_configurations,
)
from dither_client.transport import relay as relay_module
from testing.servers.fake_server import FakeServer

SERVER = "https://survey.example.org/dither"
RELAY = "https://relay.example.net/ohttp"
KEY_PROBLEM = {"type": "https://iana.org/assignments/http-problem-types#ohttp-key", "title": "x", "detail": "x"}

Reply = Callable[[httpx2.Request], httpx2.Response]


class Gateway:
    """A relay with a gateway behind it, whose responses a fake server gives. `failures` come first, in turn."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self.failures: list[httpx2.Response] = []
        self.outer: list[httpx2.Request] = []
        self.inner: list[Request] = []
        self.replace_key(1)

    def replace_key(self, key_id: int) -> None:
        self._id, self._private = key_id, X25519PrivateKey.generate()

    @property
    def keys(self) -> httpx2.Response:
        public = self._private.public_key().public_bytes_raw()
        content = write_configurations([KeyConfiguration(self._id, public)])
        return httpx2.Response(200, headers={"content-type": KEYS_TYPE}, content=content)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.outer.append(request)
        if self.failures:
            return self.failures.pop(0)
        if request.method == "GET":
            return self.keys
        try:
            message, exchange = decapsulate(
                request.content, lambda key_id: self._private if key_id == self._id else None
            )
        except ValueError:
            return httpx2.Response(400, content=json.dumps(KEY_PROBLEM))
        inner = read_request(message)
        self.inner.append(inner)
        assert len(message) % PADDING == 0
        path = inner.path.removeprefix("/dither")
        reply = httpx2.request(inner.method, self._server.url + path, content=inner.body, headers=dict(inner.headers))
        response = Response(reply.status_code, (("content-type", "application/json"),), reply.content)
        content = exchange.seal(write_response(response, PADDING))
        return httpx2.Response(200, headers={"content-type": REPLY_TYPE}, content=content)

    def client(self, retry: Retry, ledger: MemoryLedger | None = None) -> Client:
        return Client(SERVER, ledger or MemoryLedger(), retry=retry, relay=RELAY, transport=httpx2.MockTransport(self))


@pytest.fixture
def gateway(server: FakeServer) -> Gateway:
    return Gateway(server)


def test_everything_goes_to_the_relay_with_as_little_as_it_needs(gateway: Gateway, quick: Retry) -> None:
    with gateway.client(quick) as client:
        client.answer("laplace", 0.5)
    assert {str(request.url) for request in gateway.outer} == {RELAY}
    assert [request.method for request in gateway.outer] == ["GET", "POST", "POST", "POST"]
    for request in gateway.outer:
        assert {*request.headers} - {"connection", "content-length", "content-type"} == {
            "accept",
            "accept-encoding",
            "host",
            "user-agent",
        }
        assert request.headers["user-agent"] == "dither"
    assert [(one.method, one.path.rpartition("/")[2]) for one in gateway.inner] == [
        ("GET", "laplace"),
        ("POST", "tickets"),
        ("POST", "responses"),
    ]
    for inner in gateway.inner:
        assert (inner.scheme, inner.authority) == ("https", "survey.example.org")
        assert {name for name, _ in inner.headers} == {"accept", "content-type"}


def test_for_asyncio(gateway: Gateway, quick: Retry) -> None:
    async def run() -> None:
        transport = httpx2.MockTransport(gateway)
        async with AsyncClient(SERVER, MemoryLedger(), retry=quick, relay=RELAY, transport=transport) as client:
            await client.answer("laplace", 0.5)

    asyncio.run(run())
    assert len(gateway.inner) == 3


def test_a_key_that_was_replaced_is_fetched_again_once(gateway: Gateway, quick: Retry) -> None:
    with gateway.client(quick) as client:
        client.terms("laplace")
        gateway.replace_key(2)
        client.answer("laplace", 0.5)
    assert [request.method for request in gateway.outer] == ["GET", "POST", "POST", "GET", "POST", "POST"]


def test_a_server_that_knows_no_key_is_not_asked_for_ever(gateway: Gateway, quick: Retry) -> None:
    bad = httpx2.Response(400, content=json.dumps(KEY_PROBLEM))
    gateway.failures += [gateway.keys, bad, gateway.keys, bad]
    with gateway.client(quick) as client, pytest.raises(BadResponse, match="does not know the key"):
        client.terms("laplace")
    assert len(gateway.outer) == 4


def final(name: str) -> httpx2.Response:
    document = {"type": f"urn:dither:{name}", "title": "x", "detail": "x", "status": 410}
    return httpx2.Response(410, headers={"content-type": "application/problem+json"}, content=json.dumps(document))


@pytest.mark.parametrize(
    "forged",
    [
        final("ticket-expired"),
        final("collection-closed"),
        httpx2.Response(201, content=b'{"receipt": "forged"}'),
        httpx2.Response(200, headers={"content-type": REPLY_TYPE}, content=b"x" * 500),
        httpx2.Response(200, headers={"content-type": REPLY_TYPE}, content=b""),
        httpx2.Response(200, headers={"content-type": REPLY_TYPE}, content=bytes((1 << 20) + 5000)),
        httpx2.Response(200, headers={"content-type": REPLY_TYPE, "content-encoding": "gzip"}, content=b""),
        httpx2.Response(307, headers={"location": "https://elsewhere.example/"}),
        httpx2.Response(400, content=b"{"),
    ],
    ids=["expired", "closed", "receipt", "noise", "nothing", "long", "compressed", "redirect", "garbage"],
)
def test_a_relay_cannot_speak_for_the_server(gateway: Gateway, quick: Retry, forged: httpx2.Response) -> None:
    """The answer stays in the ledger, and arrives once the relay forwards it."""
    ledger = MemoryLedger()
    with gateway.client(quick, ledger) as client:
        real, calls = gateway.__call__, []

        def forging(request: httpx2.Request) -> httpx2.Response:
            calls.append(request)
            return forged if len(calls) == 4 else real(request)

        client._driver._http._transport._http._transport.handler = forging  # type: ignore[attr-defined]
        with pytest.raises(BadResponse):
            client.answer("laplace", 0.5)
        [entry] = ledger.unsent(client.server)
        assert entry.state == "drawn"
        receipt = client.send_stored("laplace")
    assert receipt is not None
    assert receipt.receipt != "forged"


def test_a_relay_that_is_busy_is_asked_again(gateway: Gateway, quick: Retry) -> None:
    gateway.failures += [httpx2.Response(status, headers={"retry-after": "0"}) for status in (502, 429, 503)]
    with gateway.client(quick) as client:
        client.answer("laplace", 0.5)
    gateway.failures += [httpx2.Response(500, content=b"{}")] * 20
    with gateway.client(quick) as client, pytest.raises(Problem) as caught:
        client.terms("laplace")
    assert caught.value.status == 503


@pytest.mark.parametrize(
    "keys",
    [
        httpx2.Response(404),
        httpx2.Response(200, content=b"<html>"),
        httpx2.Response(200, headers={"content-type": KEYS_TYPE}, content=b"\0\1"),
        httpx2.Response(
            200, headers={"content-type": KEYS_TYPE}, content=write_configurations([KeyConfiguration(1, bytes(32))])
        ),
    ],
    ids=["none", "a page", "garbage", "a weak key"],
)
def test_keys_that_are_refused(gateway: Gateway, quick: Retry, keys: httpx2.Response) -> None:
    gateway.failures.append(keys)
    with gateway.client(quick) as client, pytest.raises(BadResponse, match="relay"):
        client.terms("laplace")
    assert gateway.inner == []


@pytest.mark.parametrize(
    ("relay", "token", "says"),
    [
        ("http://relay.example.net/ohttp", None, "relay's URL must begin with https"),
        ("relay.example.net", None, "the relay's URL"),
        ("https://survey.example.org/ohttp", None, "the relay is the server itself"),
        (RELAY, "the-token", "a token tells the server who asks"),
    ],
)
def test_a_relay_that_would_hide_nothing_is_refused(relay: str, token: str | None, says: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InvalidAddress, match=says):
            kind(SERVER, MemoryLedger(), relay=relay, token=token)


def test_without_its_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(extra: str, *modules: str) -> Any:
        raise MissingExtra(f"this needs {modules[-1]}: pip install 'dither[{extra}]'")

    monkeypatch.setattr(relay_module, "require_extra", missing)
    with pytest.raises(MissingExtra, match=r"dither\[relay\]"):
        Client(SERVER, MemoryLedger(), relay=RELAY)
    Client(SERVER, MemoryLedger()).close()
