"""The kinds of answers that were given: while there are few answers, far fewer than could have been."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.observations import Observations

__all__ = ["AnswerKinds"]

_Numbers = npt.NDArray[np.int64]
_DENSE, _MANY_EDGES = 4, 16
"""Each sparse number takes as long as so many in a full table, if queries have more edges than the second."""


@dataclass(frozen=True, eq=False)
class AnswerKinds:
    """Answers to queries, each with how often it was given.

    The chance of an answer is linear in the distribution function at the edges of its query's cells. That of
    randomised response depends on two of them at most, so the slopes are sparse.
    """

    counts: FloatArray
    """How often each was given, shape (kinds,)."""
    at_points: FloatArray
    """The chance of each for people at each point of the support, shape (kinds, points)."""
    edges: FloatArray
    """The edges on which some chance depends, as increasing coordinates, shape (edges,)."""
    _slopes: tuple["_Slopes", ...]
    """Those of the answers to queries that share a channel, for each channel."""
    _above: FloatArray
    """The chance of each for people above all edges, shape (kinds,)."""
    _floor: FloatArray
    """The smallest chance of each, shape (kinds,); rounding must not go below it."""

    @classmethod
    def of(cls, observations: Sequence[Observations], points: int) -> "AnswerKinds":
        """Those that came at least once, of a support with so many points."""
        none = np.empty(0)
        counts, above, floor, at_points = [none], [none], [none], [np.empty((0, points))]
        edges, slopes = np.unique(np.concatenate([none, *map(_edges, observations)])), []
        for part in observations:
            answers, queries = np.nonzero(part.answers)
            slopes.append(_Slopes.of(part, np.searchsorted(edges, part.edges), answers, queries, len(edges)))
            below_points = np.tensordot(part.channel.steps.T, part.points_below, axes=1)
            above.append(part.channel.matrix[-1, answers])
            at_points.append(above[-1][:, np.newaxis] + below_points[answers, queries])
            floor.append(part.channel.floor[answers])
            counts.append(part.answers[answers, queries])
        whole = np.concatenate(counts), np.concatenate(at_points), edges, tuple(slopes)
        return cls(*whole, np.concatenate(above), np.concatenate(floor))

    def chances(self, below: FloatArray) -> FloatArray:
        """The chances where a distribution function has these values at the edges (edges, n), shape (kinds, n)."""
        moved = [np.empty((0, below.shape[1])), *(slopes.times(below) for slopes in self._slopes)]
        return np.concatenate(moved) + self._above[:, np.newaxis]

    def log_likelihood(self, shares: FloatArray, below: FloatArray) -> FloatArray:
        """The log-likelihood, shape (n,), if people are at points and elsewhere with `shares` (n or 1, points + 1).

        Elsewhere they have a distribution function with the values `below` (edges, n) at the edges.
        """
        chances = self.chances(below)
        chances *= shares[:, -1]
        chances += self.at_points @ shares[:, :-1].T
        np.maximum(chances, self._floor[:, np.newaxis], out=chances)
        return np.asarray(self.counts @ np.log(chances, out=chances))


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The derivatives of the chances of some answers by the distribution function at the edges."""

    sparse: csr_array | None
    """Shape (kinds, edges); None where most answers were given, and depend on many edges."""
    steps: FloatArray
    """Those of each answer by the edges of a query, shape (answers, edges of a query)."""
    places: _Numbers
    """The number of each query's edges among all, shape (edges of a query, q)."""
    given: tuple[_Numbers, _Numbers]
    """The answers that were given, and the queries, shape (kinds,) each."""

    @classmethod
    def of(cls, part: Observations, places: _Numbers, answers: _Numbers, queries: _Numbers, edges: int) -> "_Slopes":
        table = None
        if _is_sparse(part):
            steps = part.channel.steps[:, answers]
            where, which = np.nonzero(steps)
            found = steps[where, which], (which, places[where, queries[which]])
            table = coo_array(found, shape=(len(answers), edges)).tocsr()
        return cls(table, part.channel.steps.T, places, (answers, queries))

    def times(self, below: FloatArray) -> FloatArray:
        """Their product with values at the edges (edges, n), shape (kinds, n)."""
        if self.sparse is not None:
            return np.asarray(self.sparse @ below)
        return np.asarray(np.tensordot(self.steps, below[self.places], axes=1)[self.given])


def _is_sparse(part: Observations) -> bool:
    answers, _ = np.nonzero(part.answers)
    needed = np.count_nonzero(part.channel.steps, axis=0)[answers].sum()
    few = len(part.edges) <= _MANY_EDGES
    return bool(few or _DENSE * needed < part.channel.steps.size * part.answers.shape[1])


def _edges(part: Observations) -> FloatArray:
    """The edges on which chances of answers that were given depend."""
    if not _is_sparse(part):
        return part.edges.ravel()
    answers, queries = np.nonzero(part.answers)
    where, which = np.nonzero(part.channel.steps[:, answers])
    return np.asarray(part.edges[where, queries[which]])
