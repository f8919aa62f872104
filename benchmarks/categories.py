"""Shares of categories beside other mechanisms: same ε, people and number of answers.

    python -m benchmarks.categories [SEEDS [RESPONDENTS [FIRST SEED]]]

A collection of `categorical` asks everyone once, and chooses its questions anew whenever its learner does. Its error is
the sum over categories of squared errors of the posterior mean, averaged over the seeds. Ratios are others' errors over
Dither's (`benchmarks.peers.category_peers`; AdOBEst-LDP is `dither_papers.restricted_response`); the one of information
compares no estimates, but the expected errors by the information that was asked for, at the true shares, and by that
of equal groups at random, which is subset selection's.
Shares are equal, in proportion to 1, 1/2, 1/3, …, or each half of the one before.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.category_peers import (
    equal_groups,
    expected_error,
    groups_at_random,
    information_of,
    projected_subsets,
    randomized_response_error,
    subset_selection_error,
    unary_encoding_error,
)
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_papers.restricted_response.exact import restricted_response
from dither_papers.studies.category_methods import dithers_shares
from testing.tables import print_table

__all__ = ["main"]

_DEFAULTS = (10, 20_000, 0)
_CATEGORIES = (8, 32)
_EPSILONS = ("1",)
_SHARES = ("equal", "1/rank", "halves")
COLUMNS = (
    "categories", "ε", "shares", "sd of an error", "coverage of 90% intervals", "questions", "information",
    "unary encoding", "subset selection", "the same, projected", "equal groups", "AdOBEst-LDP", "randomised response",
)  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are the number of seeds and of respondents, and the first seed."""
    number, respondents, first = [*map(int, arguments), *_DEFAULTS[len(arguments) :]]
    title = f"Categories: {respondents:,} people, {number} seeds; others' squared error over Dither's"
    print_table(title, COLUMNS, _rows(range(first, first + number), respondents))


def _rows(seeds: Sequence[int], respondents: int) -> Iterator[Sequence[object]]:
    for categories, epsilon, name in product(_CATEGORIES, _EPSILONS, _SHARES):
        truth, e = _truth(categories, name), math.exp(float(epsilon))
        found = [_learnt(truth, epsilon, respondents, seed) for seed in seeds]
        own = _mean_error([draws.mean(axis=0) for draws, _ in found], truth)
        others = [
            unary_encoding_error(truth, e, respondents),
            subset_selection_error(truth, e, respondents),
            _mean_error([projected_subsets(truth, e, respondents, seed) for seed in seeds], truth),
            _mean_error([equal_groups(truth, epsilon, respondents, seed) for seed in seeds], truth),
            _mean_error([_restricted(truth, epsilon, respondents, seed) for seed in seeds], truth),
            randomized_response_error(truth, e, respondents),
        ]
        expected = np.mean([_expected_error(counts, truth, respondents) for _, counts in found])
        random: Counts = {query: np.ones(1, dtype=np.int64) for query in groups_at_random(categories, epsilon, 0)}
        yield (
            categories,
            epsilon,
            name,
            f"{math.sqrt(own / categories):.4f}",
            f"{np.mean([_covers(draws, truth) for draws, _ in found]):.2f}",
            round(np.mean([len(counts) for _, counts in found])),
            f"{_expected_error(random, truth, respondents) / expected:.2f}",
            *(f"{other / own:.2f}" for other in others),
        )


def _truth(categories: int, name: str) -> FloatArray:
    ranks = np.arange(1, categories + 1)
    weights = {"equal": np.ones(categories), "1/rank": 1 / ranks, "halves": 0.5**ranks}[name]
    return np.asarray(weights / weights.sum())


def _mean_error(estimates: Sequence[FloatArray], truth: FloatArray) -> float:
    return float(np.mean([((estimate - truth) ** 2).sum() for estimate in estimates]))


def _expected_error(counts: Counts, truth: FloatArray, respondents: int) -> float:
    """The error that the questions' information allows, if they are asked in the proportions of a count table."""
    asked = sum(row.sum() for row in counts.values())
    parts = (row.sum() / asked * information_of(channel_of(query).matrix.T, truth) for query, row in counts.items())
    return expected_error(respondents * sum(parts, np.zeros((len(truth), len(truth)))), truth)


def _learnt(truth: FloatArray, epsilon: str, respondents: int, seed: int) -> tuple[FloatArray, Counts]:
    """Draws of the posterior, shape (draws, categories), and the answers."""
    return dithers_shares(np.random.default_rng([seed, 1]), seed, truth, epsilon, respondents)


def _restricted(truth: FloatArray, epsilon: str, respondents: int, seed: int) -> FloatArray:
    return restricted_response(np.random.default_rng([seed, 5]), truth, float(epsilon), respondents)


def _covers(draws: FloatArray, truth: FloatArray) -> float:
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return float(((low <= truth) & (truth <= high)).mean())


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
