"""A hostile server gets neither the client's memory nor its time."""

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from dither_client import AsyncClient, BadResponse, Client, MemoryLedger, Retry, Unreachable

ONCE = Retry(attempts=1)
Script = Callable[[socket.socket, threading.Event], None]


@contextmanager
def hostile(script: Script) -> Iterator[str]:
    """A server that reads each request's first bytes and then does what `script` says."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(65_536)
                    script(connection, stop)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join(5)


def endless(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while not stop.is_set():
        connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def declared(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n")
    while not stop.is_set():
        connection.sendall(b" " * 65_536)


def bomb(connection: socket.socket, stop: threading.Event) -> None:
    body = gzip.compress(b" " * 50_000_000)
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def dripping_body(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not stop.wait(0.05):
        connection.sendall(b" ")


def dripping_head(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-patience: ")
    while not stop.wait(0.05):
        connection.sendall(b"a")


async def terms_async(url: str, timeout: float) -> None:
    async with AsyncClient(url, MemoryLedger(), timeout=timeout, retry=ONCE) as client:
        await client.terms("c")


@pytest.mark.parametrize("script", [endless, declared, bomb])
def test_a_response_that_is_too_long_or_packed_is_not_read(script: Script) -> None:
    with hostile(script) as url:
        with (
            Client(url, MemoryLedger(), retry=ONCE) as client,
            pytest.raises(BadResponse, match=r"too long|compressed"),
        ):
            client.terms("c")
        with pytest.raises(BadResponse, match=r"too long|compressed"):
            asyncio.run(terms_async(url, 30))


@pytest.mark.parametrize("script", [dripping_body, dripping_head])
def test_a_response_that_never_ends_is_given_up(script: Script) -> None:
    """Each read is in time, the whole is not: four times the timeout."""
    with hostile(script) as url:
        for ask in (_ask, lambda url: asyncio.run(terms_async(url, 0.25))):
            began = time.monotonic()
            with pytest.raises(Unreachable):
                ask(url)
            assert time.monotonic() - began > 0.9


def _ask(url: str) -> None:
    with Client(url, MemoryLedger(), timeout=0.25, retry=ONCE) as client:
        client.terms("c")


def test_a_bound_is_not_met_by_what_an_honest_server_sends() -> None:
    def honest(connection: socket.socket, stop: threading.Event) -> None:
        body = b'{"detail": "' + b"x" * 900_000 + b'", "type": "urn:dither:not-found"}'
        connection.sendall(f"HTTP/1.1 404 Not Found\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)

    from dither_client import Problem

    with (
        hostile(honest) as url,
        Client(url, MemoryLedger(), retry=ONCE) as client,
        pytest.raises(Problem) as problem,
    ):
        client.terms("c")
    assert problem.value.name == "not-found"
