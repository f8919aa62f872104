"""Channels as arrays, and queries grouped by the channel that they share."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import Family, FloatArray

__all__ = ["Cells", "Channel", "QueryGroup", "channel_of", "group_queries"]


_SMALL_PROBABILITY = 1e-3
"""Rounding only matters for answers whose smallest probability is below this."""


@dataclass(frozen=True)
class Channel:
    """The distribution of answers given cells, shared by all queries of a mechanism with the same `channel_key`."""

    kind: type[Query]
    key: tuple[Hashable, ...]
    matrix: FloatArray = field(compare=False, repr=False)
    """`Q[cell, answer]`, shape (n_cells, n_answers)."""
    steps: FloatArray = field(compare=False, repr=False)
    """`Q[k] - Q[k + 1]`, shape (n_cells - 1, n_answers): the weight in `p` of the CDF at edge k."""
    floor: FloatArray = field(compare=False, repr=False)
    """The smallest probability of each answer over the cells; rounding must not take `p` below it."""

    def probabilities(self, cdf: FloatArray) -> FloatArray:
        """`P(answer)`, shape (n, n_answers, q), from the CDF at the edges of q queries, shape (n, n_cells - 1, q).

        By summation by parts: `p_s = Q[last, s] + Σ_k F(e_k) (Q[k, s] - Q[k + 1, s])`.
        """
        shares = self.steps.T * cdf if len(self.steps) == 1 else self.steps.T @ cdf
        shares += self.matrix[-1][:, None]
        return np.maximum(shares, self.floor[:, None], out=shares)

    def probabilities_of(self, answers: npt.NDArray[np.int64], cdf: FloatArray) -> FloatArray:
        """`P(answer)` for some answers (k,), shape (n, k), from the CDF at one question's edges (n, n_cells - 1)."""
        shares = cdf @ self.steps[:, answers]
        shares += self.matrix[-1, answers]
        return np.maximum(shares, self.floor[answers], out=shares)

    def probability(self, answer: int, cdf: FloatArray) -> FloatArray:
        """`P(answer)` for questions with a single edge, from the CDF there, of any shape."""
        share: FloatArray = self.steps[0, answer] * cdf
        share += self.matrix[-1, answer]
        if self.floor[answer] < _SMALL_PROBABILITY:
            np.maximum(share, self.floor[answer], out=share)
        return share


@lru_cache(maxsize=1 << 14)
def _channel(shape: "_Shape") -> Channel:
    matrix = np.array(shape.example.channel())
    matrix.setflags(write=False)
    return Channel(shape.kind, shape.key, matrix, matrix[:-1] - matrix[1:], matrix.min(axis=0))


@dataclass(frozen=True)
class _Shape:
    kind: type[Query]
    key: tuple[Hashable, ...]
    example: Query = field(compare=False)


@lru_cache(maxsize=1 << 14)
def channel_of(query: Query) -> Channel:
    """The channel of a query as arrays."""
    return _channel(_Shape(type(query), query.channel_key, query))


@dataclass(frozen=True)
class Cells:
    """The cells of several questions that share a channel, to be evaluated together."""

    channel: Channel
    edges: FloatArray
    """The edges of the questions' cells, shape (n_cells - 1, q)."""

    def probabilities(self, family: Family, theta: FloatArray) -> FloatArray:
        """`p(answer | θ, question)`, shape (n, n_answers, q), for `theta` (n, d)."""
        cdf = family.cdf(theta, self.edges.ravel())
        return self.channel.probabilities(cdf.reshape(len(theta), *self.edges.shape))


@dataclass(frozen=True)
class QueryGroup(Cells):
    """Queries that share a channel."""

    queries: tuple[Query, ...]
    indices: tuple[int, ...]
    """The position of each query in the sequence that was grouped."""


def group_queries(queries: Iterable[Query]) -> list[QueryGroup]:
    """Group queries by channel, in order of first appearance."""
    members: dict[int, list[tuple[int, Query]]] = {}
    for index, query in enumerate(queries):
        members.setdefault(id(channel_of(query)), []).append((index, query))
    return [
        QueryGroup(
            channel_of(rows[0][1]),
            np.array([query.edges for _, query in rows]).T.copy(),
            tuple(query for _, query in rows),
            tuple(index for index, _ in rows),
        )
        for rows in members.values()
    ]
