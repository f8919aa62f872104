"""The exact likelihood of a count table and of institutions' counts, without latent values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.institutions import MemberLikelihood, Members
from dither_estimator.mechanisms.channels import Channel, QueryGroup, group_queries

__all__ = ["CountLikelihood"]

_BLOCK_SIZE = 1 << 18
"""CDF values computed at once: blocks of 2 MiB stay in the cache and let other threads run."""

_SPARSE_DIVISOR = 4
"""Most of many possible answers never occur: if at most one in this many did, only their probabilities are computed."""


@dataclass(frozen=True)
class CountLikelihood:
    """`log p(counts | θ) = Σ_{query, answer} counts · log p(answer | θ, query)` for one table of counts.

    Counts of a tempered table may be fractional.
    """

    family: Family
    groups: Sequence[QueryGroup]
    counts: Sequence[FloatArray]
    """One array (n_answers, q) per group."""
    members: MemberLikelihood | None = field(default=None)
    """The likelihood of institutions' counts, if any."""

    @classmethod
    def of(cls, family: Family, counts: Counts, members: Members | None = None) -> "CountLikelihood":
        """The likelihood of a table and of the counts that institutions shared."""
        # Sorted so that queries without some answer are adjacent, and that answer's probability is not computed for
        # them.
        table = dict(sorted(counts.items(), key=lambda item: bool(item[1][-1]) - bool(item[1][0])))
        rows = list(table.values())
        groups = group_queries(table)
        shared = MemberLikelihood.of(family, members) if members else None
        return cls(family, groups, [np.array([rows[i] for i in g.indices], dtype=float).T for g in groups], shared)

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """The log-likelihood, shape (n,), for `theta` (n, d)."""
        total = np.zeros(len(theta)) if self.members is None else self.members.log_likelihood(theta)
        for group, counts in zip(self.groups, self.counts, strict=True):
            if np.count_nonzero(counts) * _SPARSE_DIVISOR < counts.size:
                _add_scattered(total, self.family, theta, group, counts)
                continue
            size = max(1, _BLOCK_SIZE // max(1, group.edges.size))
            for start in range(0, len(theta), size):
                block = slice(start, start + size)
                cdf = self.family.cdf(theta[block], group.edges.ravel())
                total[block] += _log_likelihood(group.channel, cdf.reshape(len(cdf), *group.edges.shape), counts)
        return total


def _log_likelihood(channel: Channel, cdf: FloatArray, counts: FloatArray) -> FloatArray:
    """The log-likelihood, shape (n,), from the CDF at the edges (n, n_cells - 1, q) and counts (n_answers, q)."""
    if channel.steps.shape != (1, 2):
        shares = channel.probabilities(cdf)
        np.log(shares, out=shares)
        return shares.reshape(len(shares), -1) @ counts.ravel()
    total = np.zeros(len(cdf))
    for answer, row in enumerate(counts):
        came = np.flatnonzero(row)
        if len(came):
            span = slice(came[0], came[-1] + 1)
            shares = channel.probability(answer, cdf[:, 0, span])
            np.log(shares, out=shares)
            total += shares @ row[span]
    return total


def _add_scattered(total: FloatArray, family: Family, theta: FloatArray, group: QueryGroup, counts: FloatArray) -> None:
    """Add the log-likelihood of sparse counts (n_answers, q) to `total` (n,), from the answers that occurred."""
    size = max(1, _BLOCK_SIZE // len(group.edges))
    for edges, column in zip(group.edges.T, counts.T, strict=True):
        came = np.flatnonzero(column)
        for start in range(0, len(theta), size) if len(came) else ():
            block = slice(start, start + size)
            shares = group.channel.probabilities_of(came, family.cdf(theta[block], edges))
            total[block] += np.log(shares, out=shares) @ column[came]
