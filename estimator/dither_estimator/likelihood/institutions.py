"""Noisy counts that institutions share: how many of their members lie above a cut; and their exact likelihood.

An institution holds the values of `n` members. The number `K` above the cut is binomial given θ; the institution shares
`S = clip(K + Z, 0, n)` with `P(Z = z) ∝ exp(-ε |z|)`. This is ε-private for each member, since one member changes `K`
by at most 1. No sum over `K` is needed, because `exp(ε K)` tilts one binomial distribution into another.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import betainc, betaln

from dither_client.mechanisms.member_counts import MemberTable
from dither_estimator.families import Family, FloatArray

__all__ = [
    "MemberCount",
    "MemberLikelihood",
    "Members",
    "log_probability",
    "members_of",
    "merge_members",
    "total_members",
    "without_members",
]

_MIN_BETAINC = 1e-280
"""Below this the incomplete beta function is computed through its logarithm."""
_MAX_TERMS = 1_000


@dataclass(frozen=True, slots=True)
class MemberCount:
    """One noisy count: `count` of `size` members above `cut`, which is on the transformed scale."""

    cut: float
    size: int
    epsilon: Fraction
    count: int


Members = Mapping[MemberCount, int]
"""How often each noisy count was shared. Treated as immutable."""


def members_of(table: MemberTable) -> Members:
    """The counts of a table of institutions, as the estimator represents them."""
    return {
        MemberCount(question.cuts[0], question.size, question.epsilon, count): times
        for question, found in table.items()
        for count, times in found.items()
    }


def total_members(members: Members) -> int:
    """The number of members counted."""
    return sum(member.size * times for member, times in members.items())


def merge_members(first: Members, second: Members) -> Members:
    """The sum of two tables."""
    return Counter(first) + Counter(second)


def without_members(table: Members, known: Members) -> Members | None:
    """The counts in `table` beyond those in `known`; None if `known` is not contained in it."""
    return None if Counter(known) - Counter(table) else Counter(table) - Counter(known)


@dataclass(frozen=True)
class MemberLikelihood:
    """`Σ weight · log p(count | θ)`; weights of tempered counts may be fractional."""

    family: Family
    members: Sequence[MemberCount]
    weights: Sequence[float]

    @classmethod
    def of(cls, family: Family, members: Members) -> "MemberLikelihood":
        """The likelihood of a table of counts."""
        return cls(family, list(members), [float(count) for count in members.values()])

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """The log-likelihood, shape (n,), for `theta` (n, d)."""
        total = np.zeros(len(theta))
        if not self.members:
            return total
        cuts = sorted({member.cut for member in self.members})
        below = dict(zip(cuts, self.family.cdf(theta, np.array(cuts)).T, strict=True))
        for member, weight in zip(self.members, self.weights, strict=True):
            if weight:
                total += weight * log_probability(below[member.cut], member.size, float(member.epsilon), member.count)
        return total


def log_probability(below: FloatArray, size: int, epsilon: float, count: int) -> FloatArray:
    """`log P(S = count)` if a member lies below the cut with probability `below`, shape (n,).

    With `α = e^(-ε)`, `P(S = s) = (1-α)/(1+α) (E[α^(s-K); K ≤ s] + E[α^(K-s); K > s])` for `0 < s < n`; at the ends the
    probabilities are `E[α^K] / (1+α)` and `E[α^(n-K)] / (1+α)`. Exact up to rounding, a relative error of about 1e-9.
    """
    above = 1.0 - below
    alpha = np.exp(-epsilon)
    fewer = size * np.log(below + above * alpha)
    """log E[α^K]"""
    if count == 0:
        return np.asarray(fewer - np.log1p(alpha))
    more = size * np.log(below * alpha + above)
    """log E[α^(n-K)]"""
    if count == size:
        return np.asarray(more - np.log1p(alpha))
    up, down = below * alpha + above, below + above * alpha
    low = more + epsilon * (size - count) + _log_betainc(size - count, count + 1, below * alpha / up, above / up)
    high = fewer + epsilon * count + _log_betainc(count + 1, size - count, above * alpha / down, below / down)
    return np.asarray(np.log(np.tanh(epsilon / 2)) + np.logaddexp(low, high))


def _log_betainc(a: int, b: int, x: FloatArray, rest: FloatArray) -> FloatArray:
    """`log I_x(a, b)`, even if `I_x(a, b)` underflows; `rest` is `1 - x`."""
    value = betainc(a, b, x)
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(value)
    far = (value < _MIN_BETAINC) & (x > 0)
    if far.any():
        logs = a * np.log(x[far]) + b * np.log(rest[far]) - np.log(a) - betaln(a, b)
        found[far] = logs + np.log(_fraction(a, b, x[far]))
    return found


def _fraction(a: int, b: int, x: FloatArray) -> FloatArray:
    """`I_x(a, b) a B(a, b) / (x^a (1-x)^b)` by the continued fraction DLMF 8.17.22 (Lentz's method), for tails."""
    c = np.ones_like(x)
    d = 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, _MAX_TERMS):
        before = total
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            total = total * c * d
        if np.abs(total - before).max() <= 1e-12 * np.abs(total).max():
            break
    return total
