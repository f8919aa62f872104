"""A connection to a server through an Oblivious HTTP relay (RFC 9458), as a transport of httpx2.

Every request is encapsulated for the server's gateway and posted to the relay, and the server is never contacted. The
gateway's key configurations come from the relay too (RFC 9540 has a relay forward a GET): once, and again if the
gateway does not know the key. What the relay says itself is not the server's word, so none of it reaches a flow but
that it should be tried again.
"""

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

import httpx2

from dither_client.addresses import Address
from dither_client.errors import BadResponse
from dither_client.extras import require_extra
from dither_client.oblivious.binary_http import Request, read_response, write_request
from dither_client.oblivious.encapsulation import (
    KEYS_TYPE,
    PADDING,
    REPLY_TYPE,
    REQUEST_TYPE,
    Exchange,
    KeyConfiguration,
    encapsulate,
    read_configurations,
)
from dither_client.protocol.flow import Response
from dither_client.protocol.messages import parse_problem
from dither_client.transport.connecting import MAX_BODY, Body, options

__all__ = ["AsyncRelay", "Relay"]

_HEADERS = ("accept", "content-type")
"""The headers of a request that the server gets to see."""
_USER_AGENT = "dither"
"""The same for everybody: a version would tell people apart."""
_KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"
_MAX_BODY = MAX_BODY + (1 << 12)
"""The largest number of bytes in a relay's response: a whole one to a respondent, with its headers and its padding."""


class _Outer(NamedTuple):
    """A request to the relay: for the key configurations if it has no content."""

    content: bytes = b""

    @property
    def method(self) -> str:
        return "POST" if self.content else "GET"

    @property
    def headers(self) -> dict[str, str]:
        return {"content-type": REQUEST_TYPE, "accept": REPLY_TYPE} if self.content else {"accept": KEYS_TYPE}


class _Reply(NamedTuple):
    """What the relay sent in return."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def to_be_repeated(self) -> bool:
        return Response(*self).to_be_repeated

    @property
    def is_key_problem(self) -> bool:
        """Whether the gateway says that it does not know the key."""
        return self.status in (400, 422) and parse_problem(self.status, self.body).type == _KEY_PROBLEM


_Steps = Generator[_Outer, _Reply, httpx2.Response]


class _Encapsulating:
    """What both transports share: which requests go to the relay for one request to the server, without I/O."""

    def __init__(self, address: Address, timeout: float) -> None:
        require_extra("relay", "cryptography", "pyhpke")
        self._url = address.base
        self._options = options(address, timeout, {"user-agent": _USER_AGENT})
        self._configuration: KeyConfiguration | None = None

    def _steps(self, request: httpx2.Request) -> _Steps:
        """Sends the request, and once more if the gateway does not know the key. Raises `BadResponse`."""
        message = _message(request)
        for _ in range(2):
            configuration = self._configuration
            if configuration is None:
                reply = yield _Outer()
                if reply.to_be_repeated:
                    return _again(reply)
                configuration = self._configuration = _configuration(reply)
            try:
                content, exchange = encapsulate(configuration, message)
            except ValueError:
                raise BadResponse("the key configuration that the relay gave cannot be used") from None
            reply = yield _Outer(content)
            if reply.to_be_repeated:
                return _again(reply)
            if not reply.is_key_problem:
                return _opened(reply, exchange)
            self._configuration = None
        raise BadResponse("the server does not know the key that the relay gave: check both addresses, or try later")


class Relay(_Encapsulating, httpx2.BaseTransport):
    """The transport of a client whose server is behind the relay at this address.

    `transport` is the way to the relay. Raises `MissingExtra`.
    """

    def __init__(self, address: Address, timeout: float, transport: httpx2.BaseTransport | None = None) -> None:
        super().__init__(address, timeout)
        self._http = httpx2.Client(transport=transport, **self._options)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        steps = self._steps(request)
        try:
            outer = next(steps)
            while True:
                outer = steps.send(self._send(outer, request.extensions))
        except StopIteration as stop:
            response: httpx2.Response = stop.value
            return response

    def _send(self, outer: _Outer, extensions: Mapping[str, Any]) -> _Reply:
        with self._http.stream(
            outer.method, self._url, content=outer.content or None, headers=outer.headers, extensions=dict(extensions)
        ) as response:
            body = Body(response, _MAX_BODY)
            for part in response.iter_bytes():
                body.add(part)
        return _Reply(response.status_code, response.headers, body.whole())

    def close(self) -> None:
        self._http.close()


class AsyncRelay(_Encapsulating, httpx2.AsyncBaseTransport):
    """`Relay` for asyncio."""

    def __init__(self, address: Address, timeout: float, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        super().__init__(address, timeout)
        self._http = httpx2.AsyncClient(transport=transport, **self._options)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        steps = self._steps(request)
        try:
            outer = next(steps)
            while True:
                outer = steps.send(await self._send(outer, request.extensions))
        except StopIteration as stop:
            response: httpx2.Response = stop.value
            return response

    async def _send(self, outer: _Outer, extensions: Mapping[str, Any]) -> _Reply:
        async with self._http.stream(
            outer.method, self._url, content=outer.content or None, headers=outer.headers, extensions=dict(extensions)
        ) as response:
            body = Body(response, _MAX_BODY)
            async for part in response.aiter_bytes():
                body.add(part)
        return _Reply(response.status_code, response.headers, body.whole())

    async def aclose(self) -> None:
        await self._http.aclose()


def _message(request: httpx2.Request) -> bytes:
    """The binary HTTP message of a request to the server, with as few headers as it needs."""
    url = request.url
    headers = tuple((name, request.headers[name]) for name in _HEADERS if name in request.headers)
    path = url.raw_path.decode("ascii")
    authority = url.netloc.decode("ascii")
    return write_request(Request(request.method, url.scheme, authority, path, headers, request.content), PADDING)


def _configuration(reply: _Reply) -> KeyConfiguration:
    if reply.status != 200 or reply.media_type != KEYS_TYPE:
        raise BadResponse(f"the relay has no key configurations, but a reply with status {reply.status}: check its URL")
    try:
        return read_configurations(reply.body)
    except ValueError as error:
        raise BadResponse(f"the key configurations that the relay gave are refused: {error}") from None


def _opened(reply: _Reply, exchange: Exchange) -> httpx2.Response:
    """The server's response in a relay's reply."""
    if reply.status != 200 or reply.media_type != REPLY_TYPE:
        raise BadResponse(f"the relay sent no response of the server, but status {reply.status}: check its URL")
    try:
        response = read_response(exchange.open(reply.body))
    except ValueError as error:
        raise BadResponse(f"the response through the relay is refused: {error}") from None
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    return httpx2.Response(response.status, headers=headers, content=response.body)


def _again(reply: _Reply) -> httpx2.Response:
    """A response that says to try again, and nothing else that the relay said."""
    asked = reply.headers.get("retry-after")
    return httpx2.Response(503, headers={} if asked is None else {"retry-after": asked})
