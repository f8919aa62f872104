"""Whether completion depends on the question: a test that may be looked at as often as one likes.

The posterior is right if the chance that a ticket is answered does not depend on the answer, and so not on the value.
If those above a threshold drop out more often, questions with a high threshold are completed more often than those with
a low one. Questions follow the posterior, and completion changes with the hour, so only tickets of one period are
compared with each other (Mantel & Haenszel 1959; for several groups Mantel 1963, Birch 1965): given how many tickets of
a period were completed, each of its questions has a share of them by chance alone.

Whether an answer that is still out will come says nothing here: what is completed is defined by a time limit that has
passed for all of the tickets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from dither_estimator.families import FloatArray

__all__ = ["ALPHA", "CompletionLook", "Slice", "completion_looks"]

ALPHA = 0.01
"""The chance of an alarm at any look, ever, although completion does not depend on the question."""
_FIRST_LOOK = 250
"""Tickets at the first look; each later one has twice as many."""
_GROUPS = 6
_LEAST = 10
"""Completed tickets, and others, that each group has on average."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Tickets of one period for questions at one place."""

    period: int
    place: float
    """By which questions are put in order: the middle of a question's edges."""
    tickets: int
    completed: int


@dataclass(frozen=True, slots=True)
class CompletionLook:
    """One look at the tickets up to the end of a period."""

    tickets: int
    p_value: float
    alpha: float
    """An alarm if the p-value is not above this."""

    @property
    def alarm(self) -> bool:
        """Whether completion depends on the question."""
        return self.p_value <= self.alpha


def completion_looks(slices: Sequence[Slice]) -> list[CompletionLook]:
    """All looks that are due: at the end of the periods by which there are 250, 500, 1,000, … tickets.

    Which tickets a look is at does not depend on how many were completed, and never changes, so looking again finds the
    same. Look k = 1, 2, … has the level `ALPHA / (k (k + 1))`; these add up to `ALPHA`.
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
    """Of the generalised Mantel-Haenszel test over groups of neighbouring questions; 1 where too few dropped out."""
    tickets = np.array([one.tickets for one in slices], dtype=float)
    completed = np.array([one.completed for one in slices], dtype=float)
    scarce = min(completed.sum(), (tickets - completed).sum())
    groups = min(_GROUPS, int(scarce // _LEAST))
    if groups < 2:
        return 1.0
    group = _grouped(np.array([one.place for one in slices]), tickets, groups)
    _, period = np.unique([one.period for one in slices], return_inverse=True)
    shape = (period.max() + 1, groups)
    n, x = np.zeros(shape), np.zeros(shape)
    np.add.at(n, (period, group), tickets)
    np.add.at(x, (period, group), completed)
    return _mantel_haenszel(n, x)


def _grouped(places: FloatArray, tickets: FloatArray, groups: int) -> npt.NDArray[np.intp]:
    """The group of each slice: questions in the order of their places, about as many tickets in each group."""
    _, which = np.unique(places, return_inverse=True)
    weight = np.bincount(which, weights=tickets)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    numbers: npt.NDArray[np.intp] = np.minimum((middle * groups).astype(np.intp), groups - 1)
    return numbers[which]


def _mantel_haenszel(n: FloatArray, x: FloatArray) -> float:
    """`n` tickets, `x` completed, shape (periods, groups): the p-value of the chi-squared test with groups - 1 degrees.

    Given both margins of a period's table the counts are multivariate hypergeometric, and periods are independent.
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
