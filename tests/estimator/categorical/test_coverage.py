"""Intervals of shares cover as often as they say, whether questions are chosen in advance or follow the answers."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from dither_client import GroupedRandomizedResponse, Query
from dither_estimator.categorical import questions
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.posterior import CONCENTRATION, estimate_shares
from dither_estimator.families import FloatArray
from dither_estimator.learning.learners import new_learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification

POPULATIONS = 100
SEEDS = (1, 2)
TOO_FAR = 1.35
"""Squared errors over posterior variances, in all: 1 if these are right."""


def covered(categories: int, repeated: int) -> int:
    """In how many populations, drawn from the prior, the 90% interval of the first share has it.

    Each answer counts `repeated` times. Shares of one population are not independent, so one of each is looked at.
    """
    found = 0
    for seed in range(POPULATIONS):
        rng = np.random.default_rng([seed, categories])
        truth = rng.dirichlet(np.full(categories, CONCENTRATION))
        counts: dict[Query, npt.NDArray[np.int64]] = {}
        for _ in range(8):
            query = GroupedRandomizedResponse.of_labels(rng.permutation(np.arange(categories) % 4).tolist(), 1)
            given = rng.multinomial(500, truth @ channel_of(query).matrix)
            counts[query] = counts.get(query, np.zeros_like(given)) + repeated * given
        low, high = np.quantile(estimate_shares(rng, counts, categories, 400)[:, 0], [0.05, 0.95])
        found += int(low <= truth[0] <= high)
    return found


@pytest.mark.parametrize("categories", [3, 8])
def test_calibration_by_simulation(categories: int) -> None:
    """One of 100,000 seeds is a false alarm."""
    assert covered(categories, 1) >= binom.ppf(1e-5, POPULATIONS, 0.9)


def test_answers_that_count_four_times_are_noticed() -> None:
    """The broken variant."""
    assert covered(8, 4) < binom.ppf(1e-5, POPULATIONS, 0.9)


def squared_errors() -> float:
    """Over the posterior's variances, after 20,000 answers about 32 equal shares: 31 directions for each seed."""
    truth, names = np.full(32, 1 / 32), [str(number) for number in range(32)]
    spec = Specification.from_json({"family": "categorical", "categories": names, "epsilon": 1, "particles": 100})
    errors, variances = 0.0, 0.0
    for seed in SEEDS:
        learner, rng = new_learner(spec, seed), np.random.default_rng([seed, 1])
        while learner.answers < 20_000:
            pool = learner.pool()
            people = int(min(learner.renew_at, 20_000)) - learner.answers
            table: dict[Query, npt.NDArray[np.int64]] = {}
            for query, number in zip(pool, rng.multinomial(people, np.full(len(pool), 1 / len(pool))), strict=True):
                given = rng.multinomial(number, truth @ channel_of(query).matrix)
                table[query] = table.get(query, np.zeros_like(given)) + given
            learner.learn_counts(table)
        draws, _ = learner.particles()
        errors += float(((draws.mean(axis=0) - truth) ** 2).sum())
        variances += float(draws.var(axis=0).sum())
    return errors / variances


def test_questions_that_follow_the_answers_do_not_follow_chance() -> None:
    """The ratio has an sd of about 0.18, so one pair of seeds in forty is a false alarm."""
    assert squared_errors() < TOO_FAR


def test_questions_that_follow_chance_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: questions are chosen by the covariance of the draws."""

    def of_draws(shares: FloatArray, likelihood: SharesLikelihood) -> tuple[FloatArray, FloatArray]:
        mean, covariance = moments(shares, likelihood)
        scale = np.sqrt(np.maximum(shares.var(axis=0), 1e-24) / np.diag(covariance))
        return mean, covariance * np.outer(scale, scale)

    moments = questions.posterior_moments
    monkeypatch.setattr(questions, "posterior_moments", of_draws)
    assert squared_errors() > TOO_FAR
