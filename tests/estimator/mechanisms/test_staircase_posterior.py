"""Answers to staircase queries: the posterior against quadrature, and a collection that learns from them."""

import numpy as np
import pytest
from oracle import answer_probabilities, quadrature
from populations import interview, specification
from scipy.stats import norm
from scipy_distributions import scipy_distribution

from dither_client import Query, RandomizedResponse, Staircase
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.particles.system import init, update

SETS = {
    3: ([[0, 2], [1]], [1, 1]),
    4: ([[0, 1], [0, 3], [1, 2], [2, 3]], [3, 2, 2, 3]),
    6: ([[0, 1], [0, 1, 2], [0, 5], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5]], [1] * 7),
}


def table(seed: int, answers: int) -> tuple[tuple[float, float], dict[Query, list[int]]]:
    """A truth, and answers to questions with fewer answers than cells, as many, and more."""
    rng = np.random.default_rng(seed)
    mu, sigma = float(rng.normal(0, 10)), float(np.exp(rng.normal(1, 0.5)))
    counts: dict[Query, list[int]] = {}
    for cells, (sets, weights) in SETS.items():
        for epsilon in ("0.5", "1", "4"):
            cuts = np.sort(mu + sigma * rng.uniform(-1.5, 1.5, cells - 1)).tolist()
            query = Staircase(cuts, sets, weights, epsilon)
            law = answer_probabilities(query, norm(mu, sigma))
            counts[query] = rng.multinomial(answers // 9, law).tolist()
    return (mu, sigma), counts


@pytest.mark.parametrize("seed", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_the_posterior_agrees_with_quadrature(seed: int) -> None:
    """Seeded; the limits are four to five Monte Carlo standard errors of 10,000 particles (log evidence: sd 0.075)."""
    spec = specification(prior={"mu": {"dist": "norm", "scale": 50}, "sigma": {"dist": "lognorm", "s": 1, "scale": 3}})
    truth, counts = table(seed, 900 * 4**seed)
    exact = quadrature(
        (scipy_distribution(spec.prior.parts[0].distribution), scipy_distribution(spec.prior.parts[1].distribution)),
        counts,
        truth,
    )
    rng = np.random.default_rng(seed)
    state = update(rng, init(rng, spec.prior, 10_000), check_counts(counts))
    mean = state.weights @ state.theta
    sd = np.sqrt(state.weights @ (state.theta - mean) ** 2)
    assert np.abs(mean - exact.mean) / exact.sd == pytest.approx(0, abs=0.07)
    assert sd / exact.sd == pytest.approx(1, abs=0.07)
    assert state.log_evidence == pytest.approx(exact.log_evidence, abs=0.4)


def test_a_posterior_from_the_wrong_sets_is_rejected() -> None:
    """Answers counted under each other's names: the check above would fail."""
    spec = specification(prior={"mu": {"dist": "norm", "scale": 50}, "sigma": {"dist": "lognorm", "s": 1, "scale": 3}})
    truth, counts = table(2, 14_400)
    exact = quadrature(
        (scipy_distribution(spec.prior.parts[0].distribution), scipy_distribution(spec.prior.parts[1].distribution)),
        counts,
        truth,
    )
    rng = np.random.default_rng(2)
    wrong: dict[Query, list[int]] = {query: row[::-1] for query, row in counts.items()}
    state = update(rng, init(rng, spec.prior, 2_000), check_counts(wrong))
    assert np.abs((state.weights @ state.theta - exact.mean) / exact.sd).max() > 1


@pytest.mark.parametrize("policy", ["adaptive", "thompson"])
@pytest.mark.parametrize("epsilon", ["0.5", pytest.param("5", marks=pytest.mark.slow)])
def test_a_collection_learns(policy: str, epsilon: str) -> None:
    """Both means within five posterior sds of the truth (seeded); single cuts are asked, too, where they help."""
    spec = specification(
        mechanism="staircase", epsilon=epsilon, policy=policy, particles=500, range=[0, 20], prior=None
    )
    rng = np.random.default_rng(3)
    learner = Learner(spec, 3)
    interview(learner, rng.normal(10, 3, 1_500), rng)
    for name, truth in (("mu", 10), ("sigma", 3)):
        summary = learner.posterior().parameters[name]
        assert abs(summary.mean - truth) < 5 * summary.sd
        assert summary.sd < 2
    kinds = {type(query) for query in learner.counts}
    assert Staircase in kinds
    assert (RandomizedResponse in kinds) == (policy == "adaptive" and epsilon == "0.5")


@pytest.mark.parametrize("family", ["poisson", pytest.param("gamma", marks=pytest.mark.slow)])
def test_other_families(family: str) -> None:
    spec = specification(family=family, mechanism="staircase", prior=None, particles=300)
    rng = np.random.default_rng(5)
    learner = Learner(spec, 5)
    interview(learner, spec.family.sample(rng, spec.family.standard, 300), rng)
    assert learner.answers == 300
    assert any(isinstance(query, Staircase) for query in learner.counts)
