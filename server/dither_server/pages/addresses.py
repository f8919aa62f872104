"""The addresses that pages show, of this server as its operator or else the request calls it."""

from fastapi import Request

from dither_server.errors import InvalidBody
from dither_server.service.service import Service

__all__ = ["shown_address"]

_LONGEST_HOST = 253
"""The longest name that a host can have (RFC 1035)."""


def shown_address(request: Request, service: Service, path: str) -> str:
    """The address of `path`, which begins with a slash. Raises `InvalidBody` if the request names no possible host."""
    if service.public_url:
        return service.public_url + path
    if len(request.base_url.hostname or "") > _LONGEST_HOST:
        raise InvalidBody(f"Host: The name of a host has at most {_LONGEST_HOST} characters.")
    return str(request.base_url).rstrip("/") + path
