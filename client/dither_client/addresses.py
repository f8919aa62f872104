"""Whom the client may contact: https, or http on this very machine."""

import re
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2

from dither_client.errors import InvalidAddress

__all__ = ["Address", "collection_path", "parse_address"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Address:
    """A server. `base` is what paths are appended to, `origin` what the ledger knows it by."""

    origin: str
    base: str
    loopback: bool


def parse_address(url: str) -> Address:
    """Reads `https://HOST[:PORT][/PATH]`; `http` is for a loopback host alone. Raises `InvalidAddress`."""
    try:
        parsed = httpx2.URL(url)
        host, port = parsed.host, parsed.port
    except (httpx2.InvalidURL, TypeError, ValueError):
        parsed, host, port = httpx2.URL(""), "", None
    proper = re.fullmatch(r"[^\s%/@]+", host) and (port is None or 0 < port < 65_536)
    if parsed.scheme not in ("http", "https") or not proper or parsed.userinfo or parsed.query or parsed.fragment:
        raise InvalidAddress("the server's URL must be of the form https://HOST[:PORT][/PATH]")
    loopback = _is_loopback(host)
    if parsed.scheme == "http" and not loopback:
        raise InvalidAddress("the server's URL must begin with https; http is for a server on this machine alone")
    origin = f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"
    return Address(origin, origin + parsed.raw_path.decode("ascii").rstrip("/"), loopback)


def collection_path(collection: str, *rest: str) -> str:
    """The path of a collection, or of what is below it. Raises `InvalidAddress` for what cannot be an id."""
    if not isinstance(collection, str) or not _ID.fullmatch(collection):
        raise InvalidAddress("a collection's id has only letters, digits, - and _")
    return "/".join(("/v1/collections", collection, *rest))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
