"""Intervals of shares cover as often as they say, whether questions are chosen in advance or follow the answers."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from dither_client import GroupedRandomizedResponse, Query
from dither_estimator.categorical.posterior import estimate_shares
from dither_estimator.categorical.prior import prior_draws
from dither_estimator.families import FloatArray
from dither_estimator.learning.learners import new_learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification

POPULATIONS = 70

Table = dict[Query, npt.NDArray[np.int64]]


def in_advance(rng: np.random.Generator, truth: FloatArray, repeated: int = 1) -> FloatArray:
    """Draws of the posterior after 4,000 answers to eight questions, each counted so many times."""
    table: Table = {}
    for _ in range(8):
        labels = rng.permutation(np.arange(len(truth)) % 4)
        _ask(rng, truth, GroupedRandomizedResponse.of_labels(labels.tolist(), 1), 500, repeated, table)
    return estimate_shares(rng, table, len(truth), 400)


def following(rng: np.random.Generator, truth: FloatArray) -> FloatArray:
    """The same after 500 answers to questions that follow them."""
    names = [str(number) for number in range(len(truth))]
    spec = Specification.from_json({"family": "categorical", "categories": names, "epsilon": 1, "particles": 200})
    learner = new_learner(spec, int(rng.integers(2**32)))
    while learner.answers < 500:
        pool, table = learner.pool(), Table()
        people = int(min(learner.renew_at, 500)) - learner.answers
        for query, number in zip(pool, rng.multinomial(people, np.ones(len(pool)) / len(pool)), strict=True):
            _ask(rng, truth, query, int(number), 1, table)
        learner.learn_counts(table)
    return learner.particles()[0]


def _ask(rng: np.random.Generator, truth: FloatArray, query: Query, people: int, repeated: int, table: Table) -> None:
    given = rng.multinomial(people, truth @ channel_of(query).matrix)
    table[query] = table.get(query, np.zeros_like(given)) + repeated * given


Answered = Callable[[np.random.Generator, FloatArray], FloatArray]


def covered(answered: Answered, categories: int) -> int:
    """In how many populations, drawn from the prior, the 90% interval of the first share has it.

    Shares of one population are not independent, so one of each is looked at.
    """
    found = 0
    for seed in range(POPULATIONS):
        rng = np.random.default_rng([seed, categories])
        [truth] = prior_draws(rng, categories, 1)
        low, high = np.quantile(answered(rng, truth)[:, 0], [0.05, 0.95])
        found += int(low <= truth[0] <= high)
    return found


@pytest.mark.parametrize(("answered", "categories"), [(in_advance, 3), (in_advance, 8), (following, 8)])
def test_calibration_by_simulation(answered: Answered, categories: int) -> None:
    """One of 100,000 seeds is a false alarm."""
    assert covered(answered, categories) >= binom.ppf(1e-5, POPULATIONS, 0.9)


def test_answers_that_count_four_times_are_noticed() -> None:
    """The broken variant."""
    assert covered(partial(in_advance, repeated=4), 8) < binom.ppf(1e-5, POPULATIONS, 0.9)
