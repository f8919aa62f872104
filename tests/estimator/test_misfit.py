"""The misfit check: its questions, its p-values, what it is told to do, and that learning does not meet it."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from populations import PAPER_PRIOR, answer
from scipy import stats

from dither_client import Laplace, RandomizedResponse
from dither_estimator.checked_learner import CheckedLearner
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.learner import Learner
from dither_estimator.misfit import Look, MisfitCheck, check_questions, misfit_p_value, misfit_report
from dither_estimator.specification import Specification, SpecificationError

NORMAL = families["normal"]
ONE = Fraction(1)
FALSE_ALARM = 1e-3


def checked(**fields: Any) -> Specification:
    """A specification with a check on every second respondent, whose looks are left to the test."""
    given = {"family": "normal", "epsilon": 2, "prior": PAPER_PRIOR, "particles": 400}
    return Specification.from_json({**given, "misfit_check": 0.5, "misfit_looks": [10**9], **fields})


def interview(spec: Specification, seed: int, draw: Callable[[np.random.Generator], FloatArray]) -> CheckedLearner:
    """A checked learner that has asked everyone whose values `draw` gives."""
    rng = np.random.default_rng([seed, 5])
    learner = CheckedLearner(spec, seed)
    for value in draw(rng).tolist():
        query = learner.ask()
        learner.learn(query, answer(rng, query, value))
    return learner


def from_prior(spec: Specification, size: int) -> Callable[[np.random.Generator], FloatArray]:
    def draw(rng: np.random.Generator) -> FloatArray:
        theta = spec.family.constrain(spec.prior.sample(rng, 1))[0]
        return spec.family.sample(rng, theta, size)

    return draw


def from_member(theta: tuple[float, ...], size: int) -> Callable[[np.random.Generator], FloatArray]:
    return lambda rng: NORMAL.sample(rng, np.array(theta), size)


def learnt_p_value(learner: CheckedLearner) -> float:
    """The naive p-value: of the same answers, after the posterior has learnt them."""
    learner.learner.learn_counts(learner.check_counts)
    rng = np.random.default_rng(1)
    return misfit_p_value(rng, NORMAL, *learner.learner.particles(), learner.check_counts)


def uniformity(p_values: list[float]) -> float:
    """Kolmogorov-Smirnov against the uniform law on 1/1000, …, 1, spread evenly below each step."""
    spread = np.array(p_values) - np.random.default_rng(2).uniform(0, 1e-3, len(p_values))
    return float(stats.kstest(spread, "uniform").pvalue)


def test_p_values_are_uniform_over_the_prior() -> None:
    """False alarm 1e-3; a short version of the one below."""
    spec = checked(particles=200)
    learners = [interview(spec, seed, from_prior(spec, 80)) for seed in range(80)]
    assert uniformity([learner.p_value() for learner in learners]) > FALSE_ALARM


@pytest.mark.slow
def test_p_values_are_uniform_over_the_prior_and_those_of_learnt_answers_are_not() -> None:
    """300 truths from the prior, 150 answers each; false alarm 1e-3. The naive p-values fail by far, with an sd below 0.29."""
    spec = checked()
    proper, naive = [], []
    for seed in range(300):
        learner = interview(spec, seed, from_prior(spec, 150))
        proper.append(learner.p_value())
        naive.append(learnt_p_value(learner))
    print(uniformity(proper), uniformity(naive), np.std(proper), np.std(naive), np.mean(naive))
    assert uniformity(proper) > FALSE_ALARM
    assert uniformity(naive) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("theta", [(0.0, 1.0), (60.0, 4.0)])
def test_p_values_are_uniform_at_fixed_truths(theta: tuple[float, float]) -> None:
    """200 runs at one truth; false alarm 1e-3."""
    spec = checked()
    p_values = [interview(spec, seed, from_member(theta, 150)).p_value() for seed in range(200)]
    print(uniformity(p_values), np.mean(p_values))
    assert uniformity(p_values) > FALSE_ALARM
