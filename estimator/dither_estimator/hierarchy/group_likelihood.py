"""The exact likelihood of the count tables of many groups, each at parameters of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import Channel, group_queries

__all__ = ["GroupLikelihood"]

_BLOCK_SIZE = 1 << 17
"""Probabilities computed at once: blocks of 1 MiB stay in the cache."""
_MAX_SUMMED = 32
"""Up to this many edges times answers, sums are faster than a product of matrices."""


@dataclass(frozen=True)
class _Asked:
    """Questions of one channel, each asked in one group; a question that two groups had is there twice."""

    channel: Channel
    groups: npt.NDArray[np.intp]
    """The group of each question, not decreasing, shape (q,)."""
    edges: FloatArray
    """Shape (q, n_cells - 1)."""
    answers: npt.NDArray[np.int64]
    """The answers that were given at all, shape (a,)."""
    counts: FloatArray
    """How often, shape (q, a)."""

    def probabilities(self, family: Family, theta: FloatArray) -> FloatArray:
        """`p(answer)`, shape (k, q, a), for parameters (k, q, d)."""
        k, q, _ = theta.shape
        return self.channel.probabilities_of(self.answers, self._cdf(family, theta)).reshape(k, q, -1)

    def log_likelihood(self, family: Family, theta: FloatArray) -> FloatArray:
        """The log-likelihood of the answers to each question, shape (k, q), for parameters (k, q, d)."""
        if self.channel.steps[:, self.answers].size > _MAX_SUMMED:
            shares = self.probabilities(family, theta)
            return np.asarray(np.einsum("kqa,qa->kq", np.log(shares, out=shares), self.counts))
        k, q, _ = theta.shape
        heights = np.ascontiguousarray(self._cdf(family, theta).T).reshape(-1, k, q)
        total = np.zeros((k, q))
        for answer, counts in zip(self.answers, self.counts.T, strict=True):
            share = np.full((k, q), self.channel.matrix[-1, answer])
            for height, step in zip(heights, self.channel.steps[:, answer], strict=True):
                if step:
                    share += step * height
            np.maximum(share, self.channel.floor[answer], out=share)
            total += counts * np.log(share, out=share)
        return total

    def _cdf(self, family: Family, theta: FloatArray) -> FloatArray:
        """The distribution function at the edges, shape (k q, n_cells - 1)."""
        k, q, d = theta.shape
        edges = np.broadcast_to(self.edges, (k, *self.edges.shape)).reshape(k * q, -1)
        return family.cdf(theta.reshape(k * q, d), edges)


@dataclass(frozen=True)
class GroupLikelihood:
    """`log p(counts of group g | θ_g)` for all groups."""

    family: Family
    size: int
    """The number of groups."""
    asked: Sequence[_Asked]

    @classmethod
    def of(cls, family: Family, tables: Sequence[Counts]) -> "GroupLikelihood":
        """The likelihood of one count table for each group."""
        pairs = [(group, query, row) for group, table in enumerate(tables) for query, row in table.items()]
        found = []
        for some in group_queries(query for _, query, _ in pairs):
            counts = np.array([pairs[i][2] for i in some.indices], dtype=float)
            answers = np.flatnonzero(counts.any(axis=0))
            groups = np.array([pairs[i][0] for i in some.indices])
            found.append(_Asked(some.channel, groups, some.edges.T.copy(), answers, counts[:, answers]))
        return cls(family, len(tables), found)

    def log_likelihood(self, coordinates: FloatArray) -> FloatArray:
        """Shape (k, groups), for unconstrained coordinates (d, k, groups); -∞ where floating point cannot hold them."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            total = self._log_likelihood(coordinates)
        return np.where(np.isnan(total), -np.inf, total)

    def _log_likelihood(self, coordinates: FloatArray) -> FloatArray:
        d, k, _ = coordinates.shape
        theta = self.family.constrain(coordinates.reshape(d, -1).T).reshape(k, self.size, d)
        total = np.zeros((k, self.size))
        for some in self.asked:
            rows = max(1, _BLOCK_SIZE // (len(some.groups) * max(len(some.answers), some.edges.shape[1])))
            for start in range(0, k, rows):
                block = slice(start, start + rows)
                found = some.log_likelihood(self.family, theta[block][:, some.groups])
                _add_by_group(total[block], some.groups, found)
        return total

    def score_and_information(self, coordinates: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope (groups, d) of the log-likelihood and its expected information (groups, d, d) at (d, groups).

        By central differences of this `step` (d,) in each coordinate.
        """
        d = len(coordinates)
        shifts = np.concatenate([np.zeros((1, d)), np.diag(step), -np.diag(step)]).T
        theta = self.family.constrain((coordinates[:, None] + shifts[:, :, None]).reshape(d, -1).T)
        theta = theta.reshape(2 * d + 1, self.size, d)
        score, information = np.zeros((d, self.size)), np.zeros((d, d, self.size))
        for some in self.asked:
            shares = some.probabilities(self.family, theta[:, some.groups])
            slopes = (shares[1 : d + 1] - shares[d + 1 :]) / (2 * step[:, None, None])
            relative = slopes / shares[0]
            _add_by_group(score, some.groups, np.einsum("iqa,qa->iq", relative, some.counts))
            weighted = slopes * some.counts.sum(axis=1)[:, None]
            for i in range(d):
                _add_by_group(information[i], some.groups, np.einsum("qa,jqa->jq", weighted[i], relative))
        return score.T, np.moveaxis(information, -1, 0)


def _add_by_group(total: FloatArray, groups: npt.NDArray[np.intp], values: FloatArray) -> None:
    """Adds the columns (…, q) that belong to a group to that column of `total` (…, groups)."""
    found, starts = np.unique(groups, return_index=True)
    total[..., found] += np.add.reduceat(values, starts, axis=-1)
