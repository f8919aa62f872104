"""Other ways to learn shares of categories at the same ε, for `benchmarks.categories`.

Where an error has a formula it is exact; the others are simulated, with the posterior that Dither computes where they
need one. An error is the sum over categories of squared errors. `e` is exp(ε).
"""

import math

import numpy as np
import numpy.typing as npt

from dither_client import GroupedRandomizedResponse, Query
from dither_estimator.categorical.posterior import estimate_shares
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of

__all__ = [
    "equal_groups", "expected_error", "groups_at_random", "information_of", "on_probabilities", "projected_subsets",
    "randomized_response_error", "subset_selection_error", "unary_encoding_error",
]  # fmt: skip

_DIVISIONS = 400
_DRAWS = 1_000


def unary_encoding_error(truth: FloatArray, e: float, respondents: int) -> float:
    """Optimised unary encoding (Wang et al. 2017)."""
    return _error(truth, 0.5, 1 / (e + 1), respondents)


def randomized_response_error(truth: FloatArray, e: float, respondents: int) -> float:
    """Randomised response over all categories."""
    return _error(truth, e / (e + len(truth) - 1), 1 / (e + len(truth) - 1), respondents)


def subset_selection_error(truth: FloatArray, e: float, respondents: int) -> float:
    """Subset selection with the best size (Ye & Barg 2018)."""
    return _error(truth, *_subsets(truth, _best_size(truth, e), e), respondents)


def _error(truth: FloatArray, own: float, other: float, respondents: int) -> float:
    """The error of counts, if an answer names one's own category with chance `own` and each other one with `other`."""
    named = truth * own + (1 - truth) * other
    return float((named * (1 - named)).sum() / (respondents * (own - other) ** 2))


def _best_size(truth: FloatArray, e: float) -> int:
    return min(range(1, len(truth)), key=lambda size: _error(truth, *_subsets(truth, size, e), 1))


def _subsets(truth: FloatArray, size: int, e: float) -> tuple[float, float]:
    own = size * e / (size * e + len(truth) - size)
    return own, (own * (size - 1) + (1 - own) * size) / (len(truth) - 1)


def projected_subsets(truth: FloatArray, e: float, respondents: int, seed: int) -> FloatArray:
    """One simulation of subset selection: its estimates, projected on the probabilities."""
    rng, categories = np.random.default_rng([seed, 2]), len(truth)
    size = _best_size(truth, e)
    own, other = _subsets(truth, size, e)
    named = np.zeros(categories)
    for category, people in enumerate(rng.multinomial(respondents, truth).tolist()):
        keys = rng.random((people, categories))
        keys[:, category] = np.where(rng.random(people) < own, -1.0, 2.0)
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        named += np.bincount(chosen.ravel(), minlength=categories)
    return on_probabilities((named / respondents - other) / (own - other))


def on_probabilities(estimates: FloatArray) -> FloatArray:
    """The nearest probabilities (Duchi et al. 2008)."""
    falling = np.sort(estimates)[::-1]
    beyond = (np.cumsum(falling) - 1) / np.arange(1, len(estimates) + 1)
    return np.maximum(estimates - beyond[np.flatnonzero(falling > beyond)[-1]], 0.0)


def groups_at_random(categories: int, epsilon: str, seed: int) -> list[GroupedRandomizedResponse]:
    """Divisions into groups of equal size, as many as is best for equal shares: subset selection, drawn in advance."""
    rng = np.random.default_rng([seed, 3])
    groups = min(max(2, round(math.exp(float(epsilon)) + 1)), categories)
    labels = np.arange(categories) % groups
    return [GroupedRandomizedResponse.of_labels(rng.permutation(labels).tolist(), epsilon) for _ in range(_DIVISIONS)]


def equal_groups(truth: FloatArray, epsilon: str, respondents: int, seed: int) -> FloatArray:
    """The posterior mean after such questions, which do not follow the answers."""
    rng = np.random.default_rng([seed, 4])
    counts: dict[Query, npt.NDArray[np.int64]] = {}
    for query in groups_at_random(len(truth), epsilon, seed):
        given = rng.multinomial(respondents // _DIVISIONS, truth @ channel_of(query).matrix)
        counts[query] = counts.get(query, np.zeros_like(given)) + given
    return estimate_shares(rng, counts, len(truth), _DRAWS).mean(axis=0)


def information_of(chances: FloatArray, shares: FloatArray) -> FloatArray:
    """The Fisher information of one answer, whose `chances` are by answer and category."""
    return np.asarray((chances.T / (chances @ shares)) @ chances)


def expected_error(information: FloatArray, shares: FloatArray, prior: float = 0.5) -> float:
    """The expected sum of variances, given the information of all answers and a Dirichlet prior of such a strength.

    The prior counts as a normal distribution with the same means as the truth, which knows rare categories beforehand.
    """
    known = information + np.diag((prior * len(shares) + 1) / shares if prior else np.zeros(len(shares)))
    inside = np.linalg.svd(np.eye(len(shares)) - 1 / len(shares))[0][:, :-1]
    return float(np.trace(np.linalg.inv(inside.T @ known @ inside)))
