"""Whom the client contacts: https anywhere, http on this machine alone; and what a server is called in the ledger."""

from typing import Any

import pytest

from dither_client import InvalidAddress
from dither_client.addresses import collection_path, parse_address


@pytest.mark.parametrize(
    ("url", "origin", "base", "loopback"),
    [
        ("https://example.org", "https://example.org", "https://example.org", False),
        ("https://EXAMPLE.org:443/", "https://example.org", "https://example.org", False),
        ("https://example.org:8443/dither/", "https://example.org:8443", "https://example.org:8443/dither", False),
        ("http://localhost:8000", "http://localhost:8000", "http://localhost:8000", True),
        ("http://127.0.0.1:80", "http://127.0.0.1", "http://127.0.0.1", True),
        ("http://[::1]:8000/x", "http://[::1]:8000", "http://[::1]:8000/x", True),
        ("http://dither.localhost", "http://dither.localhost", "http://dither.localhost", True),
        ("https://example.org.", "https://example.org", "https://example.org", False),
        ("https://example.org.:8443/a/", "https://example.org:8443", "https://example.org:8443/a", False),
        ("http://localhost.:8000", "http://localhost:8000", "http://localhost:8000", True),
        ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]", "http://[::1]", True),
        ("https://[2001:DB8::0:1]/", "https://[2001:db8::1]", "https://[2001:db8::1]", False),
        ("https://[::ffff:1.2.3.4]/", "https://[::ffff:102:304]", "https://[::ffff:102:304]", False),
        ("https://example.org/A/b-1//", "https://example.org", "https://example.org/A/b-1", False),
        ("https://bücher.example/", "https://xn--bcher-kva.example", "https://xn--bcher-kva.example", False),
    ],
)
def test_addresses(url: str, origin: str, base: str, loopback: bool) -> None:
    address = parse_address(url)
    assert (address.origin, address.base, address.loopback) == (origin, base, loopback)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "example.org",
            "ftp://example.org",
            "https://",
            "https:///x",
            "file:///etc/passwd",
            "https://exa mple.org",
        ),
        *("https://example.org..", "https://.", "https://0x7f.1", "https://127.1", "https://1.2.3.256"),
        *("https://example.org/a//b", "https://example.org/%7Ea", "https://example.org/a b"),
        *("https://user:secret@example.org", "https://example.org?x=1", "https://example.org#x"),
        *("https://example.org:0", "https://example.org:99999", "https://example.org:port", "https://[::1", None, 3),
        *("http://example.org", "http://192.168.0.1", "http://localhost.example.org", "http://127.0.0.1.example.org"),
    ],
)
def test_refused_addresses(url: Any) -> None:
    with pytest.raises(InvalidAddress, match=r"^the server's URL must") as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)


def test_collection_paths() -> None:
    assert collection_path("w4ges") == "/v1/collections/w4ges"
    assert collection_path("a-b_C", "posterior", "history") == "/v1/collections/a-b_C/posterior/history"


@pytest.mark.parametrize("collection", ["", ".", "..", "a/b", "a?b", "a#b", "a b", "é", "42.5", "x" * 129, None, 42.5])
def test_what_is_no_collection(collection: Any) -> None:
    with pytest.raises(InvalidAddress, match="a collection's id may contain only") as caught:
        collection_path(collection)
    assert "42" not in str(caught.value)
