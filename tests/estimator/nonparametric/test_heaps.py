"""Many people have nearly the same number, which nobody has declared: the others are still there."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from benchmarks.any_distribution import answers, learner_on
from dither_estimator.families import FloatArray
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.nonparametric import deviations
from dither_estimator.nonparametric.support import ANYWHERE

OTHERS = stats.norm(38, 10)
VALUES = np.array([25.0, 38.0, 39.99, 40.01, 42.0, 55.0])


def asked(share: float, people: int, seed: int) -> NonparametricLearner:
    """A learner that has asked so many people at ε = 3, of whom this share have 40."""
    learner, rng = learner_on(ANYWHERE, "3", seed), np.random.default_rng(seed + 50)
    values = np.where(rng.random(people) < share, 40.0, rng.normal(38, 10, people))
    while learner.answers < people:
        queries = learner.pool()
        learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
    return learner


def errors(seeds: Sequence[int]) -> FloatArray:
    """The largest error of F at `VALUES` in each collection of 3,000 people, of whom half have 40."""
    truth = 0.5 * (VALUES >= 40) + 0.5 * OTHERS.cdf(VALUES)
    found = [asked(0.5, 3_000, seed).distribution.cdf(VALUES).mean for seed in seeds]
    return np.abs(np.array(found) - truth).max(axis=1)


@pytest.mark.parametrize("broken", [False, True])
def test_half_of_the_people_at_one_number_do_not_hide_the_others(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of work a week. Errors of five seeds are 0.01 to 0.05.

    Where the prior of the place of a peak is as wide as that of a bell, its posterior is sure that all have 40.
    """
    if broken:
        monkeypatch.setattr(deviations, "_STEEPEST", 1e300)
    assert (errors([3, 4]).max() > 0.2) == broken


def test_nearly_all_of_the_people_at_one_number_stop_no_collection() -> None:
    """The others are lost, as `docs/limits.md` says: questions are about ever narrower ranges around the number."""
    for share in (0.8, 1.0):
        found = asked(share, 4_000, 0).distribution.quantile(np.array([0.3, 0.5, 0.7]))
        assert np.abs(found.values - 40.0).max() < 0.1
