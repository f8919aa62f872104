"""Counts of queries that share a channel, with their edges as coordinates of a support."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import Channel, group_queries
from dither_estimator.nonparametric.support import Support

__all__ = ["Observations"]


@dataclass(frozen=True)
class Observations:
    """The answers to q queries that share a channel."""

    channel: Channel
    cuts: FloatArray
    """The edges of the queries' cells in units of values, shape (edges, q)."""
    edges: FloatArray
    """The edges as coordinates, shape (edges, q)."""
    points_below: FloatArray
    """1 where a point is at or below an edge, else 0; shape (edges, q, points)."""
    answers: FloatArray
    """How often each answer was given, shape (answers, q)."""

    @classmethod
    def of(cls, counts: Counts, support: Support) -> list["Observations"]:
        """All of a table. Raises `ValueError` if a query has a transform: cuts must be in the units of values."""
        counts = {query: row for query, row in counts.items() if row.any()}
        if any(query.transform != "identity" for query in counts):
            raise ValueError("questions about any distribution must have cuts in the units of values, not transformed")
        rows, points = list(counts.values()), np.array(support.points)
        return [
            cls(
                group.channel,
                group.edges,
                support.coordinate(group.edges),
                (group.edges[..., np.newaxis] >= points).astype(float),
                np.array([rows[index] for index in group.indices], dtype=float).T,
            )
            for group in group_queries(counts)
        ]

    def log_likelihood(self, cdf: FloatArray) -> float:
        """The log-likelihood of a distribution function's values at the edges (edges, q)."""
        return float((self.answers * np.log(self._probabilities(cdf))).sum())

    def derivatives(self, cdf: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient (d,) of the log-likelihood and the information (d, d).

        Of the distribution function (edges, q), with derivatives `slopes` (edges, q, d).
        """
        p = self._probabilities(cdf)[..., np.newaxis]
        moved = np.tensordot(self.channel.steps.T, slopes, axes=1)
        gradient = (moved * (self.answers[..., np.newaxis] / p)).sum(axis=(0, 1))
        flat, weights = moved.reshape(-1, moved.shape[2]), (self.answers.sum(axis=0)[:, np.newaxis] / p).reshape(-1, 1)
        return gradient, flat.T @ (weights * flat)

    def _probabilities(self, cdf: FloatArray) -> FloatArray:
        return self.channel.probabilities(cdf[np.newaxis])[0]
