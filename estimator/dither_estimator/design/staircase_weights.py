"""Integer weights of sets of cells that cover every cell equally, close to given real weights.

The weights with equal coverage form the null space of an integer matrix, computed exactly in rationals. Its free
coordinates are rounded to multiples of a common fraction; the others follow, so coverage is exactly equal.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dither_client.mechanisms.staircase import MAX_WEIGHT
from dither_estimator.design.columns import Patterns
from dither_estimator.families import FloatArray

__all__ = ["whole_weights"]

_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)

_Row = list[Fraction]


def whole_weights(patterns: Patterns, orbits: FloatArray, weights: FloatArray) -> Iterator[tuple[int, ...]]:
    """Positive integer weights (N,) without common divisor that cover every cell equally, ever closer to those given.

    `patterns` (N, n) says which cells each set contains, `orbits` (N, k) which of the k positive `weights` (k,) it has.
    No result exceeds `MAX_WEIGHT`.
    """
    heavy_first = np.argsort(-weights)
    counts = (patterns.T.astype(int) @ orbits.astype(int))[:, heavy_first]
    rows = [[Fraction(-1), *map(Fraction, row)] for row in counts.tolist()]
    free, solved = _null_space([list(row) for row in rows])
    goal = np.append(1.0, weights[heavy_first])[free]
    number = np.empty(len(weights), dtype=int)
    number[heavy_first] = np.arange(len(weights))
    seen = set()
    for denominator in _DENOMINATORS:
        chosen = [Fraction(round(x)) for x in (goal * (denominator / goal.max())).tolist()]
        values = _completed(free, solved, chosen, len(rows[0]))
        if min(values) <= 0:
            continue
        whole = _whole([values[1 + j] for j in number])
        if max(whole) <= MAX_WEIGHT and whole not in seen:
            seen.add(whole)
            yield tuple(whole[int(k)] for k in orbits.argmax(axis=1))


def _null_space(rows: list[_Row]) -> tuple[list[int], dict[int, _Row]]:
    """The free columns of `rows · x = 0`, and for each other column its reduced row."""
    solved: dict[int, _Row] = {}
    remaining, width = rows, len(rows[0])
    for column in range(width):
        pivot = next((row for row in remaining if row[column]), None)
        if pivot is None:
            continue
        remaining = [row for row in remaining if row is not pivot]
        pivot = [entry / pivot[column] for entry in pivot]
        remaining = [_without(row, pivot, column) for row in remaining]
        solved = {other: _without(row, pivot, column) for other, row in solved.items()}
        solved[column] = pivot
    return [column for column in range(width) if column not in solved], solved


def _without(row: _Row, pivot: _Row, column: int) -> _Row:
    factor = row[column]
    return [entry - factor * other for entry, other in zip(row, pivot, strict=True)] if factor else row


def _completed(free: list[int], solved: dict[int, _Row], chosen: list[Fraction], width: int) -> list[Fraction]:
    values = [Fraction(0)] * width
    for column, value in zip(free, chosen, strict=True):
        values[column] = value
    for column, row in solved.items():
        values[column] = -sum((row[other] * values[other] for other in free), Fraction(0))
    return values


def _whole(values: list[Fraction]) -> tuple[int, ...]:
    common = math.lcm(*(value.denominator for value in values))
    whole = [int(value * common) for value in values]
    divisor = math.gcd(*whole)
    return tuple(value // divisor for value in whole)
