"""Many people at bounds that nobody declared as atoms: it is found out, before answers are lost to where nobody is."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.any_distribution import answers, learner_on
from dither_client.posterior.sentences import CANNOT_TELL, NOT_COMPARED, verdict_lines
from dither_estimator.checks.competing_families import NONE_OF_THESE
from dither_estimator.checks.family_fits import fit_families
from dither_estimator.families import FloatArray
from dither_estimator.learning import population as population_module
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.learning.population import DistributionPopulation
from dither_estimator.nonparametric import place, questions, support
from dither_estimator.nonparametric.support import Support

SHARES, SPENDINGS = Support(0.0, 100.0), Support(0.0)
AT = np.array([1e-6, 10.0, 50.0, 90.0])


def asked(values: FloatArray, support: Support, seed: int, epsilon: str = "1") -> NonparametricLearner:
    """A learner that has asked all of these people."""
    rng, learner = np.random.default_rng(seed), learner_on(support, epsilon, seed)
    while learner.answers < len(values):
        queries = learner.pool()
        learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
    return learner


def at_both_ends(rng: np.random.Generator) -> FloatArray:
    """45% have 0, 45% have 100."""
    u = rng.random(1_500)
    return np.where(u < 0.45, 0.0, np.where(u > 0.55, 100.0, 1_000 * (u - 0.45)))


def with_zeros(rng: np.random.Generator) -> FloatArray:
    """80% have 0, and all others a lognormal around 50."""
    return np.where(rng.random(1_500) < 0.8, 0.0, np.exp(rng.normal(math.log(50), 1, 1_500)))


def some_zeros(rng: np.random.Generator) -> FloatArray:
    """40% have 0, and all others a gamma around 100."""
    return np.where(rng.random(2_000) < 0.4, 0.0, rng.gamma(2, 50, 2_000))


def never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly anybody is expected at a bound, and nobody is asked about it between quantiles."""
    monkeypatch.setattr(questions, "_bound_in_turn", lambda mean, turn: None)
    monkeypatch.setattr(support, "_AT_BOUND", -9.0)


def told_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do few answers tell of it."""
    never_asked(monkeypatch)
    monkeypatch.setattr(place, "_TELL_OF_BOUNDS", 400.0)


def error_of_means() -> float:
    """The RMS error of the mean of people at both ends, 50, in 5 collections: known to a third of itself."""
    errors = []
    for seed in range(5):
        mean = asked(at_both_ends(np.random.default_rng(seed)), SHARES, seed).distribution.mean_value
        assert mean is not None
        errors.append(mean.mean - 50)
    return float(np.sqrt(np.square(errors).mean()))


def test_people_at_both_bounds_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is 2, and 10 or more where bounds are looked for late and numbers are too far away to be told from them."""
    assert error_of_means() < 5
    told_late(monkeypatch)
    monkeypatch.setattr(Support, "farthest", math.inf)
    assert error_of_means() > 7


@pytest.mark.parametrize(
    ("people", "broken", "least"),
    [(with_zeros, told_late, 0.11), pytest.param(some_zeros, never_asked, 0.12, marks=pytest.mark.long)],
)
def test_zeros_that_nobody_declared_are_found(
    people: Callable[[np.random.Generator], FloatArray],
    broken: Callable[[pytest.MonkeyPatch], None],
    least: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The RMS of the largest error of F over 5 collections, which is known to a third of itself."""

    def error() -> float:
        worst = []
        for seed in range(5):
            values = people(np.random.default_rng(seed))
            mean = asked(values, SPENDINGS, seed).distribution.cdf(AT).mean
            worst.append(np.abs(mean - (values <= AT[:, np.newaxis]).mean(axis=1)).max())
        return float(np.sqrt(np.square(worst).mean()))

    assert error() < 0.09
    broken(monkeypatch)
    assert error() > least


@pytest.mark.parametrize("broken", [False, True])
def test_a_mean_is_that_of_people_far_below_a_maximum(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a few of a hundred expected at 10,000, these would be most of the mean; answers hardly tell of them.

    A quarter have 0, which no family has; of all others the logarithms are N(4.2, 1).
    """
    if broken:
        monkeypatch.setattr(support, "_AT_BOUND", -3.0)
        monkeypatch.setattr(support, "_AT_BOUND_SD", 2.0)
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        people = np.where(rng.random(10_000) < 0.25, 0.0, np.exp(rng.normal(4.2, 1, 10_000)))
        found = asked(people, Support(0.0, 10_000.0), seed, "1").distribution.mean_value
        assert found is not None
        ratios.append(np.median(found.values) / (0.75 * math.exp(4.2 + 1 / 2)))
    assert (np.median(ratios) > 1.75) == broken


def test_no_family_is_named_where_everybody_is_at_a_bound() -> None:
    for value, seed in ((100.0, 1), (0.0, 2)):
        learner = asked(np.full(5_000, value), SHARES, seed, "2")
        assert not fit_families(learner.counts, learner.distribution).fits
        assert learner.distribution.quantile(np.array([0.5])).mean == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("people", [0, 100, 200])
def test_nobody_is_said_to_be_at_a_bound_that_answers_do_not_tell_of(
    people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before they do the prior is nearly sure that there is somebody, but not of how many."""
    values = np.random.default_rng(1).gamma(2, 290, people)
    population = DistributionPopulation(asked(values, SPENDINGS, 1).distribution)
    assert population.atoms == ()
    monkeypatch.setattr(population_module, "_KNOWN", 1e9)
    monkeypatch.setattr(population_module, "_FEW_PEOPLE", 0.0)
    assert replace(population).atoms == (0.0,)


def nearly_all_zeros(rng: np.random.Generator) -> FloatArray:
    """97% have 0, and all others a gamma around 100."""
    return np.where(rng.random(1_500) < 0.97, 0.0, rng.gamma(2, 50, 1_500))


def zeros_and_hundreds(rng: np.random.Generator) -> FloatArray:
    return np.where(rng.random(1_500) < 0.5, 0.0, 100.0)


@pytest.mark.parametrize(
    ("people", "support", "epsilon"),
    [
        (nearly_all_zeros, Support(0.0, atoms=(0.0,)), "1"),
        (nearly_all_zeros, SHARES, "3"),
        (zeros_and_hundreds, Support(0.0, 100.0, atoms=(0.0, 100.0)), "3"),
    ],
)
def test_where_nearly_everybody_has_one_value_that_is_said(
    people: Callable[[np.random.Generator], FloatArray], support: Support, epsilon: str
) -> None:
    """No family is compared, but not because there were too few answers."""
    learner = asked(people(np.random.default_rng(1)), support, 1, epsilon)
    found = fit_families(learner.counts, learner.distribution).comparison
    assert (found.families, found.verdict) == ((), NOT_COMPARED)
    [sentence] = verdict_lines(found.families, found.verdict)
    assert sentence.endswith("not compared, for people have too few different values")
    before = learner_on(support, epsilon, 1)
    assert fit_families({}, before.distribution).comparison.verdict == CANNOT_TELL


def test_where_the_few_others_are_known_it_is_said_which_families_the_answers_refuse() -> None:
    learner = asked(nearly_all_zeros(np.random.default_rng(3)), SPENDINGS, 3, "3")
    assert learner.distribution.atom_shares.mean[0] > 0.9
    found = fit_families(learner.counts, learner.distribution).comparison
    assert found.verdict == NONE_OF_THESE
    assert len(found.families) == 6
