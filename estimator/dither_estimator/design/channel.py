"""The best ε-LDP channel on given cells for unknowns in many dimensions, such as the cells' probabilities themselves.

As in `limit`, a convex programme over a growing list of columns is solved, and prices of cells bound what any other
column could add. In few dimensions a grid of answers' meanings finds these prices; in many there is no such grid, and
the meanings are those of the list. On up to 20 cells every column there is (a million) is held against the prices, so
that the bound holds for every mechanism on the cells; on more, those to which ascents from the list lead.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np

from dither_estimator.design.columns import Columns, Patterns, distinct
from dither_estimator.design.convex import Criterion
from dither_estimator.design.limit_lp import least_prices
from dither_estimator.families import FloatArray

__all__ = ["MOST_SEARCHED", "BestChannel", "best_channel", "intervals"]

MOST_SEARCHED = 20
"""The largest number of cells on which every column is looked at."""

_MAX_ROUNDS = 20
_TOLERANCE = 5e-4
_MOST_ADDED = 100
"""The most columns that join the list in a round, each with its complement."""
_MIN_IMPROVING = 25
"""If the ascents lead to fewer columns that would improve, others start nearby."""
_MOST_TURNED = 4
_KEPT_SHARE = 1e-6
"""Columns with less than this share of the largest weight are not in use."""


@dataclass(frozen=True, eq=False)
class BestChannel:
    """The best ε-LDP mechanism on the cells."""

    patterns: Patterns
    """The columns in use, shape (N, n)."""
    weights: FloatArray
    """Their weights, shape (N,)."""
    information: FloatArray
    """The information of one answer, shape (d, d)."""
    criterion: float
    gap: float
    """No mechanism on these cells has a criterion lower by more than this, as far as columns were looked at."""


def intervals(n: int) -> Patterns:
    """The columns that are 1 in an interval of n cells, shape (N, n)."""
    first, last = (index[:, np.newaxis] for index in np.triu_indices(n + 1, 1))
    return (first <= np.arange(n)) & (np.arange(n) < last)


def best_channel(columns: Columns, criterion: Criterion, starts: Patterns) -> BestChannel:
    """The mechanism with the least criterion, to within half a thousandth, and its certificate.

    `starts` are the first columns of the list, (N, n). With their complements, they must determine all unknowns that
    the criterion needs.
    """
    patterns = distinct(np.concatenate([starts, ~starts]))
    bound = 0.0
    for turn in count(1):
        weights, matrix = columns.best_mechanism(criterion, patterns, 0.01 * _TOLERANCE)
        value = criterion.value(matrix)
        used = weights > _KEPT_SHARE * weights.max()
        certified, better = _certificate(columns, criterion, matrix, patterns, patterns[used])
        bound = max(bound, certified)
        if value - bound < _TOLERANCE * value or turn == _MAX_ROUNDS:
            break
        patterns = distinct(np.concatenate([patterns, better, ~better]))
    return BestChannel(patterns[used], weights[used], matrix, value, max(0.0, value - bound))


def _certificate(
    columns: Columns, criterion: Criterion, matrix: FloatArray, patterns: Patterns, used: Patterns
) -> tuple[float, Patterns]:
    """A lower bound on every mechanism's criterion, and columns that improve on the information `matrix`.

    `patterns` is the list of columns, and `used` those of the best mechanism with them, which has that information.
    """
    scores = columns.scores(criterion, matrix)
    worth = columns.worth(scores, columns.means(scores, patterns))
    prices, _, _ = least_prices(worth, columns.fold, columns.low, 0.01 * _TOLERANCE)
    if len(prices) <= MOST_SEARCHED:
        better, excess = _among_all(columns, scores, prices)
    else:
        better, excess = columns.beyond(scores, prices, patterns)
        if len(better) < _MIN_IMPROVING:
            better, excess = columns.beyond(scores, prices, np.concatenate([patterns, _neighbours(used)]))
    best = criterion.value(matrix) * float(prices.sum() + excess.max(initial=0.0))
    return criterion.bound(matrix, best), better[np.argsort(-excess)[:_MOST_ADDED]]


def _neighbours(patterns: Patterns) -> Patterns:
    """The patterns with some adjacent cells turned, at most `_MOST_TURNED`."""
    n = patterns.shape[1]
    turned = intervals(n)
    turned = turned[turned.sum(axis=1) <= _MOST_TURNED]
    return np.asarray((patterns[:, np.newaxis] ^ turned).reshape(-1, n))


def _among_all(columns: Columns, scores: FloatArray, prices: FloatArray) -> tuple[Patterns, FloatArray]:
    """`Columns.beyond` over all columns: for each half of the cells' first half, the best that begins with it."""
    n = len(prices)
    middle = n // 2
    amounts = np.column_stack([columns.cells, prices, columns.shares, scores])
    heads, tails = _subsets(middle), _subsets(n - middle)
    of_tails = columns.values(tails) @ amounts[middle:]
    best, excess = [], []
    for of_head in columns.values(heads) @ amounts[:middle]:
        chance, price, share, *score = (of_head + of_tails).T
        beyond = (np.square(score).sum(axis=0) / chance - price) / share
        best.append(int(beyond.argmax()))
        excess.append(beyond[best[-1]])
    found, patterns = np.array(excess), np.concatenate([heads, tails[best]], axis=1)
    return patterns[found > 0], found[found > 0]


def _subsets(n: int) -> Patterns:
    """All subsets of n cells, shape (2^n, n)."""
    return (np.arange(1 << n)[:, np.newaxis] >> np.arange(n) & 1).astype(bool)
