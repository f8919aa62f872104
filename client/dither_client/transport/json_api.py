"""A client of the server's JSON API for holders of a token."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import httpx2

from dither_client.addresses import parse_address
from dither_client.errors import BadResponse, InvalidAddress, Unreachable
from dither_client.protocol.flow import ConnectionFailed, Retry, Send, exchange
from dither_client.protocol.messages import parse_problem
from dither_client.protocol.respondent import JSON_HEADERS
from dither_client.strict_json import decode_json
from dither_client.transport.drivers import Driver
from dither_client.transport.server_sent_events import follow

__all__ = ["COLLECTIONS_PER_PAGE", "Api"]

COLLECTIONS_PER_PAGE = 1_000
"""The most that a server sends."""

_TIMEOUT = 60.0
_MAX_PROBLEM = 1 << 16
_MAX_BODY = 256 << 20
"""The largest number of bytes in a response: a million particles take 60 MB."""


class Api:
    """Calls the server at `url` as the holder of `token`. Raises `InvalidAddress`; every call raises `ServerError`."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {"authorization": f"Bearer {_check_token(token)}"} if token else None
        self._driver = Driver(parse_address(url), _TIMEOUT, transport, headers, _MAX_BODY)
        self._retry = retry or Retry()

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, exact: bool = False) -> dict[str, Any]:
        """Fetches the JSON object at `path`; its numbers are `Decimal`s if `exact`, otherwise floats."""
        return _object(self._call("GET", path, b"", self._retry), exact)

    def pages(self, path: str, asked: Mapping[str, Any], exact: bool = False) -> Iterator[dict[str, Any]]:
        """The JSON object of each page of a list at `path`, up to the one without a `next`; `asked` are parameters."""
        following = None
        while True:
            window = urlencode({**asked, **({} if following is None else {"after": following})})
            data = self.get(f"{path}?{window}" if window else path, exact)
            yield data
            following = data.get("next")
            if following is None:
                return

    def page(self, path: str) -> bytes:
        """Fetches the page at `path`."""
        return self._call("GET", path, b"", self._retry)

    def follow(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The type and the JSON object of each server-sent event at `path`, endlessly; reconnects when needed."""
        for event in follow(self._driver, path, self._retry):
            yield event.type, _object(event.data)

    def post(self, path: str, body: bytes) -> dict[str, Any]:
        """Posts `body` and returns the JSON object in reply. It never repeats, since a repeat could create twice."""
        return _object(self._call("POST", path, body, Retry(attempts=1)))

    def patch(self, path: str, change: Mapping[str, Any]) -> dict[str, Any]:
        """Makes a change, which may be sent repeatedly, and returns the JSON object in reply."""
        return _object(self._call("PATCH", path, json.dumps(change).encode(), self._retry))

    def delete(self, path: str) -> dict[str, Any]:
        """Deletes the resource at `path` and returns the JSON object in reply, which is empty if there is none."""
        return _object(self._call("DELETE", path, b"", Retry(attempts=1)) or b"{}")

    def download(self, path: str) -> Iterator[bytes]:
        """The pieces of the file at `path`, of any length, as they come. It is asked for once."""
        try:
            with self._driver.opened(Send("GET", path, b"", {"accept": "*/*"})) as response:
                if response.status_code != 200:
                    raise parse_problem(response.status_code, next(response.iter_raw(_MAX_PROBLEM), b""))
                yield from response.iter_raw()
        except ConnectionFailed:
            raise Unreachable("the connection to the server broke: try again") from None

    def close(self) -> None:
        self._driver.close()

    def _call(self, method: str, path: str, body: bytes, retry: Retry) -> bytes:
        response = self._driver.run(exchange(Send(method, path, body, JSON_HEADERS), retry))
        if not 200 <= response.status < 300:
            raise parse_problem(response.status, response.body)
        return response.body


def _object(body: bytes, exact: bool = False) -> dict[str, Any]:
    data = decode_json(body, exact)
    if not isinstance(data, dict):
        raise BadResponse("the server's response is not a JSON object")
    return data


def _check_token(token: str) -> str:
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidAddress("a token may contain only printable ASCII characters, no blanks")
    return token
