"""Texts that the protocol's profile of JSON reads, and texts that it refuses, for `make_vectors`."""

from collections.abc import Iterable
from typing import Any

from dither_client.errors import BadResponse
from dither_client.strict_json import decode_json

__all__ = ["json_texts", "text_of"]

_READ = [
    "null", "true", " [ ] ", "{}", "0", "-0", "-0.0", "1e5", "1E-05", "1.50", "[1, 2.5e+3]", '"a"', '""', "[[[]]]",
    '{"": 1}', '{"a": 1, "A": 2}', '{"a": {"a": 1}, "b": [{"a": 2}]}', '{"a:b": ":", "c": "\\":\\""}',
    '{"__proto__": 1, "constructor": 2}', '{"2": 1, "1": 2}', '"\\u0041\\ud83d\\ude00"', '"\U0001f600é"', '"\\u0000"',
    '"\\\\ud800"', "1e-400", "1e308", "0." + "1" * 62, "1" * 38, "-" + str((1 << 128) - 1), "\t\r\n 1 \n",
]  # fmt: skip

_REFUSED = [
    "", " ", "nul", "True", "[1,]", "[,]", "{'a': 1}", '{"a": 1,}', '{a: 1}', '{"a" 1}', '{"a": 1} x', "[1] [2]", "[1",
    "/* */ 1", "1 // one", "+1", ".5", "5.", "01", "-", "1e", "0x10", "1_0", "١", "[1.e1]", "NaN", "[Infinity]",
    "-Infinity", "1e309", "-1e999", "1e1000", "1e-1000", "1e0001", "0." + "1" * 63, "1" * 65, str(1 << 128),
    "-" + str(1 << 128), '{"a": 1, "a": 1}', '{"a": 1, "b": 2, "a": 3}', '[{"x": {"a": null, "\\u0061": null}}]',
    '"\\ud800"', '"\\udc00\\ud800"', '["a\\ud83dz"]', '{"\\udfff": 1}', '"\\ud83d\\u0041"', '"a\nb"', '"\\x41"',
    '"\\u12"', '"', "\ufeff1", "\u00a01", "1\u2028",
]  # fmt: skip

_BYTES = ["22ff22", "22c3", "22eda08022", "22eda0bdedb88022", "22c08022", "fffe31003000", "22f490808022"]
"""In hexadecimal: what is no UTF-8, between quotation marks."""

_REPEATED: list[tuple[list[tuple[str, int]], bool]] = [
    ([("[", 32), ("]", 32)], True),
    ([("[", 33), ("]", 33)], False),
    ([('{"a": ', 32), ("1", 1), ("}", 32)], True),
    ([('{"a": ', 33), ("1", 1), ("}", 33)], False),
    ([("[[],", 20), ("1", 1), ("]", 20)], True),
    ([("[", 900_000)], False),
    ([("[", 450_000), ("]", 450_000)], False),
    ([("1", 900_000)], False),
    ([("0.", 1), ("1", 900_000)], False),
    ([("1e", 1), ("9", 900_000)], False),
    ([('"', 1), ("a", 900_000), ('"', 1)], True),
    ([('"', 1), ("\\\\", 450_000), ('"', 1)], True),
]


def json_texts() -> Iterable[dict[str, Any]]:
    """The cases; each is tried with the Python client."""
    cases: list[dict[str, Any]] = [{"text": text, "read": True} for text in _READ]
    cases += [{"text": text, "read": False} for text in _REFUSED]
    cases += [{"hex": text, "read": False} for text in _BYTES]
    cases += [{"repeat": [list(part) for part in parts], "read": read} for parts, read in _REPEATED]
    for case in cases:
        if _is_read(text_of(case)) is not case["read"]:
            raise AssertionError(f"not as the vectors say: {case}")
        yield case


def text_of(case: dict[str, Any]) -> bytes:
    """The bytes that a server might send."""
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" in case:
        return "".join(text * times for text, times in case["repeat"]).encode()
    text: str = case["text"]
    return text.encode()


def _is_read(body: bytes) -> bool:
    try:
        decode_json(body)
    except BadResponse:
        return False
    return True
