"""A test of whether completion depends on the question, valid however often one looks at it.

The posterior is right if the chance that a ticket is answered does not depend on the answer, and so not on the value.
If people above a threshold drop out more often, questions with a high threshold are completed more often than those
with a low one. Questions follow the posterior and completion varies with the hour, so tickets are compared only within
a period (Mantel & Haenszel 1959; for several groups Mantel 1963, Birch 1965): given how many of a period's tickets were
completed, chance alone determines each question's share of them. Public groups have questions and rates of response of
their own, and so have those who choose one ε, so tickets are compared only within a group and at one ε, too, and
questions are low or high among those of their group at that ε.

Answers that may still arrive do not matter here: a ticket counts as completed if it was answered within a time limit
that has passed for all tickets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from dither_estimator.families import FloatArray

__all__ = ["ALPHA", "CompletionLook", "Slices", "completion_looks", "next_look"]

ALPHA = 0.01
"""The probability of a false alarm over all looks."""
_FIRST_LOOK = 250
"""Tickets at the first look; each later one has twice as many."""
_MAX_GROUPS = 6
_MIN_PER_GROUP = 10
"""The fewest completed tickets, and the fewest others, per group on average."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Tickets in slices, each issued in one period for questions about one place; every array has shape (slices,).

    Slices may come in any order, and several may be alike.
    """

    periods: IntArray
    places: FloatArray
    """The middle of a question's edges, by which questions are ordered."""
    tickets: IntArray
    completed: IntArray
    groups: IntArray
    """A number for the public group that was asked and the ε that was chosen; any where there are neither."""

    def until(self, period: int) -> "Slices":
        """The slices up to the end of this period."""
        seen = self.periods <= period
        return Slices(
            self.periods[seen], self.places[seen], self.tickets[seen], self.completed[seen], self.groups[seen]
        )


@dataclass(frozen=True, slots=True)
class CompletionLook:
    """One interim look at all tickets up to the end of a period."""

    tickets: int
    p_value: float
    alpha: float
    """The look's significance level: an alarm if the p-value does not exceed it."""

    @property
    def alarm(self) -> bool:
        """Whether this look finds that completion depends on the question."""
        return self.p_value <= self.alpha


def completion_looks(slices: Slices, known: Sequence[CompletionLook] = ()) -> list[CompletionLook]:
    """All looks that are due: at the ends of the periods by which 250, 500, 1,000, … tickets were issued.

    The tickets of a look do not depend on how many were completed and never change, so repeating a look gives the same
    result. Those that are `known` from an earlier call, the first ones, are returned as they are. Look k = 1, 2, … has
    the level `ALPHA / (k (k + 1))`; the levels sum to `ALPHA`.
    """
    periods, which = np.unique(slices.periods, return_inverse=True)
    totals = np.cumsum(np.bincount(which, weights=slices.tickets, minlength=len(periods)))
    looks = list(known)
    for k in count(len(looks) + 1):
        last = int(np.searchsorted(totals, next_look(looks)))
        if last == len(periods):
            break
        seen = slices.until(int(periods[last]))
        looks.append(CompletionLook(int(totals[last]), _p_value(seen), ALPHA / (k * (k + 1))))
    return looks


def next_look(looks: Sequence[CompletionLook]) -> int:
    """The number of tickets at which the look after these is due."""
    due = _FIRST_LOOK
    while looks and due <= looks[-1].tickets:
        due *= 2
    return due


def _p_value(slices: Slices) -> float:
    """The p-value of the generalised Mantel-Haenszel test on groups of adjacent questions; 1 if too few dropped out."""
    scarce = min(slices.completed.sum(), (slices.tickets - slices.completed).sum())
    groups = min(_MAX_GROUPS, int(scarce // _MIN_PER_GROUP))
    if groups < 2:
        return 1.0
    compared, _ = _pairs(slices.periods, slices.groups)
    cell = compared * groups + _grouped(slices, groups)
    shape = (int(compared.max()) + 1, groups)
    n = np.bincount(cell, weights=slices.tickets, minlength=shape[0] * shape[1])
    x = np.bincount(cell, weights=slices.completed, minlength=shape[0] * shape[1])
    return _mantel_haenszel(n.astype(float).reshape(shape), x.astype(float).reshape(shape))


def _grouped(slices: Slices, groups: int) -> IntArray:
    """The group of each slice, within its public group; groups are of consecutive places and about equally large."""
    which, public = _pairs(slices.groups, slices.places)
    weight = np.bincount(which, weights=slices.tickets)
    total = np.bincount(public, weights=weight)
    before = np.cumsum(total) - total
    middle = (np.cumsum(weight) - weight / 2 - before[public]) / total[public]
    numbers: IntArray = np.minimum((middle * groups).astype(np.int64), groups - 1)
    return numbers[which]


def _pairs(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> tuple[IntArray, IntArray]:
    """The number of each pair among the distinct pairs, in their order; and of each of those the number of `first`."""
    _, firsts = np.unique(first, return_inverse=True)
    values, seconds = np.unique(second, return_inverse=True)
    pairs, which = np.unique(firsts.astype(np.int64) * len(values) + seconds, return_inverse=True)
    return which.astype(np.int64), pairs // len(values)


def _mantel_haenszel(n: FloatArray, x: FloatArray) -> float:
    """The p-value of the chi-squared test with groups - 1 degrees of freedom.

    `n` tickets and `x` completed have shape (tables, groups), a table for each period of each public group. Given both
    margins of a table the counts are multivariate hypergeometric, and tables are independent.
    """
    totals, done = n.sum(axis=1), x.sum(axis=1)
    n, x, totals, done = (part[totals > 1] for part in (n, x, totals, done))
    excess = (x - done[:, None] * n / totals[:, None]).sum(axis=0)
    scale = done * (totals - done) / (totals**2 * (totals - 1))
    covariance = np.diag((scale * totals) @ n) - (n * scale[:, None]).T @ n
    values, vectors = np.linalg.eigh(covariance)
    usable = values > 1e-9 * max(values.max(), 1e-300)
    statistic = float((((vectors[:, usable].T @ excess) ** 2) / values[usable]).sum())
    return float(chdtrc(usable.sum(), statistic)) if usable.any() else 1.0
