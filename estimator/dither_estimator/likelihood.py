"""The exact likelihood of a count table: finite sums over cells, no latent values (design section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_estimator.channels import QueryGroup, group_queries
from dither_estimator.counts import Counts
from dither_estimator.families import Family, FloatArray

__all__ = ["CountLikelihood"]

_BLOCK = 1 << 18
"""CDF values computed at once: blocks of 2 MiB stay in cache and let other threads run."""


@dataclass(frozen=True)
class CountLikelihood:
    """`log p(counts | θ) = Σ_{query, answer} counts · log p(answer | θ, query)` for one table of counts.

    Counts may be fractions: a tempered table is one of them.
    """

    family: Family
    groups: Sequence[QueryGroup]
    counts: Sequence[FloatArray]
    """One array (n_answers, q) for each group."""

    @classmethod
    def of(cls, family: Family, counts: Counts) -> "CountLikelihood":
        """The likelihood of a table."""
        rows = list(counts.values())
        groups = group_queries(counts)
        return cls(family, groups, [np.array([rows[i] for i in g.indices], dtype=float).T for g in groups])

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Shape (n,), for `theta` (n, d)."""
        total = np.zeros(len(theta))
        for group, counts in zip(self.groups, self.counts, strict=True):
            size = max(1, _BLOCK // max(1, group.edges.size))
            for start in range(0, len(theta), size):
                shares = group.probabilities(self.family, theta[start : start + size])
                np.log(shares, out=shares)
                total[start : start + size] += shares.reshape(len(shares), -1) @ counts.ravel()
        return total
