"""Test vectors for clients in any language: `python tests/vectors/make_vectors.py` writes them to `client/vectors`.

Each file is an object with a list of cases under each name; `client/vectors/README.md` says what a case means. Where a
case holds JSON as text, that is what a server might send, and reading it is part of the test.
"""

import json
import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from address_vectors import address_vectors
from flow_vectors import flows
from message_vectors import problems, receipts, terms
from panel_vectors import panel_vectors
from price_vectors import price_vectors
from profile_vectors import json_texts
from typed_vectors import typed_vectors

from dither_client import (
    ComponentQuery,
    DitherError,
    GroupedRandomizedResponse,
    MemoryLedger,
    Query,
    RandomizedResponse,
    gaussian_epsilon,
    parse_query,
)
from dither_client.errors import InvalidEpsilon
from dither_client.mechanisms.epsilon import epsilon_text, micro_epsilon, wire_epsilon
from dither_client.mechanisms.sampling import uniform
from dither_client.protocol.messages import parse_ticket
from dither_client.strict_json import decode_json

__all__ = ["FOLDER", "texts"]

FOLDER = Path(__file__).parents[2] / "client" / "vectors"

_LAPLACE = '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": 1}'
_CUTS = '{"mechanism": "randomized_response", "cuts": [-0.5, 0.5], "epsilon": 0.5}'
_STAIRCASE = (
    '{"mechanism": "staircase", "cuts": [-1.0, 1.0], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 1.5, '
    '"transform": "identity"}'
)
_GAUSSIAN = '{"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 0.25, "epsilon": 0.75}'
_GROUPS = '{"mechanism": "grouped_randomized_response", "groups": [[0, 3], [1], [2, 4]], "epsilon": 1.25}'
_COMPONENT = (
    '{"mechanism": "component", "component": 1, "query": {"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, '
    '"epsilon": 1, "transform": "log"}, "epsilon": 1, "transform": "log"}'
)
_SAME_SIDE = (
    '{"mechanism": "joint", "components": [0, 2], "states": "same_side", "cuts": [[6.5], [40]], "transforms": ["log", '
    '"identity"], "channel": {"mechanism": "randomized_response", "cuts": [0], "epsilon": 1}, "epsilon": 1}'
)
_ODD_ONE_OUT = (
    '{"mechanism": "joint", "components": [0, 1, 3], "states": "odd_one_out", "cuts": [[-1], [0.5], [3]], '
    '"transforms": ["identity", "identity", "log"], '
    '"channel": {"mechanism": "randomized_response", "cuts": [0, 1, 2], "epsilon": 1.5}, '
    '"epsilon": 1.5, "transform": "identity"}'
)
_PAIR_CELLS = (
    '{"mechanism": "joint", "components": [1, 2], "states": "cells", "cuts": [[0, 1.25], [5]], "transforms": '
    '["identity", "log"], "channel": {"mechanism": "staircase", "cuts": [0, 1, 2, 3, 4], "sets": [[0, 1, 2], '
    '[0, 4, 5], [1, 3, 5], [2, 3, 4]], "weights": [1, 1, 1, 1], "epsilon": 2, "transform": "identity"}, "epsilon": 2}'
)

_HONEST = [
    '{"mechanism": "laplace", "low": 6.0, "high": 6.5, "levels": 1, "epsilon": 1, "transform": "log"}',
    '{"mechanism": "laplace", "low": -0.5, "high": 0.5, "levels": 1, "epsilon": 0.1, "transform": "log"}',
    '{"mechanism": "laplace", "low": -1024, "high": 3.0625, "levels": 7, "epsilon": 1.234567, "transform": "identity"}',
    '{"mechanism": "laplace", "low": 1e-3, "high": 2E2, "levels": 16, "epsilon": 5e0}',
    '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 3, "epsilon": 0.000001}',
    '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 2, "epsilon": "50"}',
    '{"mechanism": "laplace", "low": -16, "high": 136, "levels": 17, "epsilon": 0.6}',
    '{"mechanism": "laplace", "low": 0.1, "high": 0.7, "levels": 49, "epsilon": 2.5}',
    _LAPLACE,
    _CUTS,
    '{"mechanism": "randomized_response", "cuts": [-0.0], "epsilon": 3}',
    '{"mechanism": "randomized_response", "cuts": [0, 1, 2.5, 2.75, 9], "epsilon": 2, "transform": "log"}',
    _STAIRCASE,
    '{"mechanism": "staircase", "cuts": [0, 1, 2], "sets": [[0, 1], [0, 2], [1, 3], [2, 3]], "weights": [3, 2, 2, 3], '
    '"epsilon": 0.75}',
    _GAUSSIAN,
    '{"mechanism": "gaussian", "low": -8, "high": 8, "levels": 1, "rho": 0.125, "epsilon": 2}',
    '{"mechanism": "gaussian", "low": 0, "high": 4, "levels": 9, "rho": 4.000001, "epsilon": 9.5, "transform": "log"}',
    _GROUPS,
    '{"mechanism": "grouped_randomized_response", "groups": [[0], [1]], "epsilon": 0.5, "transform": "identity"}',
    _COMPONENT,
    f'{{"mechanism": "component", "component": 0, "query": {_STAIRCASE}, "epsilon": 1.5}}',
    f'{{"mechanism": "component", "component": 7, "query": {_GAUSSIAN}, "epsilon": "0.75", "transform": "identity"}}',
    _SAME_SIDE,
    _ODD_ONE_OUT,
    _PAIR_CELLS,
]


def texts() -> dict[str, str]:
    """Each file's name and content."""
    files = {
        "cells.json": {"cells": [_cells(text) for text in _HONEST]},
        "channels.json": {"channels": [_channel(text) for text in _HONEST]},
        "samples.json": {"samples": list(_samples())},
        "refusals.json": {"tickets": [_ticket(query) for query in _refused()] + [_body(body) for body in _BODIES]},
        "charges.json": {
            "epsilons": [_epsilon(text) for text in _EPSILONS],
            "gaussian": [_gaussian(levels, rho) for levels, rho in _RHOS],
            "ledgers": [_ledger(*scenario) for scenario in _SCENARIOS],
        },
        "json.json": {"texts": list(json_texts())},
        "prices.json": price_vectors(),
        "draws.json": {"uniform": list(_uniform()), "answers": list(_answers())},
        "messages.json": {"terms": list(terms()), "receipts": list(receipts()), "problems": list(problems())},
        "panels.json": panel_vectors(),
        "flows.json": {"flows": list(flows())},
        "addresses.json": {"addresses": address_vectors()},
        "typed.json": typed_vectors(),
    }
    return {name: _written(content) for name, content in files.items()}


def _written(content: dict[str, list[Any]]) -> str:
    """One case a line, so that a change is a few lines of a diff."""
    lists = []
    for name, cases in content.items():
        lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False, allow_nan=False) for case in cases)
        lists.append(f"{json.dumps(name)}: [\n{lines}\n ]")
    return "{\n " + ",\n ".join(lists) + "\n}\n"


def _query(text: str) -> Query:
    return parse_query(decode_json(text.encode()))


def _cells(text: str) -> dict[str, Any]:
    query = _query(text)
    values: list[Any] = sorted({*_several(query)} if query.about else {*_values(query)})
    return {"query": text, "values": values, "cells": [query.cell(value) for value in values]}


def _values(query: Query) -> Iterable[float]:
    """Extremes, and each edge with both neighbours; where a logarithm is in between, values that are farther off.

    Of categories, their numbers.
    """
    if isinstance(query, GroupedRandomizedResponse):
        yield from map(float, range(query.n_cells))
        return
    yield from (0.0, -1.0, 1.0, -1e308, 1e308, 5e-324, 0.1)
    for edge in query.edges:
        if query.transform == "identity":
            yield from (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf))
        else:
            yield from (math.exp(edge) * (1 - 1e-9), math.exp(edge) * (1 + 1e-9))


def _several(query: Query) -> Iterable[tuple[float, ...]]:
    """All of a person's numbers: each that is asked about at its cuts and beside them, the others anywhere."""
    cuts = [query.edges] if isinstance(query, ComponentQuery) else getattr(query, "cuts", ())
    scales = [query.transform] if isinstance(query, ComponentQuery) else getattr(query, "transforms", ())
    near = {
        number: sorted(set(_values(RandomizedResponse(edges, 1, scale))) - {-1.0, 1.0, 0.1, 5e-324})
        for number, edges, scale in zip(query.about, cuts, scales, strict=True)
    }
    yield from product(*(near.get(number, [7.0 - number]) for number in range(query.about[-1] + 1)))


def _channel(text: str) -> dict[str, Any]:
    return {"query": text, "channel": _query(text).channel()}


def _samples() -> Iterable[dict[str, Any]]:
    rng = random.Random(20_260_101)
    for text in _HONEST:
        query = _query(text)
        for _ in range(6):
            calls: list[list[str]] = []

            def randbelow(n: int, calls: list[list[str]] = calls) -> int:
                drawn = rng.randrange(n)
                calls.append([str(n), str(drawn)])
                return drawn

            cell = rng.randrange(query.n_cells)
            answer = query.sample(cell, randbelow)
            yield {"query": text, "cell": cell, "answer": answer, "calls": calls}


_BELOW = [1, 2, 3, 5, 7, 128, 129, 171, 255, 256, 257, 1000, 65_535, 65_537, 10**12, 2**64, 2**64 + 1, 3 * 2**126]


def _uniform() -> Iterable[dict[str, Any]]:
    """Eight numbers below each, one after the other."""
    rng = random.Random(20_260_102)
    for below in _BELOW:
        taken: list[bytes] = []
        draw = uniform(_noted(rng, taken))
        drawn = [str(draw(below)) for _ in range(8)]
        yield {"below": str(below), "bytes": b"".join(taken).hex(), "drawn": drawn}


def _answers() -> Iterable[dict[str, Any]]:
    """Answers of whoever is in a cell, from random bytes alone."""
    rng = random.Random(20_260_103)
    for text in _HONEST:
        query = _query(text)
        for _ in range(3):
            taken: list[bytes] = []
            cell = rng.randrange(query.n_cells)
            answer = query.sample(cell, uniform(_noted(rng, taken)))
            yield {"query": text, "cell": cell, "bytes": b"".join(taken).hex(), "answer": answer}


def _noted(rng: random.Random, taken: list[bytes]) -> Callable[[int], bytes]:
    def take(size: int) -> bytes:
        taken.append(rng.randbytes(size))
        return taken[-1]

    return take


def _refused() -> Iterable[str]:
    """Questions that no honest server would ask, as JSON."""
    yield from _DIRECT
    for base, changes in _CHANGES:
        for name, value in changes:
            fields = json.loads(base) | {name: "@"}
            yield json.dumps(fields).replace('"@"', value)


_CHANGES: list[tuple[str, list[tuple[str, str]]]] = [
    (
        _LAPLACE,
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
        _CUTS,
        [
            ("cuts", "[]"), ("cuts", "[1, 1]"), ("cuts", "[2, 1]"), ("cuts", "[0, -0.0]"), ("cuts", "[0, NaN]"),
            ("cuts", "[0, 1e400]"), ("cuts", '"01"'), ("cuts", "{}"), ("cuts", "[[0]]"), ("cuts", "null"),
            ("cuts", json.dumps(list(range(1024)))), ("epsilon", "60"), ("levels", "1"),
        ],
    ),
    (
        _STAIRCASE,
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
        _GAUSSIAN,
        [
            ("epsilon", "0.5"), ("epsilon", "0.25"), ("rho", "0"), ("rho", "50.000001"), ("rho", "0.0000001"),
            ("rho", "-1"), ("rho", '"x"'), ("levels", "1025"), ("low", "1"), ("low", "NaN"), ("sigma", "1"),
        ],
    ),
    (
        _GROUPS,
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
        _COMPONENT,
        [
            ("component", "-1"), ("component", "8"), ("component", "1.0"), ("component", "true"), ("component", "null"),
            ("component", "[1]"), ("query", "null"), ("query", "[]"), ("query", "{}"), ("query", _GROUPS),
            ("query", _SAME_SIDE), ("query", _LAPLACE), ("query", _LAPLACE.replace("1}", '1, "extra": 1}')),
            ("epsilon", "0.5"), ("epsilon", "2"), ("epsilon", "null"), ("epsilon", "1e-7"), ("transform", '"identity"'),
            ("transform", "null"), ("transform", '"sqrt"'), ("cuts", "[0]"), ("components", "[1]"),
        ],
    ),
    (
        _SAME_SIDE,
        [
            ("components", "[0]"), ("components", "[2, 0]"), ("components", "[0, 0]"), ("components", "[0, 8]"),
            ("components", "[-1, 0]"), ("components", "[0, 1, 2]"), ("components", "[0, 1.0]"), ("components", "null"),
            ("components", "[0, true]"), ("components", '"01"'), ("states", '"other_side"'), ("states", "null"),
            ("states", "[]"), ("states", '"constructor"'), ("states", '"odd_one_out"'), ("states", '"cells"'),
            ("cuts", "[[6.5]]"), ("cuts", "[6.5, 40]"), ("cuts", "[[6.5], []]"), ("cuts", "[[6.5], [40, 41]]"),
            ("cuts", '[[6.5], ["40"]]'), ("cuts", "[[6.5], [NaN]]"), ("cuts", "[[6.5], [1e400]]"), ("cuts", "null"),
            ("cuts", '[[6.5], "4"]'), ("transforms", '["log"]'), ("transforms", '["log", "sqrt"]'),
            ("transforms", '["log", null]'), ("transforms", '"ll"'), ("channel", "null"), ("channel", _CUTS),
            ("channel", _LAPLACE.replace("4", "1")), ("channel", _GROUPS), ("channel", _COMPONENT),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0], "epsilon": 1, "transform": "log"}'),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0], "epsilon": 2}'),
            ("channel", '{"mechanism": "randomized_response", "cuts": [0, 1], "epsilon": 1}'),
            ("epsilon", "0.5"), ("epsilon", "null"), ("epsilon", "51"), ("transform", '"log"'), ("transform", "null"),
            ("component", "0"), ("weights", "[1]"),
        ],
    ),
    (_ODD_ONE_OUT, [("components", "[0, 1]"), ("components", "[0, 3, 1]"), ("cuts", "[[0], [0]]")]),
    (
        _PAIR_CELLS,
        [
            ("cuts", "[[0], [5]]"), ("cuts", "[[0, 0], [5]]"), ("cuts", "[[1.25, 0], [5]]"), ("cuts", "[[], [5]]"),
            ("cuts", "[[0, 1.25], [5, 6]]"), ("channel", _STAIRCASE),
        ],
    ),
]  # fmt: skip

_DIRECT = [
    "null", "[]", "1", '"laplace"', "{}", '{"mechanism": ["laplace"]}', '{"mechanism": "laplace"}',
    '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 1}',
    '{"mechanism": "laplace", "low": -1e308, "high": 1e308, "levels": 1, "epsilon": 1}',
]  # fmt: skip

_BODIES = [
    "", "{", "[]", "null", "{'ticket': 1}", '{"ticket": "t"}', '{"expires_at": "", "query": {}}',
    f'{{"ticket": "", "expires_at": "x", "query": {_LAPLACE}}}',
    f'{{"ticket": "\\u00e9", "expires_at": "x", "query": {_LAPLACE}}}',
    f'{{"ticket": 7, "expires_at": "x", "query": {_LAPLACE}}}',
    f'{{"ticket": "t", "expires_at": 7, "query": {_LAPLACE}}}',
    f'{{"ticket": "t", "expires_at": "x", "query": {_LAPLACE}}} x',
    f'{{"ticket": "t", "expires_at": "x", "query": {_LAPLACE},}}',
    f'\ufeff{{"ticket": "t", "expires_at": "x", "query": {_LAPLACE}}}',
]  # fmt: skip


def _ticket(query: str) -> dict[str, str]:
    return _body(f'{{"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": {query}}}')


def _body(body: str) -> dict[str, str]:
    try:
        parse_ticket(decode_json(body.encode()))
    except DitherError as error:
        return {"body": body, "error": type(error).__name__, "reason": str(error)}
    raise AssertionError(f"not refused: {body}")


_EPSILONS = [
    "1", "0.1", "1.5e0", "15E-1", "0.000001", "50", "1.10", '"0.1"', '"2"', "1e-6", "1e-06", "123456.654321",
    "0.5000000000000", "1e+1", "0.1e1", "10000000e-7", "5e-1", '"5e-1"', '"5E-001"', '"1.0"', '"0.50"', "1e3", "1e80",
    "0." + "1" * 6 + "0" * 56, '"0.' + "1" * 6 + "0" * 56 + '"', "1" * 38, "123456" + "0" * 50 + "e-55",
    "0", "-1", "0.0", "-0.5", "1e-7", "0.1000001", "0.30000000000000004", "1e-70", "0e5", '"0"', '"-1"', '"-0"',
    '"x"', '""', '"1_0"', '"١"', '"１"', '" 1"', '"1 "', '"1\\n"', '"1/2"', '"5."', '".5"', '"+1"', '"01"', '"00.5"',
    '"1e"', '"1e0001"', '"1e1000"', '"1e400"', '"0x1"', '"1,5"', '"NaN"', '"Infinity"', '"inf"', '"1e-"', '"--1"',
    '"1e5.0"', '"0.' + "1" * 63 + '"', '"' + "1" * 65 + '"', '"1' + "0" * 63 + '"',
]  # fmt: skip


def _epsilon(text: str) -> dict[str, Any]:
    try:
        return {"json": text, "micro": micro_epsilon(wire_epsilon(decode_json(text.encode()))), "reason": None}
    except InvalidEpsilon as error:
        return {"json": text, "micro": None, "reason": str(error)}


_RHOS = [
    *((levels, "0.5") for levels in (1, 2, 3, 8, 64, 1024)),
    *((levels, rho) for levels in (1, 5, 1024) for rho in ("0.000001", "0.062499", "0.0625", "1.5625", "12.5", "49")),
    (4, "1"), (4, "0.999999"), (4, "50"),
]  # fmt: skip


def _gaussian(levels: int, rho: str) -> dict[str, Any]:
    return {"levels": levels, "rho": rho, "epsilon": epsilon_text(gaussian_epsilon(levels, Fraction(rho)))}


_Caps = tuple[str | None, str | None, str | None]

_SCENARIOS: list[tuple[_Caps, list[tuple[str, str, str]]]] = [
    (
        ("10", None, None),
        [("a", "1", "4"), ("a", "2", "5"), ("a", "3", "1.000001"), ("a", "3", "1"), ("b", "1", "0.000001")],
    ),
    (
        ("2", "1", None),
        [("a", "1", "0.5"), ("a", "2", "0.6"), ("a", "2", "0.5"), ("b", "1", "1"), ("c", "1", "0.1")],
    ),
    (("1", None, None), [("a", "1", "1"), ("a", "1", "1"), ("a", "2", "0.1")]),
    (("0.3", None, None), [("a", "1", "0.1"), ("a", "2", "0.1"), ("a", "3", "0.1"), ("a", "4", "0.000001")]),
    (("3", None, "0.5"), [("a", "1", "0.500001"), ("a", "1", "0.5"), ("b", "1", "0.6")]),
    (
        (None, None, None),
        [
            ("a", "1", "2.000001"), ("a", "1", "2"), ("a", "2", "2"), ("a", "3", "1.000001"), ("a", "3", "1"),
            ("a", "4", "0.000001"), ("b", "1", "2"), ("b", "2", "2"), ("b", "3", "1.000001"), ("c", "1", "1.000001"),
            ("c", "1", "1"), ("c", "2", "0.000001"),
        ],
    ),
    ((None, "6", None), [("a", "1", "2.000001"), *(("a", str(k), "2") for k in range(3)), ("a", "4", "0.000001")]),
    ((None, None, "3"), [("a", "1", "3"), ("a", "2", "2.000001"), ("b", "1", "3"), ("b", "2", "2.000001")]),
]  # fmt: skip


def _ledger(caps: _Caps, charges: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Charges one after the other; the sums of what is spent show which of them cost nothing."""
    ledger = MemoryLedger(*caps)
    steps = []
    for server, collection, epsilon in charges:
        query = _query(json.dumps(json.loads(_LAPLACE) | {"epsilon": epsilon}))
        reason = None
        try:
            ledger.charge(f"https://{server}.example", collection, "t", query)
        except DitherError as error:
            reason = str(error)
        spent = epsilon_text(ledger.spent()) if ledger.entries() else "0"
        step = {"server": f"https://{server}.example", "collection": collection, "epsilon": epsilon}
        steps.append({**step, "refused": reason, "spent": spent})
    names = ("max_epsilon", "max_epsilon_per_server", "max_epsilon_per_answer")
    return {**dict(zip(names, caps, strict=True)), "charges": steps}


if __name__ == "__main__":
    for name, content in texts().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
        print(f"{FOLDER / name}: {sum(map(len, json.loads(content).values())):,} cases")
