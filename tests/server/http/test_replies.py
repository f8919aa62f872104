"""Whole replies: in one piece on a connection of uvicorn, and the same bytes as uvicorn's own two."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from dither_client import Admin
from dither_server.http.replies import SAFE_HEADERS, Header, json_reply, send_reply
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN_TOKEN, SPEC
from testing.servers.process import ForkedServer, forked

REPLY = json_reply('{"größe":1}', 201)
MORE: list[Header] = [(b"x-request-id", b"0123")]
REQUEST = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n%b\r\n{}"


class Recorder(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


def exchanged(reply: Any, requests: bytes, paused: bool = False) -> tuple[list[bytes], bool]:
    """What a connection of uvicorn writes if each request is answered with `reply`, and whether it then closes."""

    connections: list[HttpToolsProtocol] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if paused:
            connections[0].pause_writing()
            asyncio.get_running_loop().call_soon(connections[0].resume_writing)
        await send_reply(send, reply, MORE)

    async def exchange() -> tuple[list[bytes], bool]:
        config = Config(app, log_config=None, access_log=False, server_header=False, lifespan="off")
        config.load()
        state, transport = ServerState(), Recorder()
        connection = HttpToolsProtocol(config, state, {})
        connection.connection_made(transport)
        connections.append(connection)
        connection.data_received(requests)
        while state.tasks:
            await asyncio.wait(list(state.tasks))
        connection.connection_lost(None)
        return transport.written, transport.closed

    return asyncio.run(exchange())


def test_a_reply_leaves_in_one_piece_and_is_what_uvicorn_would_write() -> None:
    written, _ = exchanged(REPLY, REQUEST % b"")
    assert len(written) == 1
    as_uvicorn, _ = exchanged(Response(REPLY.body, 201, media_type="application/json"), REQUEST % b"")
    assert len(as_uvicorn) == 2
    assert sorted(written[0].split(b"\r\n")) == sorted(b"".join(as_uvicorn).split(b"\r\n"))
    head, _, body = written[0].partition(b"\r\n\r\n")
    assert {b"%b: %b" % header for header in SAFE_HEADERS + MORE} <= set(head.split(b"\r\n"))
    assert json.loads(body) == {"größe": 1}


def test_pipelined_requests_are_answered_one_after_the_other() -> None:
    written, _ = exchanged(REPLY, 3 * (REQUEST % b""))
    assert len(written) == 3


def test_a_connection_that_is_not_kept_is_closed_after_the_reply() -> None:
    written, closed = exchanged(REPLY, REQUEST % b"connection: close\r\n")
    assert closed
    assert b"connection: close\r\n" in b"".join(written)


def test_a_reply_waits_for_a_reader_who_is_behind() -> None:
    written, _ = exchanged(REPLY, REQUEST % b"", paused=True)
    assert len(written) == 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('replies') / 'test.sqlite'}") as [server]:
        yield server


def test_requests_that_are_sent_together_get_their_replies_in_order(server: ForkedServer) -> None:
    with Admin(server.url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
    head = "POST /v1/collections/{} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{}"
    asked = [(f"{collection}/tickets", '{"count":1}'), ("none/tickets", "{}"), (f"{collection}/tickets", "{}")]
    requests = [head.format(path, len(body), body) for path, body in asked]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall("".join(requests).encode())
        received = b""
        while len(statuses := re.findall(rb"HTTP/1.1 (\d+)", received)) < 3 or not received.endswith(b"}"):
            received += connection.recv(65_536)
    assert statuses == [b"201", b"404", b"201"]
    assert len(re.findall(rb"x-request-id: [0-9a-f]{16}\r\n", received)) == 3
