"""Bodies that no client sends, made from valid ones by a seeded generator."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["mutated"]

_NASTY = (
    "NaN", "Infinity", "-Infinity", "-0", "0.0", "1e400", "-1e-400", "1e22", "1E5", "9" * 400, "9" * 5000, "-1",
    "2.5", str(2**31), str(2**63), str(2**64), "true", "false", "null", '""', '" "',
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"',
    '"\\u202e"', '"é"', '"' + "x" * 5000 + '"', "[]", "{}", "[[]]", '{"a": 1}', "[1, 2, 3]", "[" * 500 + "]" * 500,
    '{"a":' * 300 + "1" + "}" * 300, "[" * 5000, "01", "+1", ".5", "0x10", "undefined", "'a'", '"1"', '"0.1"',
    '"1e1"',
    '"closed"', '"admin"', '"../../x"', '"%00"', '"\\"; DROP TABLE answers; --"', '"2026-01-01T00:00:00Z"',
)  # fmt: skip
"""JSON, or nearly, that takes the place of a value."""

_NAMES = ("", "x", "__proto__", "ticket", "answer", "count", "epsilon", "\\u0061nswer", "\\ud800", "a" * 300)


def mutated(generator: random.Random, body: bytes) -> bytes:
    """A mutation of a valid body, now and then several on top of each other. Some stay valid."""
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        body = generator.choice(_MUTATIONS)(generator, body)
    return body


def _replace_value(generator: random.Random, body: bytes) -> bytes:
    return _edited(generator, body, lambda _: generator.choice(_NASTY))


def _duplicate_name(generator: random.Random, body: bytes) -> bytes:
    """An object with one of its names twice, the second value another one or the same."""
    data = _parsed(body)
    if not isinstance(data, dict) or not data:
        return body + body
    name = generator.choice(list(data))
    again = name if generator.random() < 0.7 else "".join(f"\\u{ord(letter):04x}" for letter in name)
    value = generator.choice((json.dumps(data[name]), generator.choice(_NASTY)))
    return (json.dumps(data)[:-1] + f', "{again}": {value}}}').encode("utf-8", "surrogatepass")


def _add_name(generator: random.Random, body: bytes) -> bytes:
    data = _parsed(body)
    if not isinstance(data, dict):
        return b"[" + body + b"]"
    inner = json.dumps(data)[1:-1]
    added = f'"{generator.choice(_NAMES)}": {generator.choice(_NASTY)}'
    return ("{" + ", ".join(part for part in (added, inner) if part) + "}").encode("utf-8", "surrogatepass")


def _drop_name(generator: random.Random, body: bytes) -> bytes:
    data = _parsed(body)
    if isinstance(data, dict) and data:
        del data[generator.choice(list(data))]
        return json.dumps(data).encode()
    return b""


def _flip(generator: random.Random, body: bytes) -> bytes:
    changed = bytearray(body or b"{}")
    for _ in range(generator.choice((1, 1, 2, 8))):
        changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def _cut(generator: random.Random, body: bytes) -> bytes:
    start, end = sorted(generator.randrange(len(body) + 1) for _ in range(2))
    return generator.choice((body[:start], body[end:], body[:start] + body[end:]))


def _repeat(generator: random.Random, body: bytes) -> bytes:
    start, end = sorted(generator.randrange(len(body) + 1) for _ in range(2))
    return body[:end] + body[start:end] * generator.choice((1, 2, 20)) + body[end:]


def _insert(generator: random.Random, body: bytes) -> bytes:
    at = generator.randrange(len(body) + 1)
    junk = generator.choice(
        (b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"//", b"/* */", b" \n\t",
         b",", b"}", b"]", b'"', b"\\", generator.randbytes(8))
    )  # fmt: skip
    return body[:at] + junk + body[at:]


def _recode(generator: random.Random, body: bytes) -> bytes:
    text = body.decode("utf-8", "replace")
    return text.encode(generator.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")), "replace")


def _whole(generator: random.Random, body: bytes) -> bytes:
    return generator.choice(
        (b"", b" ", b"{}", b"[]", b"null", b"0", b'""', b"{" * 2000, b"[" * 100_000, b'{"a":' * 10_000, b"\x00" * 100,
         b'"' + b"a" * 60_000 + b'"', b" " * 66_000, generator.randbytes(200), b"a=1&b=2", b"<x/>")
    )  # fmt: skip


_MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _replace_value, _replace_value, _replace_value, _replace_value, _duplicate_name, _duplicate_name, _add_name,
    _drop_name, _flip, _flip, _cut, _repeat, _insert, _recode, _whole,
)  # fmt: skip


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _edited(generator: random.Random, body: bytes, edit: Callable[[Any], str]) -> bytes:
    """The body with the JSON text that `edit` gives in the place of one of its values."""
    data = _parsed(body)
    places = list(_places(data))
    if not places:
        return edit(None).encode("utf-8", "surrogatepass")
    mark = "place of a value"
    container, key = generator.choice(places)
    before = container[key]
    container[key] = mark
    return json.dumps(data).replace(json.dumps(mark), edit(before), 1).encode("utf-8", "surrogatepass")


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    keys: list[Any] = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    for key in keys:
        yield data, key
        if len(json.dumps(data[key])) < 10_000:
            yield from _places(data[key])
