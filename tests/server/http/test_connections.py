"""What one connection may send: the size of heads, and of what is around a body. Towards a real server."""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from dither_client import Admin
from dither_server.http.connections import MAX_ADDRESS, MAX_HEAD, MAX_HEADERS, MAX_SEMICOLONS
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN_TOKEN, SPEC
from testing.servers.process import ForkedServer, forked


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedServer]:
    """A real one: heads are bounded where its connections are read."""
    with forked(f"sqlite:///{tmp_path_factory.mktemp('heads') / 'test.sqlite'}") as [server]:
        yield server


def address(size: int, begin: str = "/v1/collections/") -> str:
    """One of so many bytes."""
    return begin + "a" * (size - len(begin))


def cookies(count: int, size: int = 3) -> str:
    """A header of so many cookies, of so many bytes each with what parts them."""
    return "cookie: " + "; ".join(f"a={'b' * (size - 4)}" for _ in range(count))


def many(count: int) -> list[str]:
    return [f"x{i}: a" for i in range(count)]


def ask(server: ForkedServer, target: str = "/v1/collections", headers: list[str] | None = None) -> bytes:
    """The whole reply to a request, which closes the connection."""
    lines = [f"GET {target} HTTP/1.1", "host: localhost", "connection: close", *(headers or []), "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return received(connection)


def received(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    reply = b""
    while more := connection.recv(65_536):
        reply += more
    return reply


TOO_MUCH: dict[str, tuple[str, list[str]]] = {
    "path": (address(MAX_ADDRESS + 1), []),
    "query": (address(MAX_ADDRESS + 1, "/v1/collections?"), []),
    "path of 15 kB": (address(15_000), []),
    "headers": ("/", many(MAX_HEADERS - 1)),
    "cookies": ("/", [cookies(MAX_SEMICOLONS + 2)]),
    "cookies in two headers": ("/", [cookies(MAX_SEMICOLONS // 2 + 2)] * 2),
    "one header": ("/", ["x: " + "a" * MAX_HEAD]),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_head_of_too_much_is_refused_before_the_application_sees_it(server: ForkedServer, what: str) -> None:
    head, _, body = ask(server, *TOO_MUCH[what]).partition(b"\r\n\r\n")
    status, name = (414, "address-too-long") if what in ("path", "query", "path of 15 kB") else (431, "head-too-large")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    fields = head.lower().split(b"\r\n")
    assert {b"content-type: application/problem+json", b"connection: close", b"cache-control: no-store"} <= set(fields)
    assert b"x-request-id" not in head.lower()  # which the application gives to whatever comes to it
    document = json.loads(body)
    assert (document["type"], document["status"]) == (f"urn:dither:{name}", status)


def test_an_address_too_long_is_refused_before_the_rest_of_it_comes(server: ForkedServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(f"GET {address(MAX_ADDRESS - 10)}".encode())
        connection.sendall(b"a" * 20)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 414 ")


BROWSER = [
    "user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7",
    "accept-language: de-CH,de;q=0.9,en-US;q=0.8,en;q=0.7,fr;q=0.6",
    "accept-encoding: gzip, deflate, br, zstd",
    'sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"',
    *(f"sec-fetch-{name}: document" for name in ("dest", "mode", "site", "user")),
    "referer: https://example.org/" + "a" * 1_000,
]
PROXIES = [
    "x-forwarded-for: " + ", ".join(["2001:db8:1234:5678:9abc:def0:1234:5678"] * 5),
    "forwarded: " + ", ".join(['for="[2001:db8::1]:4711";by=203.0.113.43;host=example.org;proto=https'] * 5),
    "via: " + ", ".join(["1.1 varnish, 2 edge.example.net (squid/6.1)"] * 5),
    "x-amzn-trace-id: Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1",
    *(f"cf-{name}: {'a' * 60}" for name in ("ray", "visitor", "connecting-ip", "ipcountry", "ew-via", "warp-tag-id")),
    *(f"x-{name}: {'b' * 100}" for name in ("request-id", "real-ip", "envoy-attempt", "b3-traceid", "b3-spanid")),
]
ORDINARY = {
    "bounds": (address(MAX_ADDRESS), many(MAX_HEADERS - 2)),
    "browser": ("/v1/collections", [*BROWSER, cookies(180, 60)]),
    "proxies": ("/v1/collections", [*BROWSER, *PROXIES, cookies(100, 60)]),
    "one large cookie": ("/v1/collections", [*BROWSER, *PROXIES, "cookie: session=" + "c" * 8_000]),
}


@pytest.mark.parametrize("what", ORDINARY)
def test_browsers_with_many_cookies_and_chains_of_proxies_are_answered(server: ForkedServer, what: str) -> None:
    expected = b"404" if what == "bounds" else b"200"
    assert ask(server, *ORDINARY[what]).startswith(b"HTTP/1.1 " + expected)


CHUNKED = (
    b"POST /v1/collections/%s/responses/batch HTTP/1.1\r\n"
    b"host: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
ENDLESS = {
    "trailer": (b"2\r\n{}\r\n0\r\nx: ", b"a" * 65_536),
    "trailers": (b"2\r\n{}\r\n0\r\n", b"x: " + b"a" * 65_000 + b"\r\n"),
    "chunk's extension": (b"2;", b"a" * 65_536),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_is_around_a_body_is_bounded(server: ForkedServer, what: str) -> None:
    begin, piece = ENDLESS[what]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(CHUNKED % b"aaaaaaaaaa" + begin)
        with pytest.raises(ConnectionError):  # some megabytes are in the sockets' buffers
            connection.sendall(512 * piece)


def test_a_body_in_many_small_chunks_is_read(server: ForkedServer) -> None:
    with Admin(server.url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(CHUNKED % collection.encode())
        for _ in range(400):
            connection.sendall(b"258\r\n" + b"a" * 600 + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert b"malformed-json" in received(connection)


def test_a_body_that_comes_after_its_head_is_read(server: ForkedServer) -> None:
    with Admin(server.url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        for part in (CHUNKED % collection.encode(), b"2\r\n{", b"}\r\n0\r\n\r\n"):
            connection.sendall(part)
            time.sleep(0.05)
        assert b"responses: Field required" in received(connection)


def test_replies_with_and_without_a_body_keep_their_order(server: ForkedServer) -> None:
    asked = ["HEAD /v1/collections", "GET /healthz", "HEAD /healthz", "GET /v1/nothing", "GET /healthz"]
    heads = [f"{line} HTTP/1.1\r\nhost: localhost\r\n" for line in asked]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*heads[:-1], f"{heads[-1]}connection: close\r\n\r\n"]).encode())
        reply = received(connection)
    statuses = [int(part[:3]) for part in reply.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [405, 200, 405, 404, 200]
