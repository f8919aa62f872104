"""Addresses of servers, which must be https, or http on this machine, and the paths of their collections."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

import httpx2

from dither_client.errors import InvalidAddress

__all__ = ["Address", "collection_path", "origin_of", "parse_address"]

_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address. `base` identifies the server in the ledger and precedes every path; `origin` has no path."""

    origin: str
    base: str
    loopback: bool


def parse_address(url: str) -> Address:
    """Reads `https://HOST[:PORT][/PATH]`; `http` is allowed for a loopback host only. Raises `InvalidAddress`.

    Every spelling of a server's address gives the same result: the host is in lower case and ASCII without a final dot,
    an IP address is in its shortest form, the scheme's default port is left out, and the path has no final slash.
    """
    try:
        parsed = httpx2.URL(url)
        host, port = _spelt(parsed.raw_host.decode("ascii")), parsed.port
    except (httpx2.InvalidURL, TypeError, ValueError):
        parsed, host, port = httpx2.URL(""), "", None
    path = parsed.raw_path.decode("ascii").rstrip("/")
    proper = host and _PATH.fullmatch(path) and (port is None or 0 < port < 65_536)
    if parsed.scheme not in ("http", "https") or not proper or parsed.userinfo or parsed.query or parsed.fragment:
        raise InvalidAddress("the server's URL must be of the form https://HOST[:PORT][/PATH]")
    loopback = _is_loopback(host)
    if parsed.scheme == "http" and not loopback:
        raise InvalidAddress("the server's URL must begin with https; http is only for a server on this machine")
    origin = f"{parsed.scheme}://{host if ':' not in host else f'[{host}]'}{'' if port is None else f':{port}'}"
    return Address(origin, origin + path, loopback)


def origin_of(server: str) -> str:
    """A server's address without its path."""
    scheme, _, rest = server.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def collection_path(collection: str, *rest: str) -> str:
    """The path of a collection, or of a resource below it. Raises `InvalidAddress` if `collection` cannot be an id."""
    if not isinstance(collection, str) or not _ID.fullmatch(collection):
        raise InvalidAddress("a collection's id may contain only letters, digits, - and _")
    return "/".join(("/v1/collections", collection, *rest))


def _spelt(host: str) -> str:
    """The host in its canonical spelling; empty if it is not a valid host."""
    host = host.lower().removesuffix(".").strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        last = host.rpartition(".")[2]
        # Browsers read any host that ends in a number as an IP address, also in notations that `ip_address` refuses.
        return "" if not _HOST.fullmatch(host) or _NUMBER.fullmatch(last) else host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        high, low = divmod(int(address.ipv4_mapped), 1 << 16)
        return f"::ffff:{high:x}:{low:x}"
    return address.compressed


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
