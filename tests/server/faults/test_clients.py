"""Clients that send without end, never send, never read, or come in thousands: others are served."""

import json
import re
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from dither_server.access.limits import STREAMS_OF_ADDRESS
from dither_server.http import bodies
from dither_server.http.bodies import MAX_BATCH_BODY
from dither_server.http.connections import (
    HEAD_SECONDS,
    MAX_HEAD,
    MAX_PIPELINED,
    SPARE_CONNECTIONS,
    STALL_SECONDS,
)
from testing.patience import PATIENCE, until
from testing.repository import DOCS
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import UNHURRIED, ServerProcess, running

ESTABLISHED = "01"
PATIENCE_OF_HURRIED = 2
HURRIED = (
    "from dither_server.http import bodies, connections; "
    f"bodies._BODY_SECONDS = connections.HEAD_SECONDS = connections.STALL_SECONDS = {PATIENCE_OF_HURRIED}"
)
"""Lets the server wait for a client as few seconds as tell that it does wait."""


@pytest.fixture(scope="module")
def unhurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One that waits for them without end: whoever is served there is served though they have their places."""
    database = f"sqlite:///{tmp_path_factory.mktemp('unhurried') / 'test.sqlite'}"
    with running(database, before=UNHURRIED) as server:
        yield server


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One that soon loses its patience, for tests that wait until it does."""
    with running(f"sqlite:///{tmp_path_factory.mktemp('hurried') / 'test.sqlite'}", before=HURRIED) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all who misbehave."""
    with running(f"sqlite:///{tmp_path_factory.mktemp('clients') / 'test.sqlite'}") as server:
        yield server


def create(server: ServerProcess, **fields: object) -> str:
    """The id of a new collection."""
    reply = httpx2.post(f"{server.url}/v1/collections", json=SPEC | fields, headers=ADMIN, timeout=PATIENCE)
    return str(reply.json()["id"])


def connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def check_others(server: ServerProcess) -> None:
    """Fails unless somebody else is served."""
    assert httpx2.get(f"{server.url}/v1/collections", timeout=PATIENCE).status_code == 200


def until_closed(connection: socket.socket) -> bytes:
    """What comes until the connection is closed."""
    received = b""
    connection.settimeout(PATIENCE)
    while True:
        try:
            data = connection.recv(65_536)
        except ConnectionResetError:
            return received
        if not data:
            return received
        received += data


def test_the_server_waits_as_long_as_operators_are_told() -> None:
    assert (HEAD_SECONDS, bodies._BODY_SECONDS, STALL_SECONDS) == (10, 10, 30)
    told = (DOCS / "operators.md").read_text(encoding="utf-8")
    assert f"| a head's time | {HEAD_SECONDS} seconds from the connection or the previous reply |" in told
    assert f"| a body's time | {bodies._BODY_SECONDS} seconds |" in told
    assert f"| a reply that is not read | {STALL_SECONDS} seconds without a byte taken |" in told


def test_a_body_that_trickles_is_cut_off(hurried: ServerProcess) -> None:
    collection = create(hurried)
    with connect(hurried) as connection:
        head = f"POST /v1/collections/{collection}/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        began = time.monotonic()
        connection.sendall(head.encode())
        stopped = threading.Event()
        sender = threading.Thread(target=_trickle, args=[connection, b" ", stopped])
        sender.start()
        reply = until_closed(connection)
        stopped.set()
        sender.join()
        assert reply.startswith(b"HTTP/1.1 408 ")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["type"] == "urn:dither:body-too-slow"
        assert time.monotonic() - began > 0.9 * PATIENCE_OF_HURRIED


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half a head"])
def test_a_head_that_does_not_come_is_not_waited_for(hurried: ServerProcess, begun: bytes) -> None:
    with connect(hurried) as connection:
        connection.sendall(begun)
        stopped = threading.Event()
        sender = threading.Thread(target=_trickle, args=[connection, b"X-A: b\r\n" if begun else b"", stopped])
        sender.start()
        assert until_closed(connection) == b""
        stopped.set()
        sender.join()


def test_others_are_served_beside_those_who_never_finish(unhurried: ServerProcess) -> None:
    """A body and a head that trickle, a reply that is not read, and connections that say nothing."""
    collection = create(unhurried, particles=20_000, visibility="public")
    particles = f"GET /v1/collections/{collection}/posterior/particles HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 30
    body = f"POST /v1/collections/{collection}/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode()
    with ExitStack() as stack:
        for begun in (body, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", particles, *[b""] * 300):
            stack.enter_context(connect(unhurried)).sendall(begun)
        for _ in range(5):
            check_others(unhurried)


@pytest.mark.parametrize("flood", [b"X-Flood: aaaaaaaaaaaaaaaaaaaaaaaa\r\n", b"a"], ids=["lines", "one line"])
def test_a_head_without_end_is_refused(server: ServerProcess, flood: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-First: ")
        sent = 0
        try:
            while sent < 1_000 * MAX_HEAD:
                connection.sendall(flood * 1_000)
                sent += 1_000 * len(flood)
        except OSError:
            pass
        assert sent < 1_000 * MAX_HEAD
    check_others(server)


def test_a_client_that_stops_reading_is_let_go(hurried: ServerProcess) -> None:
    path = f"/v1/collections/{create(hurried, particles=20_000, visibility='public')}/posterior/particles"
    size = len(httpx2.get(hurried.url + path, timeout=PATIENCE).content)
    assert size > 500_000
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", hurried.port))
        # More than the kernel takes for it.
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 30)
        until(lambda: not _is_open(hurried, connection))  # and nothing was read
        assert len(until_closed(connection)) < 15 * size  # what the kernel had, and then the end
    check_others(hurried)


def test_a_thousand_idle_connections_keep_nobody_out(hurried: ServerProcess) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1_500:
        pytest.skip(f"this process may open only {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1_500), hard))
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(hurried)) for _ in range(1_000)]
        assert until_closed(idle[0]) == until_closed(idle[-1]) == b""
    check_others(hurried)


def full_room(server: ServerProcess, stack: ExitStack, more: int = 0) -> list[socket.socket]:
    """Silent connections, as many as a server that may open 300 files has room for, and some more."""
    return [stack.enter_context(connect(server)) for _ in range(100 + SPARE_CONNECTIONS + more)]


def test_more_connections_than_there_is_room_for_are_told_to_come_again(sqlite_url: str) -> None:
    with running(sqlite_url, files=300) as server, ExitStack() as stack:
        many = full_room(server, stack, more=30)
        # The spare ones that came first have to go for those that come last, and are told so before these are taken.
        until(lambda: len(_told(many)) >= 20)
        time.sleep(0.5)  # and those who should not have been
        refused = [connection.recv(65_536) for connection in _told(many)]
        assert many[0] not in _told(many)
        assert 20 <= len(refused) <= 40
        assert all(reply.startswith(b"HTTP/1.1 503 ") and b"retry-after: " in reply.lower() for reply in refused)
        stack.close()
        until(lambda: httpx2.get(f"{server.url}/v1/collections", timeout=PATIENCE).status_code == 200)


def test_health_is_answered_though_there_are_too_many_connections(sqlite_url: str) -> None:
    with running(sqlite_url, files=300) as server, ExitStack() as stack:
        full_room(server, stack, more=30)
        for _ in range(2 * SPARE_CONNECTIONS):  # each gives its place back
            assert httpx2.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200
        assert httpx2.get(f"{server.url}/readyz", timeout=PATIENCE).status_code == 200
        metrics = httpx2.get(f"{server.url}/metrics", headers=ADMIN, timeout=PATIENCE)
        assert metrics.status_code == 200
        assert metrics.headers["connection"] == "close"
        other = httpx2.get(f"{server.url}/v1/collections", timeout=PATIENCE)
        assert (other.status_code, other.headers["retry-after"]) == (503, "1")


def test_streams_of_one_address_leave_room_for_others(sqlite_url: str) -> None:
    with running(sqlite_url, files=400) as server, ExitStack() as stack:
        path = f"/v1/collections/{create(server, visibility='public')}/posterior/stream"
        begun = []
        for _ in range(STREAMS_OF_ADDRESS + 5):
            connection = stack.enter_context(connect(server))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            begun.append(connection.recv(200).split(b" ")[1])
        assert begun == [b"200"] * STREAMS_OF_ADDRESS + [b"429"] * 5
        assert httpx2.get(f"{server.url}/readyz", timeout=PATIENCE).status_code == 200
        check_others(server)
        stack.close()
        until(lambda: _stream_status(server, path) == b"200")  # a stream that nobody reads any more is over


def _stream_status(server: ServerProcess, path: str) -> bytes:
    with connect(server) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return connection.recv(200).split(b" ")[1]


def test_a_whole_head_that_is_too_long_is_refused(server: ServerProcess) -> None:
    """It comes at once, so nobody waits for more of it."""
    for head in (b"X-A: " + b"a" * (2 * MAX_HEAD), b"X-A: a\r\n" * (MAX_HEAD // 4)):
        with connect(server) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + head.rstrip() + b"\r\n\r\n")
            assert until_closed(connection).startswith(b"HTTP/1.1 431 ")
    with connect(server) as connection:
        connection.sendall(b"GET /healthz?" + b"a" * (2 * MAX_HEAD) + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 414 ")
    check_others(server)


def test_requests_that_wait_for_each_other_are_few(server: ServerProcess) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = request.replace(b"Host", b"Connection: close\r\nHost")
    for count, statuses in ((MAX_PIPELINED + 1, [b"200"] * (MAX_PIPELINED + 1)), (MAX_PIPELINED + 2, [])):
        with connect(server) as connection:
            connection.sendall(request * (count - 1) + last)
            assert re.findall(rb"HTTP/1.1 (\d+)", until_closed(connection)) == statuses
    check_others(server)


@pytest.mark.parametrize("more", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * (MAX_PIPELINED + 2), b"nonsense\r\n"])
def test_a_reply_is_not_followed_by_a_refusal_that_reads_as_a_part_of_it(server: ServerProcess, more: bytes) -> None:
    """The connection is closed instead, for which the client alone is to blame."""
    path = f"/v1/collections/{create(server, particles=200_000, visibility='public')}/posterior/particles"
    with connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        begun = connection.recv(1_000)
        connection.sendall(more)
        received = begun + until_closed(connection)
    assert received.count(b"HTTP/1.1") == 1
    assert not received.endswith(b"0\r\n\r\n")
    check_others(server)
    assert "request failed" not in server.stderr


def test_a_bad_request_is_not_taken_for_the_reply_to_the_one_before_it(server: ServerProcess) -> None:
    good = (
        f"POST /v1/collections/{create(server)}/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    )
    for bad in (
        b"nonsense\r\n",
        b"GET /" + b"a" * MAX_HEAD + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b" * MAX_HEAD,
    ):
        with connect(server) as connection:
            with suppress(OSError):  # it may be closed before all is sent
                connection.sendall(good + bad)
            assert until_closed(connection) == b""
    assert "request failed" not in server.stderr


def test_a_body_in_crumbs_is_not_taken(server: ServerProcess) -> None:
    head = f"POST /v1/collections/{create(server)}/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(head.encode() + b"1\r\n \r\n" * 10_000 + b"0\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    with connect(server) as connection:  # a client that writes its body line by line is understood
        connection.sendall(head.encode() + b"1\r\n \r\n" * 200 + b"0\r\n\r\n")
        received = b""
        while not received.endswith(b"}"):
            received += connection.recv(65_536)
        assert b"malformed-json" in received
    check_others(server)


def test_a_batch_over_the_limit_is_refused_and_stores_nothing(server: ServerProcess) -> None:
    collection = create(server)
    path = f"{server.url}/v1/collections/{collection}"
    ticket = httpx2.post(f"{path}/tickets", timeout=PATIENCE).json()["ticket"]
    many = {"responses": [{"ticket": ticket, "answer": 1}] * 10_001}
    assert httpx2.post(f"{path}/responses/batch", json=many, headers=ADMIN, timeout=PATIENCE).status_code == 422
    assert httpx2.post(f"{path}/responses/batch", json=many, timeout=PATIENCE).status_code == 413
    with connect(server) as connection:
        token = ADMIN["Authorization"]
        head = f"POST /v1/collections/{collection}/responses/batch HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
        connection.sendall(f"{head}Content-Length: {2 * MAX_BATCH_BODY}\r\n\r\n".encode())
        sender = threading.Thread(target=_send, args=[connection, 2 * MAX_BATCH_BODY])
        sender.start()
        assert until_closed(connection).startswith(b"HTTP/1.1 413 ")
        sender.join()
    assert httpx2.get(path, headers=ADMIN, timeout=PATIENCE).json()["answers"] == 0


def _told(connections: Sequence[socket.socket]) -> Sequence[socket.socket]:
    """Those to which something has come."""
    return select.select(connections, [], [], 0)[0]


def _is_open(server: ServerProcess, connection: socket.socket) -> bool:
    """Whether the server has its end of the connection, as Linux knows it; ours is open until we have read."""
    ends = [f"0100007F:{port:04X}" for port in (server.port, connection.getsockname()[1])]
    sockets = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()]
    return [*ends, ESTABLISHED] in sockets


def _send(connection: socket.socket, size: int) -> None:
    try:
        for _ in range(size // 65_536):
            connection.sendall(b" " * 65_536)
    except OSError:
        pass


def _trickle(connection: socket.socket, data: bytes, stopped: threading.Event) -> None:
    while not stopped.wait(0.3):
        try:
            connection.sendall(data)
        except OSError:
            return
