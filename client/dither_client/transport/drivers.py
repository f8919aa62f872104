"""Drive a flow over HTTP with httpx2: make its requests, wait when it says so, return its result.

The size and the time of a response are bounded, so a hostile server cannot exhaust memory or hold the client.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

import httpx2

from dither_client.addresses import Address
from dither_client.errors import Unreachable
from dither_client.protocol.flow import ConnectionFailed, Finished, Flow, Response, Send, Sleep, advance
from dither_client.transport.connecting import MAX_BODY, Body, options
from dither_client.transport.deadline import Cutter
from dither_client.transport.waiting import Wait

__all__ = ["AsyncDriver", "Driver"]

_T = TypeVar("_T")

_READS_PER_RESPONSE = 4
"""A whole response may take this many times the timeout of a single read."""


class Driver:
    """A connection pool to one server, whose address is `server`; `headers` are sent with every request.

    `contacted` is the address that whoever waits is told, where `transport` goes through another host than the server.
    """

    def __init__(
        self,
        address: Address,
        timeout: float,
        transport: httpx2.BaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
        max_body: int = MAX_BODY,
        contacted: str | None = None,
    ) -> None:
        self.server = address.base
        self._contacted = contacted or self.server
        self._seconds = _READS_PER_RESPONSE * timeout
        self._max_body = max_body
        self._cutter = Cutter()
        self._http = httpx2.Client(transport=transport, **options(address, timeout, headers))

    def run(self, flow: Flow[_T]) -> _T:
        """The flow's result, or whatever it raises; `Unreachable` names the server, or the relay before it."""
        wait = Wait(self._contacted)
        try:
            step = advance(flow, None)
            while not isinstance(step, Finished):
                reply: Response | ConnectionFailed | None = None
                if isinstance(step, Sleep):
                    wait.check(step)
                    time.sleep(step.seconds)
                else:
                    wait.begin()
                    reply = self._send(step)
                    wait.note(reply)
                step = advance(flow, reply)
            return step.value
        except Unreachable as error:
            error.args = (f"{self._contacted}: {error}",)
            raise
        finally:
            wait.end()
            flow.close()  # it may hold a value, and an error report may include this frame

    def _send(self, send: Send) -> Response | ConnectionFailed:
        content, headers, trace = send.body or None, dict(send.headers), {"trace": self._cutter.note}
        try:
            with (
                self._cutter.after(self._seconds),
                self._http.stream(
                    send.method, self.server + send.path, content=content, headers=headers, extensions=trace
                ) as response,
            ):
                body = Body(response, self._max_body)
                for part in response.iter_bytes():
                    body.add(part)
        except httpx2.RequestError as error:
            return ConnectionFailed(type(error).__name__)
        return Response(response.status_code, response.headers, body.whole())

    @contextmanager
    def opened(self, send: Send) -> Iterator[httpx2.Response]:
        """The response as soon as its headers have arrived, for a body without an end. Raises `ConnectionFailed`."""
        try:
            with self._http.stream(send.method, self.server + send.path, headers=dict(send.headers)) as response:
                yield response
        except httpx2.RequestError as error:
            raise ConnectionFailed(type(error).__name__) from None

    def close(self) -> None:
        self._http.close()


class AsyncDriver:
    """`Driver` for asyncio. A flow's own steps run in a thread, so that its ledger never blocks the event loop."""

    def __init__(
        self,
        address: Address,
        timeout: float,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._base = address.base
        self._seconds = _READS_PER_RESPONSE * timeout
        self._http = httpx2.AsyncClient(transport=transport, **options(address, timeout))

    async def run(self, flow: Flow[_T]) -> _T:
        """The flow's result, or whatever it raises."""
        try:
            step = await asyncio.to_thread(advance, flow, None)
            while not isinstance(step, Finished):
                reply: Response | ConnectionFailed | None = None
                if isinstance(step, Sleep):
                    await asyncio.sleep(step.seconds)
                else:
                    reply = await self._send(step)
                step = await asyncio.to_thread(advance, flow, reply)
            return step.value
        finally:
            with suppress(ValueError):  # a cancelled call's thread may still run the flow, and will end its step
                flow.close()

    async def _send(self, send: Send) -> Response | ConnectionFailed:
        content, headers = send.body or None, dict(send.headers)
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._http.stream(send.method, self._base + send.path, content=content, headers=headers) as response,
            ):
                body = Body(response, MAX_BODY)
                async for part in response.aiter_bytes():
                    body.add(part)
        except (httpx2.RequestError, TimeoutError) as error:
            return ConnectionFailed(type(error).__name__)
        return Response(response.status_code, response.headers, body.whole())

    async def close(self) -> None:
        await self._http.aclose()
