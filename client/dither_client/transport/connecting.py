"""How the clients' HTTP connections are set up, and how much of a response they read.

The size of a response is bounded, so a hostile server cannot exhaust memory. A compressed response is refused, since a
few bytes could expand to very many.
"""

import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from dither_client.addresses import Address
from dither_client.errors import BadResponse
from dither_client.transport.waiting import CONNECT

__all__ = ["MAX_BODY", "Body", "options"]

MAX_BODY = 1 << 20
"""The largest number of bytes in a response to a respondent."""


class Body:
    """Collects a response's body. Raises `BadResponse` if it is compressed or grows too long."""

    def __init__(self, response: httpx2.Response, limit: int) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise BadResponse("the server's response is compressed, which the client did not ask for")
        self._parts: list[bytes] = []
        self._room = limit

    def add(self, part: bytes) -> None:
        self._room -= len(part)
        if self._room < 0:
            raise BadResponse("the server's response is too long")
        self._parts.append(part)

    def whole(self) -> bytes:
        return b"".join(self._parts)


def options(address: Address, timeout: float, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The arguments for httpx2's clients. A server on this machine is not behind the environment's proxy."""
    plain = address.base.startswith("http:")  # and without a proxy, since it is on this machine
    return {
        # Without TLS no certificate is looked at, and to read those of all authorities takes 20 ms: none is trusted.
        "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
        "timeout": httpx2.Timeout(timeout, connect=min(timeout, CONNECT)),
        "headers": {**(headers or {}), "accept-encoding": "identity"},
        "trust_env": not address.loopback,
        "follow_redirects": False,
        # No cookie is kept, so none is sent: a cookie would link a person's answers to several collections.
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }
