"""Vectors of what a ledger knows a server by."""

from dither_client import InvalidAddress
from dither_client.addresses import parse_address

__all__ = ["address_vectors"]

_URLS = [
    "https://example.org", "https://example.org/", "https://EXAMPLE.org:443/", "https://example.org.",
    "https://example.org.:8443/a/", "https://example.org/a", "https://example.org/a/b-1//", "https://example.org/A",
    "http://localhost:8000", "http://LOCALHOST.:80", "http://127.0.0.1:80/x", "http://[0:0:0:0:0:0:0:1]:80/",
    "https://[2001:DB8::0:1]:8443/", "https://[::ffff:1.2.3.4]", "https://bücher.example/",
    "", "example.org", "ftp://example.org", "https://", "https://user@example.org", "https://example.org?x=1",
    "https://example.org#x", "https://example.org:99999", "http://example.org", "https://example.org..",
    "https://example.org/a//b", "https://example.org/%7Ea", "https://example.org/a b", "https://[::1",
]  # fmt: skip


def address_vectors() -> list[dict[str, str | None]]:
    """The list of `addresses.json`."""
    return [{"url": url, "server": _server(url)} for url in _URLS]


def _server(url: str) -> str | None:
    try:
        return parse_address(url).base
    except InvalidAddress:
        return None
