"""Calls of a running server as an admin."""

import ssl
from typing import Any

import httpx2

from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN

__all__ = ["call"]

_NO_AUTHORITY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no certificate: the servers here are asked without TLS, and to read the usual ones takes 20 ms a call."""


def call(method: str, url: str, **content: Any) -> Any:
    """The JSON of the reply, once the collection's estimator is ready."""
    replies: list[httpx2.Response] = []

    def ready() -> bool:
        replies.append(httpx2.request(method, url, headers=ADMIN, timeout=PATIENCE, verify=_NO_AUTHORITY, **content))
        return replies[-1].status_code != httpx2.codes.SERVICE_UNAVAILABLE

    until(ready, lambda: replies[-1].text)
    assert replies[-1].status_code < 300, replies[-1].text
    return replies[-1].json()
