"""Through real nginx as a relay, over HTTP: a respondent's answer arrives, and nothing that says who sent it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dither_client import AlreadyAnswered, AsyncClient, Client, Ledger, MemoryLedger, Problem, Retry, Unreachable
from dither_client.oblivious.encapsulation import KEYS_TYPE, PADDING, REQUEST_TYPE
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.listening import listening
from testing.servers.process import ServerProcess, running
from testing.servers.proxies import RELAY_ADDRESS, relay

RESPONDENT = "127.0.0.9"
"""The address of a respondent's device."""
VALUE = 8314159.25
TELLING = {"Cookie": "person=1234", "X-Forwarded-For": "198.51.100.7", "User-Agent": "somebody's own"}
"""What a client of somebody else's making may send, and a relay keeps to itself."""
OVERHEAD = 7 + 32 + 16
"""Bytes of an encapsulated request beyond its message."""


@dataclass
class Seen:
    """What a server gets of one request."""

    address: str
    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Place:
    """A server behind a relay. `seen` is all that arrived of what was sent through the relay."""

    server: ServerProcess
    url: str
    """The server's, by which ledgers know it."""
    relay: str
    passes_on: str = ""
    """Where all that a relay sends is noted, and passed on to the server."""
    seen: list[Seen] = field(default_factory=list)

    def create(self, **fields: Any) -> str:
        reply = httpx2.post(f"{self.server.url}/v1/collections", json=SPEC | fields, headers=ADMIN, timeout=PATIENCE)
        return str(reply.raise_for_status().json()["id"])

    def stored(self, collection: str) -> int:
        url = f"{self.server.url}/v1/collections/{collection}"
        return int(httpx2.get(url, headers=ADMIN, timeout=PATIENCE).json()["answers"])

    def client(self, ledger: MemoryLedger, **changes: Any) -> Client:
        device = httpx2.HTTPTransport(local_address=RESPONDENT)
        return Client(self.url, ledger, relay=self.relay, transport=device, **changes)


def recorder(place: Place) -> ThreadingHTTPServer:
    """Notes each request, and passes it on to the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on(b"")

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

        def _pass_on(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            place.seen.append(Seen(self.client_address[0], self.requestline, headers, body))
            there = f"{place.server.url}{self.path}"
            passed = {name: value for name, value in headers.items() if name == "content-type"}
            reply = httpx2.request(self.command, there, content=body, headers=passed, timeout=PATIENCE)
            self.send_response(reply.status_code)
            for name in ("content-type", "content-length", "cache-control"):
                self.send_header(name, reply.headers[name])
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Says nothing."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("relay")
    debug = {"DITHER_LOG_LEVEL": "debug", "DITHER_LOG_FORMAT": "json"}
    with running(f"sqlite:///{folder / 'test.sqlite'}", files=None, before="", **debug) as server:
        place = Place(server, "https://survey.example.org/dither", "")
        http = recorder(place)
        with listening(http) as place.passes_on, relay(folder / "nginx", http.server_address[1]) as place.relay:
            yield place


@pytest.fixture
def place(_running: Place) -> Place:
    _running.seen.clear()
    return _running


def test_an_answer_arrives_and_nothing_says_whose_it_is(place: Place) -> None:
    """The server's own address leads nowhere: nothing is sent there."""
    collection, ledger = place.create(), MemoryLedger()
    with place.client(ledger) as client:
        client._driver._http.headers.update(TELLING)
        client._driver._http._transport._http.headers.update(TELLING)  # type: ignore[attr-defined]
        receipt = client.answer(collection, VALUE)
        with pytest.raises(AlreadyAnswered) as caught:
            client.answer(collection, VALUE)
    assert caught.value.receipt == receipt.receipt
    assert ledger.find(place.url, collection).state == "sent"  # type: ignore[union-attr]
    assert place.stored(collection) == 1
    assert [one.line for one in place.seen] == ["POST /ohttp HTTP/1.1"] * 3  # the key was in the relay's cache
    for one in place.seen:
        assert one.address == RELAY_ADDRESS
        assert one.headers.keys() <= {"host", "content-type", "content-length", "connection"}
        assert one.headers["content-type"] == REQUEST_TYPE
        assert (len(one.body) - OVERHEAD) % PADDING == 0
        assert collection.encode() not in one.body
    everything = repr(place.seen) + place.server.stderr
    for telling in (RESPONDENT, "8314159", *TELLING.values()):
        assert telling not in everything


def test_a_relay_that_passes_headers_on_is_found_out(place: Place, tmp_path: Path) -> None:
    port = int(place.passes_on.rpartition(":")[2])
    with relay(tmp_path / "leaky", port, without="proxy_pass_request_headers off;") as leaky:
        httpx2.post(leaky, content=b"x", headers={"Content-Type": REQUEST_TYPE, **TELLING}, timeout=PATIENCE)
    assert place.seen[-1].headers["cookie"] == TELLING["Cookie"]


def test_the_servers_log_has_nothing_of_what_is_inside(place: Place) -> None:
    collection = place.create()
    before = len(place.server.stderr)
    with place.client(MemoryLedger()) as client:
        receipt = client.answer(collection, VALUE)
    lines = [json.loads(line) for line in place.server.stderr[before:].splitlines()]
    calls = [line["call"] for line in lines if line.get("event") == "request"]
    assert calls.count("forward") == 3
    assert {"show_collection", "issue_tickets", "respond"} <= {*calls}
    for inside in (receipt.receipt, collection):
        assert inside not in place.server.stderr[before:]


def test_everybody_gets_the_same_key_from_the_relay(place: Place) -> None:
    found = []
    for query in ("", "?person=1", "?person=2"):
        reply = httpx2.get(place.relay + query, headers=TELLING, timeout=PATIENCE)
        assert (reply.status_code, reply.headers["content-type"]) == (200, KEYS_TYPE)
        found.append(reply.content)
    assert len({*found}) == 1
    assert httpx2.get(f"{place.server.url}/ohttp-keys", timeout=PATIENCE).content == found[0]
    assert place.seen == []


def test_a_relay_forwards_nothing_else(place: Place) -> None:
    assert httpx2.delete(place.relay, timeout=PATIENCE).status_code == 403
    assert httpx2.get(place.relay.removesuffix("/ohttp") + "/v1/collections", timeout=PATIENCE).status_code == 404
    reply = httpx2.post(place.relay, content=bytes(40_000), headers={"Content-Type": REQUEST_TYPE}, timeout=PATIENCE)
    assert reply.status_code == 413
    assert place.seen == []


def test_refusals_are_the_servers_own(place: Place) -> None:
    with place.client(MemoryLedger()) as client, pytest.raises(Problem) as caught:
        client.answer("nosuchone1", VALUE)
    assert (caught.value.status, caught.value.name) == (404, "not-found")


def test_for_asyncio_and_on_the_command_line(place: Place, tmp_path: Path) -> None:
    collection = place.create()

    async def answer() -> str:
        async with AsyncClient(place.url, MemoryLedger(), relay=place.relay) as client:
            return (await client.answer(collection, VALUE)).receipt

    code = "from dither_client.commands import main; main()"
    arguments = ["answer", collection, "-", "--url", place.url, "--relay", place.relay, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--ledger", str(tmp_path / "ledger.sqlite")],
        input=str(VALUE),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["receipt"] != asyncio.run(answer())
    assert place.stored(collection) == 2
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.find(place.url, collection) is not None


def test_a_relay_that_is_away_is_named(place: Place) -> None:
    away = "http://127.0.0.1:9/ohttp"
    client = Client(place.url, MemoryLedger(), relay=away, retry=Retry(attempts=1))
    with client, pytest.raises(Unreachable, match=f"^{away}: no response"):
        client.terms("abc")
