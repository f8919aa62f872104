"""A Bayes point estimate under ε-differential privacy as a finite problem (Lakshminarayanan & Rojas, section 4.1).

An observation `y` is one of n values of a sufficient statistic; an action `a` is an estimate that may be released. The
data's distribution, the prior and the loss enter only through the costs `C[a, y] = Σ_θ L(θ, a) P(y | θ) π(θ)`, the
transpose of the paper's `Q diag(π) L` in (11). With squared loss these are `m2(y) - 2 a m1(y) + a² m0(y)` with the
moments `m_k(y) = ∫ θ^k P(y | θ) π(dθ)`, so the prior needs no grid, only three numbers for each y.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from scipy.stats import betabinom, binom

from dither_estimator.families import FloatArray

__all__ = [
    "InvalidProblem",
    "Moments",
    "PointProblem",
    "binomial_likelihood",
    "chain",
    "count_moments",
    "finite_problem",
    "moments_of",
    "squared_problem",
]

Neighbours = Sequence[tuple[int, int]]
"""Pairs of observations that can come from data sets differing in one person."""


class InvalidProblem(ValueError):
    """Costs, observations and neighbours do not define a problem."""


class Moments(NamedTuple):
    """`∫ θ^k P(y | θ) π(dθ)` for k = 0, 1, 2 and each observation, three arrays of shape (n,)."""

    zeroth: FloatArray
    first: FloatArray
    second: FloatArray

    @property
    def means(self) -> FloatArray:
        """The Bayes estimate without privacy, `E[θ | y]`: (3) of the paper."""
        return self.first / self.zeroth

    @property
    def bayes_risk(self) -> float:
        """The mean squared error of `means`."""
        return float((self.second - self.first**2 / self.zeroth).sum())


@dataclass(frozen=True, eq=False)
class PointProblem:
    """Costs to minimise, and pairs of observations between which probabilities may differ by at most `e^ε`."""

    actions: FloatArray
    """The estimates that may be released, shape (A,) or (A, d)."""
    costs: FloatArray
    """The costs `C`, shape (A, n)."""
    neighbours: Neighbours
    weights: FloatArray
    """The probability of each observation, shape (n,); all positive, with sum 1."""

    def __post_init__(self) -> None:
        n_actions, n = self.costs.shape
        if len(self.actions) != n_actions or self.weights.shape != (n,):
            raise InvalidProblem("costs must have a row for each action and a column for each observation")
        if not np.isfinite(self.costs).all():
            raise InvalidProblem("costs must be finite")
        if not (self.weights > 0).all():
            raise InvalidProblem("every observation must have a probability above 0")
        if any(not (0 <= i < n and 0 <= j < n and i != j) for i, j in self.neighbours):
            raise InvalidProblem(f"neighbours must be pairs of different observations from 0 to {n - 1}")

    @property
    def is_chain(self) -> bool:
        """Whether each observation's neighbours are the one before and the one after, as for a count."""
        pairs = {(min(pair), max(pair)) for pair in self.neighbours}
        return pairs == set(chain(self.costs.shape[1]))

    @cached_property
    def distances(self) -> FloatArray:
        """The least number of persons in which data with two observations differ, shape (n, n)."""
        n = self.costs.shape[1]
        pairs = np.array(self.neighbours, dtype=np.int64).reshape(-1, 2)
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        return shortest_path(graph.tocsr(), directed=False, unweighted=True)

    def only(self, actions: npt.NDArray[np.int64]) -> "PointProblem":
        """The same problem with only these actions, by index."""
        return PointProblem(self.actions[actions], self.costs[actions], self.neighbours, self.weights)


def chain(n: int) -> list[tuple[int, int]]:
    """The neighbours of a count of 0 to n - 1 persons, each of whom can change it by 1."""
    return [(y, y + 1) for y in range(n - 1)]


def finite_problem(
    actions: FloatArray, loss: FloatArray, likelihood: FloatArray, prior: FloatArray, neighbours: Neighbours
) -> PointProblem:
    """The problem (11) for any loss `L(θ_j, a_k)`, shape (T, A), with finitely many θ.

    `likelihood` is the paper's `Q`, `P(y_i | θ_j)`, shape (n, T), with columns of sum 1; `prior` has shape (T,) and sum
    1. Raises `InvalidProblem`.
    """
    _check_shares("likelihood", likelihood, axis=0)
    _check_shares("prior", prior, axis=0)
    if likelihood.shape[1] != len(prior) or loss.shape != (len(prior), len(actions)):
        raise InvalidProblem("loss, likelihood and prior must agree on the number of parameters and actions")
    joint = likelihood * prior
    return PointProblem(np.asarray(actions), (joint @ loss).T, neighbours, joint.sum(axis=1))


def squared_problem(actions: FloatArray, moments: Moments, neighbours: Neighbours) -> PointProblem:
    """The problem (11) for squared loss. Raises `InvalidProblem`."""
    a = np.asarray(actions, dtype=np.float64)[:, np.newaxis]
    costs = moments.second - 2.0 * a * moments.first + a**2 * moments.zeroth
    return PointProblem(a[:, 0], costs, neighbours, moments.zeroth)


def moments_of(theta: FloatArray, likelihood: FloatArray, prior: FloatArray) -> Moments:
    """The moments for a prior on finitely many θ, shape (T,); `likelihood` as in `finite_problem`."""
    joint = likelihood * prior
    return Moments(joint.sum(axis=1), joint @ theta, joint @ theta**2)


def count_moments(trials: int, a: float = 1.0, b: float = 1.0) -> Moments:
    """Exact moments for the number of ones in Bernoulli trials with θ ~ Beta(a, b), for the paper's section 5."""
    y = np.arange(trials + 1)
    zeroth = np.asarray(betabinom.pmf(y, trials, a, b), dtype=np.float64)
    first = zeroth * (a + y) / (a + b + trials)
    return Moments(zeroth, first, first * (a + y + 1) / (a + b + trials + 1))


def binomial_likelihood(trials: int, theta: FloatArray) -> FloatArray:
    """The paper's `Q` of section 5.3, shape (trials + 1, T)."""
    return np.asarray(binom.pmf(np.arange(trials + 1)[:, np.newaxis], trials, theta), dtype=np.float64)


def _check_shares(name: str, shares: Iterable[float] | FloatArray, axis: int) -> None:
    values = np.asarray(shares)
    if not ((values >= 0).all() and np.allclose(values.sum(axis=axis), 1.0, rtol=0, atol=1e-9)):
        raise InvalidProblem(f"{name} must be probabilities with sum 1")
