"""Honest questions for `make_vectors`: their cells, channels and answers."""

import math
import random
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from dither_client import ComponentQuery, GroupedRandomizedResponse, Query, RandomizedResponse, parse_query
from dither_client.mechanisms.sampling import uniform
from dither_client.strict_json import decode_json

__all__ = [
    "COMPONENT",
    "CUTS",
    "GAUSSIAN",
    "GROUPS",
    "LAPLACE",
    "ODD_ONE_OUT",
    "PAIR_CELLS",
    "SAME_SIDE",
    "STAIRCASE",
    "cells",
    "channels",
    "draws",
    "query_of",
    "samples",
]

LAPLACE = '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": 1}'
CUTS = '{"mechanism": "randomized_response", "cuts": [-0.5, 0.5], "epsilon": 0.5}'
STAIRCASE = (
    '{"mechanism": "staircase", "cuts": [-1.0, 1.0], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 1.5, '
    '"transform": "identity"}'
)
GAUSSIAN = '{"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 0.25, "epsilon": 0.75}'
GROUPS = '{"mechanism": "grouped_randomized_response", "groups": [[0, 3], [1], [2, 4]], "epsilon": 1.25}'
COMPONENT = (
    '{"mechanism": "component", "component": 1, "query": {"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, '
    '"epsilon": 1, "transform": "log"}, "epsilon": 1, "transform": "log"}'
)
SAME_SIDE = (
    '{"mechanism": "joint", "components": [0, 2], "states": "same_side", "cuts": [[6.5], [40]], "transforms": ["log", '
    '"identity"], "channel": {"mechanism": "randomized_response", "cuts": [0], "epsilon": 1}, "epsilon": 1}'
)
ODD_ONE_OUT = (
    '{"mechanism": "joint", "components": [0, 1, 3], "states": "odd_one_out", "cuts": [[-1], [0.5], [3]], '
    '"transforms": ["identity", "identity", "log"], '
    '"channel": {"mechanism": "randomized_response", "cuts": [0, 1, 2], "epsilon": 1.5}, '
    '"epsilon": 1.5, "transform": "identity"}'
)
PAIR_CELLS = (
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
    LAPLACE,
    CUTS,
    '{"mechanism": "randomized_response", "cuts": [-0.0], "epsilon": 3}',
    '{"mechanism": "randomized_response", "cuts": [0, 1, 2.5, 2.75, 9], "epsilon": 2, "transform": "log"}',
    STAIRCASE,
    '{"mechanism": "staircase", "cuts": [0, 1, 2], "sets": [[0, 1], [0, 2], [1, 3], [2, 3]], "weights": [3, 2, 2, 3], '
    '"epsilon": 0.75}',
    GAUSSIAN,
    '{"mechanism": "gaussian", "low": -8, "high": 8, "levels": 1, "rho": 0.125, "epsilon": 2}',
    '{"mechanism": "gaussian", "low": 0, "high": 4, "levels": 9, "rho": 4.000001, "epsilon": 9.5, "transform": "log"}',
    GROUPS,
    '{"mechanism": "grouped_randomized_response", "groups": [[0], [1]], "epsilon": 0.5, "transform": "identity"}',
    COMPONENT,
    f'{{"mechanism": "component", "component": 0, "query": {STAIRCASE}, "epsilon": 1.5}}',
    f'{{"mechanism": "component", "component": 7, "query": {GAUSSIAN}, "epsilon": "0.75", "transform": "identity"}}',
    SAME_SIDE,
    ODD_ONE_OUT,
    PAIR_CELLS,
]


def cells() -> list[dict[str, Any]]:
    """The cells of values next to each cut."""
    return [_cells(text) for text in _HONEST]


def channels() -> list[dict[str, Any]]:
    """The whole channel of each question."""
    return [{"query": text, "channel": query_of(text).channel()} for text in _HONEST]


def samples() -> list[dict[str, Any]]:
    """Answers, from given whole numbers."""
    return list(_samples())


def draws() -> dict[str, list[Any]]:
    """Whole numbers, and answers, from given bytes."""
    return {"uniform": list(_uniform()), "answers": list(_answers())}


def query_of(text: str) -> Query:
    return parse_query(decode_json(text.encode()))


def _cells(text: str) -> dict[str, Any]:
    query = query_of(text)
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


def _samples() -> Iterable[dict[str, Any]]:
    rng = random.Random(20_260_101)
    for text in _HONEST:
        query = query_of(text)
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
        query = query_of(text)
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
