"""Respondents at different ε in one collection: exact by quadrature, calibrated, and not when the choice tells."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from oracle import quadrature
from populations import answer, specification
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification

PRIOR = {"mu": {"dist": "norm", "scale": 20}, "sigma": {"dist": "lognorm", "s": 0.7, "scale": 3}}
LOW, HIGH = Fraction(1, 2), Fraction(2)


def _spec(**fields: object) -> Specification:
    return specification(epsilon="0.5", epsilon_choices=["0.5", 2], prior=PRIOR, **fields)


def _interviewed(spec: Specification, seed: int, values: FloatArray, chooses_low: npt.NDArray[np.bool_]) -> Learner:
    """A learner that has asked everyone, at 0.5 where `chooses_low` and at 2 elsewhere."""
    rng = np.random.default_rng([seed, 7])
    learner = Learner(spec, seed)
    for value, low in zip(values.tolist(), chooses_low.tolist(), strict=True):
        query = learner.ask(LOW if low else HIGH)
        learner.learn(query, answer(rng, query, value))
    return learner


def _table(rng: np.random.Generator, mechanism: str) -> dict[Query, list[int]]:
    """Answers of 2,000 people, N(5, 4), to three questions at each of two ε, which they choose by chance."""
    table: dict[Query, list[int]] = {}
    for value in rng.normal(5, 2, 2_000).tolist():
        epsilon = LOW if rng.random() < 0.5 else HIGH
        query = _question(mechanism, int(rng.integers(3)), epsilon)
        table.setdefault(query, [0] * query.n_answers)[answer(rng, query, value)] += 1
    return table


def _question(mechanism: str, i: int, epsilon: Fraction) -> Query:
    centre = (3.0, 5.0, 7.0)[i]
    if mechanism == "laplace":
        return Laplace(centre - 1, centre + 1, 2, epsilon)
    return RandomizedResponse((centre - 1, centre + 1), epsilon)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_the_posterior_of_two_epsilons_agrees_with_quadrature(mechanism: str) -> None:
    """Means within 0.2 sd and sds within 20%: five Monte Carlo standard errors at 600 effective particles. Seeded.

    Answers at 0.5 that are read as answers at 2 are far outside.
    """
    table = _table(np.random.default_rng(1), mechanism)
    learner = Learner(_spec(mechanism=mechanism), 1)
    learner.learn_counts(table)
    posterior = learner.posterior()
    by_epsilon = {e: sum(sum(row) for query, row in table.items() if query.epsilon == e) for e in (LOW, HIGH)}
    assert posterior.answers_by_epsilon == by_epsilon
    assert sum(by_epsilon.values()) == posterior.answers == 2_000
    laws = (stats.norm(0, 20), stats.lognorm(0.7, scale=3))
    exact = quadrature(laws, table, (5.0, 2.0))
    for name, mean, sd in zip(("mu", "sigma"), exact.mean, exact.sd, strict=True):
        assert abs(posterior.parameters[name].mean - mean) < 0.2 * sd
        assert abs(posterior.parameters[name].sd / sd - 1) < 0.2
    misread: dict[Query, list[int]] = {}
    for i in range(3):
        rows = [table[_question(mechanism, i, epsilon)] for epsilon in (LOW, HIGH)]
        misread[_question(mechanism, i, HIGH)] = [a + b for a, b in zip(*rows, strict=True)]
    wrong = quadrature(laws, misread, (5.0, 2.0))
    assert abs(posterior.parameters["sigma"].mean - wrong.mean[1]) > exact.sd[1]


def _ranks(spec: Specification, draws: int, follows_value: bool) -> FloatArray:
    """The posterior probability below the truth, for both parameters, shape (draws, 2)."""
    ranks = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 8])
        theta = spec.family.constrain(spec.prior.sample(rng, 1))[0]
        values = spec.family.sample(rng, theta, 150)
        coin = rng.random(150) < 0.5
        learner = _interviewed(spec, seed, values, values > theta[0] if follows_value else coin)
        particles, weights = learner.particles()
        ranks.append(weights @ (particles < theta))
    return np.array(ranks)


@pytest.mark.slow
def test_ranks_are_uniform_when_epsilon_is_chosen_by_chance() -> None:
    """100 draws, Kolmogorov-Smirnov at a false-alarm rate of 1e-3 for each parameter. Seeded."""
    for column in _ranks(_spec(particles=300), 100, follows_value=False).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_ranks_are_not_uniform_when_the_choice_follows_the_value() -> None:
    assert stats.kstest(_ranks(_spec(particles=300), 40, follows_value=True)[:, 0], "uniform").pvalue < 1e-6


def test_every_choice_is_counted_from_the_start() -> None:
    posterior = Learner(_spec(particles=100), 1).posterior()
    assert posterior.to_json()["answers_by_epsilon"] == {"0.5": 0, "2": 0}
    assert Learner(specification(particles=100), 1).posterior().to_json()["answers_by_epsilon"] == {"1": 0}
