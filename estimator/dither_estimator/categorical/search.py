"""The search for the groups whose answer reduces the variances of the shares most, by moving single categories."""

import math
from collections.abc import Iterable

import numpy as np

from dither_estimator.categorical.reduction import IntArray, coefficients, expected_reductions, members
from dither_estimator.families import FloatArray

__all__ = ["best_groups", "numbers_of_groups"]

_SWEEPS = 6
"""How often the search goes through all categories, at most."""


def numbers_of_groups(categories: int, epsilon: float) -> set[int]:
    """Around e^ε + 1, the best number for equal shares; where few have most of the people, fewer or more."""
    usual = min(math.exp(min(epsilon, 10.0)) + 1, categories)
    tried = {round(0.7 * usual), math.floor(usual), math.ceil(usual), round(1.5 * usual)}
    return {min(max(groups, 2), categories) for groups in tried}


def best_groups(
    rng: np.random.Generator, mean: FloatArray, covariance: FloatArray, numbers: Iterable[int], epsilon: float
) -> tuple[IntArray, int]:
    """The group of each category, the best of searches with these `numbers` of groups, and which number that was.

    Some groups may have stayed empty, and then there are fewer; numbers of groups that are used begin at 0.
    """
    best, chosen, height = np.arange(len(mean)), len(mean), -math.inf
    for number in sorted(numbers):
        labels = np.unique(_search(rng, mean, covariance, number, epsilon), return_inverse=True)[1]
        used = int(labels.max()) + 1
        if used < 2:
            continue
        [found] = expected_reductions(mean, covariance, members(labels, used), np.array([used]), epsilon)
        if found > height * (1 + 1e-9) or height == -math.inf:
            best, chosen, height = labels, number, float(found)
    return best, chosen


def _search(
    rng: np.random.Generator, mean: FloatArray, covariance: FloatArray, groups: int, epsilon: float
) -> IntArray:
    """Groups such that no category is better off in another one; it begins with groups of about equal shares."""
    a, b = coefficients(groups, epsilon)
    squared = covariance @ covariance
    order = np.argsort(-mean * rng.uniform(0.5, 1.5, len(mean)))
    labels = np.zeros(len(mean), dtype=int)
    shares = np.zeros(groups)
    for category in order:
        labels[category] = np.argmin(shares)
        shares[labels[category]] += mean[category]
    member = members(labels, groups)
    # |C 1_A|² is the sum of `squared` over pairs of A: one category more adds `2 cross + its own`.
    cross = member @ squared
    norms = (cross * member).sum(axis=1)
    for _ in range(_SWEEPS):
        moved = False
        for category in order:
            own, line, share, square = labels[category], squared[category], mean[category], squared[category, category]
            cross[own] -= line
            norms[own] -= 2 * cross[own, category] + square
            shares[own] -= share
            gains = (norms + 2 * cross[:, category] + square) / (a * (shares + share) + b) - norms / (a * shares + b)
            best = int(gains.argmax())
            if gains[best] <= gains[own] * (1 + 1e-9):
                best = own
            moved |= best != own
            labels[category] = best
            norms[best] += 2 * cross[best, category] + square
            cross[best] += line
            shares[best] += share
        if not moved:
            break
    return labels
