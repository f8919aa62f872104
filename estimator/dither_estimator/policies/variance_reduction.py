"""Expected variance reduction: how much each candidate question is expected to reduce the posterior's variances.

By the law of total variance, one answer to a query reduces the covariance of θ on average by `R = Σ_s c_s c_sᵀ / p̄_s`,
with `c_s = cov(p_s(θ), θ)` and `p̄_s = E p_s(θ)` over the posterior. This is exact for the particles, for any family
and channel, and needs no derivatives. It is the particle form of the A-optimality criterion.

When several questions are asked before any is answered, each is chosen given the earlier ones by linear Bayes
estimation: the best linear predictor of θ from the answers' indicators, with the particles' means and covariances.
Where the posterior is narrow, this is the linear model of the A-optimal design; where it is wide, distant questions
hardly overlap and a batch spreads over the posterior.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
from scipy.special import ndtri

from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.channels import Cells

__all__ = ["Predictions", "choose_batch", "with_normal_scores"]

_TAIL_DIVISOR = 10
"""One particle in this many, at either end, does not count as the body of the posterior."""
_MIN_VARIANCE = 1e-9
"""Lower bound on variances of indicators, which are at most 1: smaller ones are rounding errors."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What equally weighted particles predict about the answers to the candidate questions.

    Each answer is a column `(p_s(θ) - p̄_s) / √p̄_s`, so that the indicators of a question's answers have covariance
    `I` in the relevant subspace. For two answers a single column, divided by the indicator's standard deviation,
    suffices.
    """

    features: FloatArray
    """Shape (n, m) for n particles and m columns."""
    covariances: FloatArray
    """Covariances of the values with the columns, shape (d, m)."""
    ends: tuple[int, ...]
    """Question i has the columns from `ends[i]` up to `ends[i + 1]`."""

    @classmethod
    def of(cls, family: Family, theta: FloatArray, values: FloatArray, questions: Sequence[Cells]) -> "Predictions":
        """For particles `theta` (n, d); the variances to reduce are those of `values` (n, d), θ or a function of it."""
        columns, ends = [], [0]
        for channel, alike in groupby(questions, key=lambda cells: cells.channel):
            edges = np.concatenate([cells.edges for cells in alike], axis=1)
            found, width = _columns(Cells(channel, edges), family.cdf(theta, edges.ravel()))
            columns.append(found)
            ends += range(ends[-1] + width, ends[-1] + found.shape[1] + 1, width)
        features = np.concatenate(columns, axis=1)
        centred = values - _means(values)
        return cls(features, centred.T @ features / len(theta), tuple(ends))


def _columns(cells: Cells, cdf: FloatArray) -> tuple[FloatArray, int]:
    """The columns of questions that share a channel, question by question, and their number per question."""
    n, (k, q) = len(cdf), cells.edges.shape
    mean = _means(cdf)
    means = cells.channel.probabilities(mean.reshape(1, k, q))[0]
    cdf -= mean
    if cells.channel.steps.shape == (1, 2):
        cdf *= cells.channel.steps[0, 0] / np.sqrt(means[0] * means[1])
        return cdf, 1
    shares = cells.channel.steps.T @ cdf.reshape(n, k, q) / np.sqrt(means)
    return shares.swapaxes(1, 2).reshape(n, -1), len(means)


def _means(columns: FloatArray) -> FloatArray:
    return np.add.reduce(columns, axis=0) / len(columns)


def with_normal_scores(values: FloatArray, goal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values (n, d) of equally weighted particles with their normal scores, (n, 2 d), and weights for both (2 d,).

    While the population is still being found, nearly all of a variance may come from the tails, and a question about
    them would always come first. The normal scores `Φ⁻¹((rank - ½) / n)` are normal whatever the tails; each is
    weighted by its parameter's goal times the squared width of the posterior's body. The criteria with and without
    tails are each divided by their present value, so that their sum is of relative reductions. For a normal posterior
    they are equal.
    """
    n, d = values.shape
    order, columns = np.argsort(values, axis=0, kind="stable"), np.arange(d)
    scores = np.empty((n, d))
    scores[order, columns] = _normal_scores(n)[:, np.newaxis]
    tail = n // _TAIL_DIVISOR
    widths = values[order[-1 - tail], columns] - values[order[tail], columns]
    both = np.concatenate([values, scores], axis=1)
    weights = np.array([goal, goal * widths**2])
    now = (weights * both.var(axis=0).reshape(2, d)).sum(axis=1, keepdims=True)
    return both, np.divide(weights, now, out=np.zeros((2, d)), where=now > 0).ravel()


@lru_cache(maxsize=8)
def _normal_scores(n: int) -> FloatArray:
    return ndtri((np.arange(n) + 0.5) / n)


def choose_batch(predictions: Predictions, goal: FloatArray, size: int, repeats: float) -> list[int]:
    """Indices of `size` questions, chosen one by one, each the best given answers to the earlier ones.

    `goal` (d,) weights the values' variances. Each question will be asked of `repeats` respondents.
    """
    features, ends = predictions.features, predictions.ends
    covariances = np.sqrt(goal)[:, np.newaxis] * predictions.covariances
    if len(ends) == features.shape[1] + 1:
        return _choose_single(features, covariances, size, repeats)
    taken = np.empty((features.shape[1], 0))
    chosen: list[int] = []
    while True:
        gains = np.add.reduceat((covariances**2).sum(axis=0), ends[:-1])
        best = int(np.argmax(gains))
        chosen.append(best)
        if len(chosen) == size:
            return chosen
        own = slice(ends[best], ends[best + 1])
        # Pivoted Cholesky: the covariance of all columns with the chosen ones, less what earlier questions explain.
        prior = features.T @ features[:, own] / len(features)
        left = prior - taken @ taken[own].T
        root = _inverse_root(left[own] + (np.eye(len(prior[own])) - prior[own]) / repeats)
        explained = left @ root
        covariances = covariances - covariances[:, own] @ root @ explained.T
        taken = np.concatenate([taken, explained], axis=1)


def _choose_single(features: FloatArray, covariances: FloatArray, size: int, repeats: float) -> list[int]:
    """`choose_batch` for questions with one column each: the same steps, for values and columns at once."""
    d = len(covariances)
    if size == 1:
        return [int(np.einsum("ij,ij->j", covariances, covariances).argmax())]
    rows = np.concatenate([covariances, features.T @ features / len(features)])
    noise = (1.0 - rows[d:].diagonal()) / repeats
    chosen: list[int] = []
    while True:
        best = int(np.einsum("ij,ij->j", rows[:d], rows[:d]).argmax())
        chosen.append(best)
        if len(chosen) == size:
            return chosen
        explained = rows[d + best] / max(rows[d + best, best] + noise[best], _MIN_VARIANCE)
        rows -= rows[:, best, np.newaxis] * explained


def _inverse_root(matrix: FloatArray) -> FloatArray:
    """`L` such that `L Lᵀ` is the inverse of a matrix that is positive definite up to rounding."""
    return np.linalg.inv(np.linalg.cholesky(matrix + _MIN_VARIANCE * np.eye(len(matrix)))).T
