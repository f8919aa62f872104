"""Clients that send without end, never send, never read, or come in thousands: others are served."""

import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest
from tests.server.conftest import ADMIN, SPEC
from tests.server.process import ServerProcess, running

from dither_server.bodies import MAX_BATCH_BODY
from dither_server.connections import HEAD_SECONDS, MAX_HEAD, STALL_SECONDS

SLACK = 10.0
"""Seconds by which a loaded machine may be late."""
SERVED_SECONDS = 15.0
"""How long another client may have to wait meanwhile."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all who misbehave."""
    with running(f"sqlite:///{tmp_path_factory.mktemp('clients') / 'test.sqlite'}") as server:
        yield server


def create(server: ServerProcess, **fields: object) -> str:
    """The id of a new collection."""
    reply = httpx2.post(f"{server.url}/v1/collections", json=SPEC | fields, headers=ADMIN, timeout=60)
    return str(reply.json()["id"])


def connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def check_others(server: ServerProcess) -> None:
    """Fails unless somebody else is served."""
    began = time.monotonic()
    assert httpx2.get(f"{server.url}/v1/collections", timeout=SERVED_SECONDS).status_code == 200
    assert time.monotonic() - began < SERVED_SECONDS


def closed_within(connection: socket.socket, seconds: float) -> bytes:
    """What comes until the connection is closed, which has to be in time."""
    received = b""
    connection.settimeout(seconds)
    while True:
        try:
            data = connection.recv(65_536)
        except ConnectionResetError:
            return received
        if not data:
            return received
        received += data


@pytest.mark.slow
def test_a_body_that_trickles_is_cut_off(server: ServerProcess) -> None:
    collection = create(server)
    with connect(server) as connection:
        head = f"POST /v1/collections/{collection}/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode())
        began = time.monotonic()
        stopped = threading.Event()
        sender = threading.Thread(target=_trickle, args=[connection, b" ", stopped])
        sender.start()
        check_others(server)
        reply = closed_within(connection, 10 + SLACK)
        stopped.set()
        sender.join()
        assert reply.startswith(b"HTTP/1.1 408 ")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["type"] == "urn:dither:body-too-slow"
        assert 9 < time.monotonic() - began < 10 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half a head"])
def test_a_head_that_does_not_come_is_not_waited_for(server: ServerProcess, begun: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(begun)
        stopped = threading.Event()
        sender = threading.Thread(target=_trickle, args=[connection, b"X-A: b\r\n" if begun else b"", stopped])
        sender.start()
        check_others(server)
        assert closed_within(connection, HEAD_SECONDS + SLACK) == b""
        stopped.set()
        sender.join()


@pytest.mark.parametrize("flood", [b"X-Flood: aaaaaaaaaaaaaaaaaaaaaaaa\r\n", b"a"], ids=["lines", "one line"])
def test_a_head_without_end_is_refused(server: ServerProcess, flood: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-First: ")
        sent = 0
        try:
            while sent < 100 * MAX_HEAD:
                connection.sendall(flood * 1_000)
                sent += 1_000 * len(flood)
        except OSError:
            pass
        assert sent < 100 * MAX_HEAD
    check_others(server)


@pytest.mark.slow
def test_a_client_that_stops_reading_is_let_go(server: ServerProcess) -> None:
    path = f"/v1/collections/{create(server, particles=20_000, visibility='public')}/posterior/particles"
    size = len(httpx2.get(server.url + path, timeout=60).content)
    assert size > 500_000
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", server.port))
        # More than the kernel takes for it.
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 30)
        time.sleep(1)
        check_others(server)
        time.sleep(STALL_SECONDS + 3)
        assert len(closed_within(connection, SLACK)) < 15 * size  # what the kernel had, and then the end
    check_others(server)


@pytest.mark.slow
def test_a_thousand_idle_connections_keep_nobody_out(server: ServerProcess) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1_500:
        pytest.skip(f"this process may open only {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1_500), hard))
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(1_000)]
        check_others(server)
        assert closed_within(idle[0], HEAD_SECONDS + SLACK) == b""
        assert closed_within(idle[-1], SLACK) == b""
    check_others(server)


def test_more_connections_than_there_is_room_for_are_told_to_come_again(sqlite_url: str) -> None:
    with running(sqlite_url, files=300) as server, ExitStack() as stack:
        replies = []
        for _ in range(150):
            connection = stack.enter_context(connect(server))
            connection.settimeout(0.02)
            try:
                replies.append(connection.recv(65_536))
            except TimeoutError:
                replies.append(b"")
        refused = [reply for reply in replies if reply]
        assert replies[0] == b""
        assert 20 < len(refused) < 80
        assert all(reply.startswith(b"HTTP/1.1 503 ") and b"retry-after: " in reply.lower() for reply in refused)
        stack.close()
        time.sleep(0.5)
        check_others(server)


def test_a_batch_over_the_limit_is_refused_and_stores_nothing(server: ServerProcess) -> None:
    collection = create(server)
    path = f"{server.url}/v1/collections/{collection}"
    ticket = httpx2.post(f"{path}/tickets", timeout=60).json()["ticket"]
    many = {"responses": [{"ticket": ticket, "answer": 1}] * 10_001}
    assert httpx2.post(f"{path}/responses/batch", json=many, timeout=60).status_code == 422
    with connect(server) as connection:
        head = f"POST /v1/collections/{collection}/responses/batch HTTP/1.1\r\nHost: x\r\n"
        connection.sendall(f"{head}Content-Length: {2 * MAX_BATCH_BODY}\r\n\r\n".encode())
        sender = threading.Thread(target=_send, args=[connection, 2 * MAX_BATCH_BODY])
        sender.start()
        assert closed_within(connection, 60).startswith(b"HTTP/1.1 413 ")
        sender.join()
    assert httpx2.get(path, timeout=60).json()["answers"] == 0


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
