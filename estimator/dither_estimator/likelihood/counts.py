"""Count tables: how often each query got each answer, which is all that the posterior needs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither_client import Query

__all__ = ["Counts", "answers_by_epsilon", "check_counts", "counts_beyond", "in_order", "merge_counts", "total_answers"]

Counts = Mapping[Query, npt.NDArray[np.int64]]
"""`counts[query][answer]`: an array of `query.n_answers` counts for each query. Treated as immutable."""


def check_counts(table: Mapping[Query, Sequence[int] | npt.NDArray[np.int64]]) -> dict[Query, npt.NDArray[np.int64]]:
    """`table` as `Counts`, without unanswered queries. Raises `ValueError` if it is not a table of counts."""
    checked = {}
    for query, row in table.items():
        counts = np.asarray(row)
        if counts.shape != (query.n_answers,) or not np.issubdtype(counts.dtype, np.integer):
            raise ValueError(f"a query with {query.n_answers} answers needs as many integer counts")
        if counts.min() < 0:
            raise ValueError("counts must be 0 or more")
        if counts.any():
            checked[query] = counts.astype(np.int64)
    return checked


def merge_counts(first: Counts, second: Counts) -> dict[Query, npt.NDArray[np.int64]]:
    """The sum of two tables."""
    merged = dict(first)
    for query, row in second.items():
        merged[query] = merged[query] + row if query in merged else row
    return merged


def counts_beyond(more: Counts, known: Counts) -> dict[Query, npt.NDArray[np.int64]] | None:
    """What a table has beyond a known one, without unanswered queries; None if it has less anywhere."""
    if not known.keys() <= more.keys():
        return None
    beyond = {}
    for query, row in more.items():
        new = row - known[query] if query in known else row
        if (new < 0).any():
            return None
        if new.any():
            beyond[query] = new
    return beyond


def answers_by_epsilon(counts: Counts) -> Counter[Fraction]:
    """The number of answers in a table at each ε."""
    answers: Counter[Fraction] = Counter()
    for query, row in counts.items():
        answers[query.epsilon] += int(row.sum())
    return answers


def total_answers(counts: Counts) -> int:
    """The number of answers in a table."""
    return sum(int(row.sum()) for row in counts.values())


def in_order(tables: Iterable[Counts]) -> list[Counts]:
    """The tables with their questions in an order that does not depend on when they were asked."""
    return [dict(sorted(table.items(), key=lambda item: item[0].id)) for table in tables]
