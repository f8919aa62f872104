"""How much answers to questions about groups of categories reduce the variances of the shares.

The chance of an answer is linear in the shares, so the mean and the covariance of the posterior give the expected
reduction of `Σ Var(share)` by one answer exactly: with g groups A, `a = (e^ε - 1) / (e^ε + g - 1)`, `b = 1 / (e^ε + g -
1)`, the mean m and the covariance C, it is `a² Σ_A |C 1_A|² / (a m(A) + b)`.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import FloatArray

__all__ = ["IntArray", "coefficients", "covariance_after", "expected_reduction", "expected_reductions", "members"]

IntArray = npt.NDArray[np.int64]


def coefficients(groups: Any, epsilon: float) -> tuple[Any, Any]:
    """`a` and `b`, for a number of groups or an array of them: the chance of an answer is `a m(A) + b`."""
    total = math.expm1(epsilon) + groups
    return math.expm1(epsilon) / total, 1 / total


def members(labels: IntArray, groups: int) -> FloatArray:
    """1 where a category is in a group, by the group of each category: shape (groups, categories)."""
    return np.asarray(labels[np.newaxis] == np.arange(groups)[:, np.newaxis], dtype=float)


def expected_reduction(mean: FloatArray, covariance: FloatArray, query: Query) -> float:
    """The expected reduction of `Σ Var(share)` by one answer to the question."""
    groups = query.n_answers
    member = members(np.array(query.labels), groups)
    [found] = expected_reductions(mean, covariance, member, np.array([groups]), float(query.epsilon))
    return float(found)


def expected_reductions(
    mean: FloatArray, covariance: FloatArray, member: FloatArray, groups: IntArray, epsilon: float
) -> FloatArray:
    """The same of many questions: `groups` says how many each has, and `member` has their `members`, stacked."""
    a, b = coefficients(np.repeat(groups, groups), epsilon)
    by_group = a**2 * ((member @ covariance) ** 2).sum(axis=1) / (a * (member @ mean) + b)
    return np.asarray(np.add.reduceat(by_group, np.cumsum(groups) - groups))


def covariance_after(mean: FloatArray, covariance: FloatArray, query: Query, answers: float) -> FloatArray:
    """About the covariance after so many answers to the question, at least one: as if they were normal."""
    a, b = coefficients(query.n_answers, float(query.epsilon))
    member = members(np.array(query.labels), query.n_answers)
    known = member @ covariance
    noise = np.diag(a * (member @ mean) + b) / (a**2 * max(answers, 1.0))
    return np.asarray(covariance - known.T @ np.linalg.solve(noise + known @ member.T, known))
