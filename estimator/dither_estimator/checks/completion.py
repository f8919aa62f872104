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

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from dither_estimator.families import FloatArray

__all__ = ["ALPHA", "CompletionLook", "Slice", "completion_looks"]

ALPHA = 0.01
"""The probability of a false alarm over all looks."""
_FIRST_LOOK = 250
"""Tickets at the first look; each later one has twice as many."""
_MAX_GROUPS = 6
_MIN_PER_GROUP = 10
"""The fewest completed tickets, and the fewest others, per group on average."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The tickets that were issued in one period for questions about one place."""

    period: int
    place: float
    """The middle of a question's edges, by which questions are ordered."""
    tickets: int
    completed: int
    group: int = 0
    """A number for the public group that was asked and the ε that was chosen; any where there are neither."""


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


def completion_looks(slices: Sequence[Slice]) -> list[CompletionLook]:
    """All looks that are due: at the ends of the periods by which 250, 500, 1,000, … tickets were issued.

    The tickets of a look do not depend on how many were completed and never change, so repeating a look gives the same
    result. Look k = 1, 2, … has the level `ALPHA / (k (k + 1))`; the levels sum to `ALPHA`.
    """
    periods = sorted({one.period for one in slices})
    issued = dict.fromkeys(periods, 0)
    for one in slices:
        issued[one.period] += one.tickets
    looks: list[CompletionLook] = []
    total, due = 0, _FIRST_LOOK
    for period in periods:
        total += issued[period]
        if total >= due:
            seen = [one for one in slices if one.period <= period]
            k = len(looks) + 1
            looks.append(CompletionLook(total, _p_value(seen), ALPHA / (k * (k + 1))))
            while due <= total:
                due *= 2
    return looks


def _p_value(slices: Sequence[Slice]) -> float:
    """The p-value of the generalised Mantel-Haenszel test on groups of adjacent questions; 1 if too few dropped out."""
    tickets = np.array([one.tickets for one in slices], dtype=float)
    completed = np.array([one.completed for one in slices], dtype=float)
    scarce = min(completed.sum(), (tickets - completed).sum())
    groups = min(_MAX_GROUPS, int(scarce // _MIN_PER_GROUP))
    if groups < 2:
        return 1.0
    public = np.array([one.group for one in slices])
    places = np.array([one.place for one in slices])
    group = np.empty(len(slices), dtype=np.intp)
    for label in np.unique(public):
        here = public == label
        group[here] = _grouped(places[here], tickets[here], groups)
    _, compared = np.unique([(one.period, one.group) for one in slices], axis=0, return_inverse=True)
    shape = (compared.max() + 1, groups)
    n, x = np.zeros(shape), np.zeros(shape)
    np.add.at(n, (compared, group), tickets)
    np.add.at(x, (compared, group), completed)
    return _mantel_haenszel(n, x)


def _grouped(places: FloatArray, tickets: FloatArray, groups: int) -> npt.NDArray[np.intp]:
    """The group of each slice; groups are of consecutive places and of about equal numbers of tickets."""
    _, which = np.unique(places, return_inverse=True)
    weight = np.bincount(which, weights=tickets)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    numbers: npt.NDArray[np.intp] = np.minimum((middle * groups).astype(np.intp), groups - 1)
    return numbers[which]


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
