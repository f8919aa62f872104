"""Drive a flow over HTTP with httpx2: make its requests, wait when it says so, return its result."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx2

from dither_client.addresses import Address
from dither_client.flow import ConnectionFailed, Finished, Flow, Response, Send, Sleep, advance

__all__ = ["AsyncDriver", "Driver"]

_T = TypeVar("_T")


class Driver:
    """One connection pool to one server; `headers` go with every request."""

    def __init__(
        self,
        address: Address,
        timeout: float,
        transport: httpx2.BaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._base = address.base
        self._http = httpx2.Client(transport=transport, **_options(address, timeout, headers))

    def run(self, flow: Flow[_T]) -> _T:
        """The flow's result, or whatever it raises."""
        step = advance(flow, None)
        while not isinstance(step, Finished):
            reply: Response | ConnectionFailed | None = None
            if isinstance(step, Sleep):
                time.sleep(step.seconds)
            else:
                reply = self._send(step)
            step = advance(flow, reply)
        return step.value

    def _send(self, send: Send) -> Response | ConnectionFailed:
        try:
            response = self._http.request(
                send.method, self._base + send.path, content=send.body or None, headers=dict(send.headers)
            )
        except httpx2.RequestError as error:
            return ConnectionFailed(type(error).__name__)
        return Response(response.status_code, response.headers, response.content)

    def close(self) -> None:
        self._http.close()


class AsyncDriver:
    """`Driver` for asyncio. A flow's own steps run in a thread, so that its ledger never blocks the event loop."""

    def __init__(
        self,
        address: Address,
        timeout: float,
        transport: httpx2.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._base = address.base
        self._http = httpx2.AsyncClient(transport=transport, **_options(address, timeout, headers))

    async def run(self, flow: Flow[_T]) -> _T:
        """The flow's result, or whatever it raises."""
        step = await asyncio.to_thread(advance, flow, None)
        while not isinstance(step, Finished):
            reply: Response | ConnectionFailed | None = None
            if isinstance(step, Sleep):
                await asyncio.sleep(step.seconds)
            else:
                reply = await self._send(step)
            step = await asyncio.to_thread(advance, flow, reply)
        return step.value

    async def _send(self, send: Send) -> Response | ConnectionFailed:
        try:
            response = await self._http.request(
                send.method, self._base + send.path, content=send.body or None, headers=dict(send.headers)
            )
        except httpx2.RequestError as error:
            return ConnectionFailed(type(error).__name__)
        return Response(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        await self._http.aclose()


def _options(address: Address, timeout: float, headers: Mapping[str, str] | None) -> dict[str, Any]:
    """What httpx2 clients are made with. A server on this machine is not behind the environment's proxy."""
    return {"timeout": timeout, "headers": headers, "trust_env": not address.loopback, "follow_redirects": False}
