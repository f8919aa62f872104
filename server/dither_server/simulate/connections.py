"""Persistent HTTP/1.1 connections to one server, fast enough to load it: asyncio's protocol and httptools' parser.

General HTTP clients take longer for a request than the server.
"""

import asyncio
from typing import cast
from urllib.parse import urlsplit

import httptools

from dither_client.addresses import Address
from dither_client.protocol.flow import ConnectionFailed, Response, Send

__all__ = ["Connections"]

_TIMEOUT = 60.0


class Connections:
    """A pool with one connection for each concurrent request. For use in one event loop."""

    def __init__(self, address: Address) -> None:
        parts = urlsplit(address.base)
        self._host = parts.hostname or ""
        self._tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._path = parts.path
        self._host_line = f"host: {parts.netloc}\r\n"
        self._idle: list[_Connection] = []
        self.requests = 0

    async def request(self, send: Send) -> Response | ConnectionFailed:
        """Sends a request once, and returns the response."""
        self.requests += 1
        try:
            connection = self._take() or await self._connect()
        except OSError as error:
            return ConnectionFailed(type(error).__name__)
        reply = await connection.exchange(self._head(send) + send.body)
        if connection.usable:
            self._idle.append(connection)
        return reply

    def close(self) -> None:
        """Closes every idle connection."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: _Connection(loop), self._host, self._port, ssl=self._tls or None
        )
        return connection

    def _head(self, send: Send) -> bytes:
        headers = "".join(f"{name}: {value}\r\n" for name, value in send.headers.items())
        return (
            f"{send.method} {self._path}{send.path} HTTP/1.1\r\n{self._host_line}{headers}"
            f"content-length: {len(send.body)}\r\n\r\n"
        ).encode("ascii")


class _Connection(asyncio.Protocol):
    """A connection that carries one request at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._reply: asyncio.Future[Response | ConnectionFailed] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self.usable = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class does not derive from asyncio's
        self.usable = True

    async def exchange(self, request: bytes) -> Response | ConnectionFailed:
        """Sends a request and waits for its response."""
        self._reply = self._loop.create_future()
        timer = self._loop.call_later(_TIMEOUT, self._fail, "timeout")
        self._transport.write(request)
        try:
            return await self._reply
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        self.usable = False
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail("not HTTP")

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("closed")

    def _fail(self, reason: str) -> None:
        self.close()
        self._settle(ConnectionFailed(reason))

    def _settle(self, reply: Response | ConnectionFailed) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(reply)

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        self._headers = {}
        self._body = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if not self._parser.should_keep_alive():
            self.close()
        self._settle(Response(self._parser.get_status_code(), self._headers, b"".join(self._body)))
