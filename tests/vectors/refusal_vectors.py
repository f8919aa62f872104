"""Questions and replies that a client refuses, for `make_vectors`."""

import json
from collections.abc import Iterable
from typing import Any

from question_vectors import (
    COMPONENT,
    CUTS,
    GAUSSIAN,
    GROUPS,
    LAPLACE,
    ODD_ONE_OUT,
    PAIR_CELLS,
    SAME_SIDE,
    STAIRCASE,
)

from dither_client import DitherError
from dither_client.protocol.messages import parse_ticket
from dither_client.strict_json import decode_json

__all__ = ["refusals"]


def refusals() -> dict[str, list[Any]]:
    """Replies to a request for a ticket."""
    return {"tickets": [_ticket(query) for query in _refused()] + [_body(body) for body in _BODIES]}


def _refused() -> Iterable[str]:
    """Questions that no honest server would ask, as JSON."""
    yield from _DIRECT
    for base, changes in _CHANGES:
        for name, value in changes:
            fields = json.loads(base) | {name: "@"}
            yield json.dumps(fields).replace('"@"', value)


_CHANGES: list[tuple[str, list[tuple[str, str]]]] = [
    (
        LAPLACE,
        [
            ("low", "NaN"), ("low", "Infinity"), ("low", "1e999"), ("low", "1" + 400 * "0"), ("low", "null"),
            ("low", '"0"'), ("low", "true"), ("low", "1"), ("low", "2"), ("high", "-Infinity"), ("high", "0"),
            ("high", "5e-324"), ("levels", "0"), ("levels", "-1"), ("levels", "1025"),
            ("levels", "4.0"), ("levels", "1e2"), ("levels", '"4"'), ("levels", "true"), ("levels", "null"),
            ("epsilon", "0"), ("epsilon", "-1"), ("epsilon", "50.000001"), ("epsilon", "51"), ("epsilon", "0.0000001"),
            ("epsilon", "0.1000000000000000055"), ("epsilon", "1e-7"), ("epsilon", "1e80"), ("epsilon", '"one"'),
            ("epsilon", "1" + 80 * "0"), ("epsilon", '"1_0"'), ("epsilon", '"1/2"'), ("epsilon", '" 1"'),
            ("epsilon", '"5."'), ("epsilon", '"١"'), ("epsilon", "[1]"), ("epsilon", "null"), ("epsilon", "true"),
            ("transform", '"sqrt"'), ("transform", "null"), ("transform", "1"),
            ("mechanism", '"cauchy"'), ("mechanism", "null"), ("extra", "1"), ("rho", "1"),
        ],
    ),
    (
        CUTS,
        [
            ("cuts", "[]"), ("cuts", "[1, 1]"), ("cuts", "[2, 1]"), ("cuts", "[0, -0.0]"), ("cuts", "[0, NaN]"),
            ("cuts", "[0, 1e400]"), ("cuts", '"01"'), ("cuts", "{}"), ("cuts", "[[0]]"), ("cuts", "null"),
            ("cuts", json.dumps(list(range(1024)))), ("epsilon", "60"), ("levels", "1"),
        ],
    ),
    (
        STAIRCASE,
        [
            ("cuts", "[1, -1]"), ("cuts", json.dumps(list(range(64)))), ("sets", "[[0, 2]]"), ("sets", "[[0], [1]]"),
            ("sets", "[[2, 0], [1]]"), ("sets", "[[1], [0, 2]]"), ("sets", "[[0, 1, 2], [1]]"), ("sets", "[[], [1]]"),
            ("sets", "[[0, 3], [1]]"), ("sets", "[[0, 2.0], [1]]"), ("sets", "[[0, true], [1]]"), ("sets", "[0, 1]"),
            ("sets", "[[0, 2], [0, 2]]"), ("sets", '"01"'), ("weights", "[1]"), ("weights", "[2, 2]"),
            ("weights", "[1, 2]"), ("weights", "[0, 1]"), ("weights", "[1, 1000001]"), ("weights", "[1, 1.0]"),
            ("weights", "null"), ("epsilon", "0"),
        ],
    ),
    (
        GAUSSIAN,
        [
            ("epsilon", "0.5"), ("epsilon", "0.25"), ("rho", "0"), ("rho", "50.000001"), ("rho", "0.0000001"),
            ("rho", "-1"), ("rho", '"x"'), ("levels", "1025"), ("low", "1"), ("low", "NaN"), ("sigma", "1"),
        ],
    ),
    (
        GROUPS,
        [
            ("groups", "[[0, 1]]"), ("groups", "[]"), ("groups", "[[0], []]"), ("groups", "[[1], [0]]"),
            ("groups", "[[0, 2], [1, 2]]"), ("groups", "[[0], [2]]"), ("groups", "[[1], [2]]"), ("groups", '"01"'),
            ("groups", "[[1, 0], [2]]"), ("groups", "[[0], [1.0]]"), ("groups", "[[0], [true]]"), ("groups", "[0, 1]"),
            ("groups", "[[0, 0], [1]]"), ("groups", "[[-1, 0], [1]]"), ("groups", "null"), ("groups", '[[0], "1"]'),
            ("groups", json.dumps([[i] for i in range(65)])), ("groups", json.dumps([[0], list(range(1, 65))])),
            ("transform", '"log"'), ("epsilon", "51"), ("cuts", "[1]"),
        ],
    ),
    (
        COMPONENT,
        [
            ("component", "-1"), ("component", "8"), ("component", "1.0"), ("component", "true"), ("component", "null"),
            ("component", "[1]"), ("query", "null"), ("query", "[]"), ("query", "{}"), ("query", GROUPS),
            ("query", SAME_SIDE), ("query", LAPLACE), ("query", LAPLACE.replace("1}", '1, "extra": 1}')),
            ("epsilon", "0.5"), ("epsilon", "2"), ("epsilon", "null"), ("epsilon", "1e-7"), ("transform", '"identity"'),
            ("transform", "null"), ("transform", '"sqrt"'), ("cuts", "[0]"), ("components", "[1]"),
        ],
    ),
    (
        SAME_SIDE,
        [
            ("components", "[0]"), ("components", "[2, 0]"), ("components", "[0, 0]"), ("components", "[0, 8]"),
            ("components", "[-1, 0]"), ("components", "[0, 1, 2]"), ("components", "[0, 1.0]"), ("components", "null"),
            ("components", "[0, true]"), ("components", '"01"'), ("states", '"other_side"'), ("states", "null"),
            ("states", "[]"), ("states", '"constructor"'), ("states", '"odd_one_out"'), ("states", '"cells"'),
            ("cuts", "[[6.5]]"), ("cuts", "[6.5, 40]"), ("cuts", "[[6.5], []]"), ("cuts", "[[6.5], [40, 41]]"),
            ("cuts", '[[6.5], ["40"]]'), ("cuts", "[[6.5], [NaN]]"), ("cuts", "[[6.5], [1e400]]"), ("cuts", "null"),
            ("cuts", '[[6.5], "4"]'), ("transforms", '["log"]'), ("transforms", '["log", "sqrt"]'),
            ("transforms", '["log", null]'), ("transforms", '"ll"'), ("channel", "null"), ("channel", CUTS),
            ("channel", LAPLACE.replace("4", "1")), ("channel", GROUPS), ("channel", COMPONENT),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0], "epsilon": 1, "transform": "log"}'),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0], "epsilon": 2}'),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0, 1], "epsilon": 1}'),
            ("epsilon", "0.5"), ("epsilon", "null"), ("epsilon", "51"), ("transform", '"log"'), ("transform", "null"),
            ("component", "0"), ("weights", "[1]"),
        ],
    ),
    (ODD_ONE_OUT, [("components", "[0, 1]"), ("components", "[0, 3, 1]"), ("cuts", "[[0], [0]]")]),
    (
        PAIR_CELLS,
        [
            ("cuts", "[[0], [5]]"), ("cuts", "[[0, 0], [5]]"), ("cuts", "[[1.25, 0], [5]]"), ("cuts", "[[], [5]]"),
            ("cuts", "[[0, 1.25], [5, 6]]"), ("channel", STAIRCASE),
        ],
    ),
]  # fmt: skip  # fmt: skip

_DIRECT = [
    "null", "[]", "1", '"laplace"', "{}", '{"mechanism": ["laplace"]}', '{"mechanism": "laplace"}',
    '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 1}',
    '{"mechanism": "laplace", "low": -1e308, "high": 1e308, "levels": 1, "epsilon": 1}',
]  # fmt: skip  # fmt: skip

_BODIES = [
    "", "{", "[]", "null", "{'ticket': 1}", '{"ticket": "t"}', '{"expires_at": "", "query": {}}',
    f'{{"ticket": "", "expires_at": "x", "query": {LAPLACE}}}',
    f'{{"ticket": "\\u00e9", "expires_at": "x", "query": {LAPLACE}}}',
    f'{{"ticket": 7, "expires_at": "x", "query": {LAPLACE}}}',
    f'{{"ticket": "t", "expires_at": 7, "query": {LAPLACE}}}',
    f'{{"ticket": "t", "expires_at": "x", "query": {LAPLACE}}} x',
    f'{{"ticket": "t", "expires_at": "x", "query": {LAPLACE},}}',
    f'\ufeff{{"ticket": "t", "expires_at": "x", "query": {LAPLACE}}}',
]  # fmt: skip  # fmt: skip


def _ticket(query: str) -> dict[str, str]:
    return _body(f'{{"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": {query}}}')


def _body(body: str) -> dict[str, str]:
    try:
        parse_ticket(decode_json(body.encode()))
    except DitherError as error:
        return {"body": body, "error": type(error).__name__, "reason": str(error)}
    raise AssertionError(f"not refused: {body}")
