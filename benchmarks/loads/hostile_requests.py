"""Requests of strangers that are made to cost: every route of the application, and every kind of content."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dither_client.oblivious.binary_http import Request, write_request
from dither_client.oblivious.encapsulation import REQUEST_TYPE, KeyConfiguration, encapsulate

__all__ = ["Attack", "attacks", "encapsulated_attacks", "routes"]

_SIZES = (4_000, 16_000, 64_000)
_LARGE_SIZES = (256_000, 16 * 1024 * 1024 - 1)
"""Bytes of bodies for respondents' own calls, which accept large ones, or did."""
_RESPONDENTS = ("tickets", "responses", "batch")
_PADDING_BYTES = 1_000_000
"""Bytes around a body: more than the server reads at once, before which it bounds nothing but the time."""
_TICKET = "1." + "A" * 72 + "." + "B" * 43
"""As long as most tickets are, and not genuine."""
_HEAD = 15_000
"""Bytes of headers that are sent: most proxies take no more."""
_ADDRESS = 4_000
"""Bytes of addresses that the server takes; it refuses those of `_HEAD` bytes."""


@dataclass(frozen=True)
class Attack:
    """One request, as its bytes."""

    route: str
    what: str
    content: bytes

    @property
    def size(self) -> int:
        """Bytes of the whole request."""
        return len(self.content)


def routes(app: Any) -> list[tuple[str, str]]:
    """Method and path of everything that the application answers: a new route is here by itself."""
    found = {
        (method, str(route.path))
        for route in app.routes
        if hasattr(route, "path")
        for method in (getattr(route, "methods", None) or ["GET"])
        if method not in ("HEAD", "OPTIONS")
    }
    return sorted(found, key=lambda one: (one[1], one[0]))


def attacks(every: list[tuple[str, str]], collection: str) -> Iterator[Attack]:
    """Every attack. `collection` is the id of a private collection that anybody may answer."""
    for method, path in every:
        target = _filled(path, collection)
        for what, head in _heads(path, collection):
            yield Attack(f"{method} {path}", what, _request(method, head.pop("path", target), b"", **head))
        if method in ("POST", "PATCH", "PUT", "DELETE"):
            for what, body in _bodies(_SIZES + _LARGE_SIZES if path.endswith(_RESPONDENTS) else _SIZES):
                yield Attack(f"{method} {path}", f"{what}, {len(body):,} bytes", _request(method, target, body))
            for size in (16_000, 64_000):
                yield Attack(f"{method} {path}", f"chunks of one byte, {size:,}", _crumbs(method, target, size))
            for what, chunks in _around(_PADDING_BYTES):
                yield Attack(f"{method} {path}", f"{what}, {_PADDING_BYTES:,} bytes", _chunked(method, target, chunks))


def encapsulated_attacks(key: KeyConfiguration, collection: str) -> Iterator[Attack]:
    """Attacks inside requests that the gateway opens, which are as large as it takes, and what it cannot open."""
    path = f"/v1/collections/{collection}"
    for end in ("tickets", "responses"):
        for what, body in _bodies((4_000, 16_000)):
            yield _encapsulated(key, f"{what}, {len(body):,} bytes", "POST", f"{path}/{end}", body)
    yield _encapsulated(key, "terms", "GET", path, b"")
    yield _encapsulated(key, "addresses in an address", "GET", path * (_ADDRESS // len(path)) + "!", b"")
    yield _encapsulated(key, "a long address", "GET", "/a" * (_HEAD // 2), b"")
    message = write_request(Request("GET", "https", "", path))[:-3]
    for what, rest in (
        ("many headers", b"\x7f\xff" + b"\1a\0" * (_HEAD // 3)),
        ("padding", b"\0" * _HEAD),
        ("a long header", b"\x7a\x98" + b"\1a\x7a\x94" + b"b" * _HEAD),
    ):
        yield _posted(what, encapsulate(key, message + rest)[0])
    yield _posted("many chunks", encapsulate(key, b"\2" + message[1:] + b"\0" + b"\1a" * (_HEAD // 2))[0])
    opened, _ = encapsulate(key, bytes(_HEAD))
    yield _posted("what no key opens", opened[:-1] + b"\0")


def _encapsulated(key: KeyConfiguration, what: str, method: str, path: str, body: bytes) -> Attack:
    headers = (("content-type", "application/json"),)
    return _posted(what, encapsulate(key, write_request(Request(method, "https", "", path, headers, body)))[0])


def _posted(what: str, content: bytes) -> Attack:
    head = {"content-type": REQUEST_TYPE}
    return Attack("POST /ohttp", f"encapsulated: {what}", _request("POST", "/ohttp", content, **head))


def _filled(path: str, collection: str) -> str:
    values = {
        "{collection_id}": collection,
        "{version}": "0123456789ab",
        "{name:path}": "style.css",
        "{name}": "dither.js",
        "{token_id}": "0123456789",
    }
    for name, value in values.items():
        path = path.replace(name, value)
    return path


def _heads(path: str, collection: str) -> Iterator[tuple[str, dict[str, str]]]:
    yield "nothing", {}
    for size in (_ADDRESS, _HEAD):
        room = size - len(_filled(path, collection))
        yield "a long query", {"path": f"{_filled(path, collection)}?{'a' * room}"}
        yield "many parameters", {"path": f"{_filled(path, collection)}?{'a&' * (room // 2)}"}
        yield "many escapes in the query", {"path": f"{_filled(path, collection)}?a={'%C3' * (room // 3)}"}
        if "{" in path:
            yield "a long id", {"path": _filled(path, "a" * room)}
            yield "escapes in the id", {"path": _filled(path, "%C3%28" * (room // 6))}
    if "{" in path:
        yield "an unknown id", {"path": _filled(path, "nosuchone1")}
    for count in (250, _HEAD // 4):
        yield "many cookies", {"cookie": "a=b;" * count}
    yield "a long session", {"cookie": "dither_session=environment.1." + "a" * _HEAD}
    yield "an unknown token", {"authorization": "Bearer dither_admin_" + "x" * 43}
    yield "a long token", {"authorization": "Bearer " + "x" * _HEAD}
    for count in (95, _HEAD // 10):
        yield "many headers", {f"x{i}": "" for i in range(count)}
    for length in (100, 253, _HEAD // 4, _HEAD):
        yield "a long host", {"host": "a" * length}
    yield "many addresses", {"x-forwarded-for": "127.0.0.1," * (_HEAD // 10)}
    yield "wants a page", {"accept": "text/html," * (_HEAD // 10)}


def _bodies(sizes: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
    for size in sizes:
        yield "unknown names", b"{" + _repeated(b'"a%07d":0,', size - 6) + b'"a":0}'
        yield "one name again and again", b"{" + _repeated(b'"epsilon":1,', size - 14) + b'"epsilon":1}'
        yield "lists in lists", b"[" * size
        yield "objects in objects", _repeated(b'{"a":', size)
        yield "a long number", b'{"epsilon":' + b"1" * (size - 12) + b"}"
        yield "a long fraction", b'{"epsilon":0.' + b"1" * (size - 14) + b"}"
        yield "a long text", b'{"ticket":"' + b"A" * (size - 24) + b'","answer":1}'
        yield "a long text of escapes", b'{"ticket":"' + _repeated(b"\\u00e4", size - 30) + b'","answer":1}'
        yield "blanks", b" " * size
        yield "empty answers", b'{"responses":[' + _repeated(b"{},", size - 20) + b"{}]}"
        yield "short answers", b'{"responses":[' + _repeated(b'{"ticket":"","answer":0},', size - 50) + b"{}]}"
        yield "numbers in a list", b'{"responses":[' + _repeated(b"0,", size - 20) + b"0]}"
        yield "form fields", _repeated(b"a=b&", size)
        yield "form escapes", b"token=" + _repeated(b"%C3%A4", size - 6)
        yield "UTF-16", ('{"epsilon":1}' + " " * (size // 2 - 20)).encode("utf-16")
        yield "no UTF-8", b'{"ticket":"' + b"\xff" * (size - 30) + b'","answer":1}'
        yield "a byte order mark", b"\xef\xbb\xbf" + b'{"count":1}' + b" " * (size - 20)
        yield "gzip", gzip.compress(b" " * size)
    for count in (500, 10_000):
        answers = [{"ticket": _TICKET, "answer": 0, "retry_key": "k" * 16}] * count
        yield f"{count:,} forged tickets", json.dumps({"responses": answers}).encode()
        marked = [{"ticket": _TICKET, "answer": 0, "retry_key": ":" * 16}] * count
        yield f"{count:,} keys of colons", json.dumps({"responses": marked}).encode()
    yield "a count", b'{"count":10001}'
    yield "an invitation", b'{"invitation":"' + b"a" * 26 + b'","retry_key":"' + b"k" * 128 + b'"}'


def _repeated(piece: bytes, size: int) -> bytes:
    if b"%07d" in piece:
        return b"".join(piece % i for i in range(size // (len(piece) + 3)))
    return piece * (size // len(piece))


def _request(method: str, path: str, body: bytes, **headers: str) -> bytes:
    length = {"content-length": str(len(body))} if body or method != "GET" else {}
    encoding = {"content-encoding": "gzip"} if body.startswith(b"\x1f\x8b") else {}
    kind = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"} if body else {}
    given = {"host": "localhost", **length, **kind, **encoding, **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def _crumbs(method: str, path: str, size: int) -> bytes:
    return _chunked(method, path, b"1\r\n \r\n" * size + b"0\r\n\r\n")


def _around(size: int) -> Iterator[tuple[str, bytes]]:
    """Chunks of which nearly all bytes are not the body's, and that do not end."""
    yield "a trailer without an end", b"2\r\n{}\r\n0\r\nx: " + b"a" * size
    yield "trailers without an end", b"2\r\n{}\r\n0\r\n" + _repeated(b"x: " + b"a" * 995 + b"\r\n", size)
    yield "a chunk's extension without an end", b"2;" + b"a" * size


def _chunked(method: str, path: str, chunks: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    return head.encode() + chunks
