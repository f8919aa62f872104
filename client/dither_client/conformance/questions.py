"""Replies that no honest server sends: questions that a client must refuse, and texts that are not strict JSON."""

import json

__all__ = ["BAD_JSON", "BAD_PRICES", "BAD_QUESTIONS"]

_LAPLACE = {"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": 1, "transform": "identity"}
_CUTS = {"mechanism": "randomized_response", "cuts": [-0.5, 0.5], "epsilon": 1, "transform": "identity"}
_SETS = {
    "mechanism": "staircase", "cuts": [-1, 1], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 1,
    "transform": "identity",
}  # fmt: skip
_GAUSSIAN = {**_LAPLACE, "mechanism": "gaussian", "rho": 0.25}

_CHANGES: list[tuple[dict[str, object], str, str]] = [
    (_LAPLACE, "low", "1"), (_LAPLACE, "low", "NaN"), (_LAPLACE, "high", "1e999"), (_LAPLACE, "high", "5e-324"),
    (_LAPLACE, "levels", "1025"), (_LAPLACE, "levels", "4.0"), (_LAPLACE, "levels", "0"), (_LAPLACE, "epsilon", "0"),
    (_LAPLACE, "epsilon", "0.9999999"), (_LAPLACE, "epsilon", '"1_0"'), (_LAPLACE, "epsilon", '" 1"'),
    (_LAPLACE, "epsilon", '"1/2"'), (_LAPLACE, "epsilon", "0." + "9" * 100_000), (_LAPLACE, "transform", '"sqrt"'),
    (_LAPLACE, "extra", "1"), (_LAPLACE, "mechanism", '"cauchy"'), (_LAPLACE, "epsilon", '1, "epsilon": 0.5'),
    (_CUTS, "cuts", "[1, 1]"), (_CUTS, "cuts", "[]"), (_SETS, "weights", "[1, 2]"), (_SETS, "weights", "[2, 2]"),
    (_SETS, "sets", "[[1], [0, 2]]"), (_GAUSSIAN, "epsilon", "0.25"), (_GAUSSIAN, "rho", "0"),
]  # fmt: skip


def _changed(question: dict[str, object], name: str, value: str) -> str:
    return json.dumps({**question, name: "@"}).replace('"@"', value)


BAD_QUESTIONS: dict[str, tuple[str, str]] = {
    f"{base['mechanism']} with {name} {value[:20]}": (str(base["mechanism"]), _changed(base, name, value))
    for base, name, value in _CHANGES
}
"""Maps what is wrong to the mechanism in the terms and the question as JSON."""

BAD_PRICES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "an ε above the terms'": ({}, {**_LAPLACE, "epsilon": 1.000001}),
    "an ε far above the terms'": ({"epsilon": 0.1}, {**_LAPLACE, "epsilon": 10}),
    "another mechanism": ({}, {**_CUTS}),
    "a mechanism with a ρ": ({}, {**_GAUSSIAN}),
    "another transform": ({}, {**_LAPLACE, "transform": "log"}),
    "a ρ above the terms'": ({"mechanism": "gaussian", "rho": 0.2}, {**_GAUSSIAN}),
}
"""Maps what is wrong to changes of the terms, and to a valid question that these terms do not allow."""

BAD_JSON: dict[str, tuple[bytes, bytes]] = {
    "a name twice": (b"{", b'{"ticket": "x", "id": "x", "receipt": "x", '),
    "33 levels": (b"{", b'{"x": ' + b"[" * 32 + b"]" * 32 + b", "),
    "a number of 900,000 digits": (b"{", b'{"x": ' + b"1" * 900_000 + b", "),
    "half of a surrogate pair": (b"{", b'{"x": "\\ud800", '),
    "bytes that are no UTF-8": (b"{", b'{"x": "\xff", '),
    "NaN": (b"{", b'{"x": NaN, '),
    "a byte order mark": (b"{", b"\xef\xbb\xbf{"),
    "two megabytes": (b"{", b'{"x": "' + b"y" * (2 << 20) + b'", '),
}
"""Maps what is wrong to the bytes to replace in an honest reply, once, and their replacement."""
