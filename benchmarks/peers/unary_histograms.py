"""Histograms over a range that is fixed beforehand, by optimised unary encoding (OUE; Wang et al. 2017).

One has the bins alone; the other a tree of ranges, each respondent asked about one level of it, and made consistent
(HH with constrained inference; Cormode, Kulkarni & Srivastava 2019, Hay et al. 2010). Bits are independent, so that
their sums are drawn, not the bits.
"""

import math

import numpy as np
import numpy.typing as npt

from benchmarks.peers.category_peers import on_probabilities
from dither_estimator.families import FloatArray

__all__ = ["consistent_leaves", "flat_shares", "tree_shares", "unary_estimates"]

_BRANCHES, _LEVELS = 4, 5


def unary_estimates(rng: np.random.Generator, people: npt.NDArray[np.int64], epsilon: float) -> FloatArray:
    """Unbiased estimates of the shares of bins with so many people."""
    total, other = people.sum(), 1 / (math.exp(epsilon) + 1)
    named = rng.binomial(people, 0.5) + rng.binomial(total - people, other)
    return (named / total - other) / (0.5 - other)


def flat_shares(rng: np.random.Generator, values: FloatArray, epsilon: float, bins: int) -> FloatArray:
    """Shares of bins of [0, 1], the nearest probabilities to the estimates."""
    return on_probabilities(unary_estimates(rng, _people(values, bins), epsilon))


def tree_shares(rng: np.random.Generator, values: FloatArray, epsilon: float) -> FloatArray:
    """Shares of the 4⁵ leaves of a tree over [0, 1], consistent, but maybe negative."""
    levels = rng.permutation(len(values)) % _LEVELS
    return consistent_leaves(
        [
            unary_estimates(rng, _people(values[levels == level], _BRANCHES ** (level + 1)), epsilon)
            for level in range(_LEVELS)
        ]
    )


def consistent_leaves(estimates: list[FloatArray]) -> FloatArray:
    """Leaves by least squares from estimates of each level below the root, which is 1.

    All estimates count the same, as they have nearly the same variance.
    """
    branches = len(estimates[0])
    better = [estimates[-1]]
    for height, own in enumerate(reversed(estimates[:-1]), 2):
        below = better[-1].reshape(-1, branches).sum(axis=1)
        full = branches**height
        better.append(((full - full // branches) * own + (full // branches - 1) * below) / (full - 1))
    leaves = np.ones(1)
    for level in reversed(better):
        apart = leaves - level.reshape(-1, branches).sum(axis=1)
        leaves = level + np.repeat(apart / branches, branches)
    return leaves


def _people(values: FloatArray, bins: int) -> npt.NDArray[np.int64]:
    """How many values are in each bin of [0, 1]."""
    return np.bincount(np.minimum((values * bins).astype(int), bins - 1), minlength=bins)
