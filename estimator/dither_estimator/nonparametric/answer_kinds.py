"""The kinds of answers that were given: while there are few answers, far fewer than could have been."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.observations import Observations

__all__ = ["AnswerKinds"]


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
    _slopes: csr_array
    """The derivatives of the chances by the distribution function at the edges, shape (kinds, edges)."""
    _above: FloatArray
    """The chance of each for people above all edges, shape (kinds,)."""
    _floor: FloatArray
    """The smallest chance of each, shape (kinds,); rounding must not go below it."""

    @classmethod
    def of(cls, observations: Sequence[Observations], points: int) -> "AnswerKinds":
        """Those that came at least once, of a support with so many points."""
        none = np.empty(0)
        counts, above, floor, at_points = [none], [none], [none], [np.empty((0, points))]
        kinds, edges, slopes = [np.empty(0, dtype=int)], [none], [none]
        for part in observations:
            answers, queries = np.nonzero(part.answers)
            steps = part.channel.steps[:, answers]
            where, which = np.nonzero(steps)
            kinds.append(which + sum(map(len, counts)))
            edges.append(part.edges[where, queries[which]])
            slopes.append(steps[where, which])
            above.append(part.channel.matrix[-1, answers])
            below_points = np.tensordot(part.channel.steps.T, part.points_below, axes=1)
            at_points.append(above[-1][:, np.newaxis] + below_points[answers, queries])
            floor.append(part.channel.floor[answers])
            counts.append(part.answers[answers, queries])
        places, column = np.unique(np.concatenate(edges), return_inverse=True)
        size = sum(map(len, counts)), len(places)
        table = coo_array((np.concatenate(slopes), (np.concatenate(kinds), column)), shape=size).tocsr()
        return cls(
            np.concatenate(counts),
            np.concatenate(at_points),
            places,
            table,
            np.concatenate(above),
            np.concatenate(floor),
        )

    def chances(self, below: FloatArray) -> FloatArray:
        """The chances where a distribution function has these values at the edges (edges, n), shape (kinds, n)."""
        return np.asarray(self._slopes @ below) + self._above[:, np.newaxis]

    def log_likelihood(self, shares: FloatArray, below: FloatArray) -> FloatArray:
        """The log-likelihood, shape (n,), if people are at points and elsewhere with `shares` (n or 1, points + 1).

        Elsewhere they have a distribution function with the values `below` (edges, n) at the edges.
        """
        chances = self.chances(below)
        chances *= shares[:, -1]
        chances += self.at_points @ shares[:, :-1].T
        np.maximum(chances, self._floor[:, np.newaxis], out=chances)
        return np.asarray(self.counts @ np.log(chances, out=chances))
