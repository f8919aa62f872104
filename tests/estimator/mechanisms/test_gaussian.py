"""The mechanism `gaussian`: likelihood, designs at one ε and at one ρ, posteriors, and what a specification may say."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracle import answer_probabilities, quadrature
from populations import interview, specification
from scipy.stats import norm
from scipy_distributions import scipy_distribution

from dither_client import Gaussian, IntervalQuery, Query, gaussian_epsilon, gaussian_rho
from dither_estimator.design.design import Design, optimal_design
from dither_estimator.design.gaussian import GAUSSIAN_LEVELS, GaussianDesign
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.laplace import IntervalCandidates
from dither_estimator.design.member import Member
from dither_estimator.families import families, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.mechanisms.information import information
from dither_estimator.mechanisms.lattice import addresses, query_at
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import parse_prior
from dither_estimator.specification.specification import Specification, SpecificationError

NORMAL = families["normal"]


def design(epsilon: str, goal: str = "all", levels: int | None = None, mechanism: Any = "gaussian") -> Design:
    return optimal_design(NORMAL, NORMAL.standard, mechanism, Fraction(epsilon), parse_goal(goal, NORMAL), levels)


def design_at(rho: str, levels: int | None = None) -> Design:
    goal = parse_goal("all", NORMAL)
    return optimal_design(NORMAL, NORMAL.standard, "gaussian", Fraction(1), goal, levels, rho=Fraction(rho))


def question(low: float, high: float, levels: int, epsilon: str) -> Gaussian:
    return Gaussian(low, high, levels, gaussian_rho(levels, Fraction(epsilon)), epsilon)


def test_the_likelihood_is_the_one_of_the_definition() -> None:
    table: dict[Query, list[int]] = {
        question(-1, 2, 3, "1"): [5, 0, 2, 7],
        question(0, 0.5, 1, "2"): [1, 3],
        question(-9, 1, 16, "20"): [1] * 17,
    }
    theta = np.array([[0.3, 1.2], [-4.0, 0.5], [1.0, 30.0]])
    found = CountLikelihood.of(NORMAL, check_counts(table)).log_likelihood(theta)
    for (mu, sigma), value in zip(theta.tolist(), found.tolist(), strict=True):
        exact = sum(
            float(np.log(answer_probabilities(query, norm(mu, sigma))) @ counts) for query, counts in table.items()
        )
        assert value == pytest.approx(exact, rel=1e-9)


def random_answers(rng: np.random.Generator, answers: int) -> tuple[tuple[float, float], dict[Query, list[int]]]:
    mu, sigma = rng.normal(0, 20), math.exp(rng.normal(1, 0.7))
    table: dict[Query, list[int]] = {}
    for share in rng.multinomial(answers, np.full(8, 1 / 8)).tolist():
        centre, width = mu + sigma * rng.normal(), sigma * rng.uniform(0.5, 4)
        query = question(
            centre - width / 2, centre + width / 2, int(rng.integers(1, 7)), str(rng.choice(["0.5", "2", "8"]))
        )
        law = answer_probabilities(query, norm(mu, sigma))
        table[query] = rng.multinomial(share, law / law.sum()).tolist()
    return (mu, sigma), table


@pytest.mark.parametrize(
    "answers", [3_000, pytest.param(200, marks=pytest.mark.slow), pytest.param(50_000, marks=pytest.mark.slow)]
)
def test_the_posterior_agrees_with_quadrature(answers: int) -> None:
    """Seeded; the limits are over four Monte Carlo standard errors."""
    rng = np.random.default_rng([7, answers])
    prior = parse_prior(NORMAL, {"mu": {"dist": "norm", "scale": 50}, "sigma": {"dist": "lognorm", "s": 1, "scale": 3}})
    truth, table = random_answers(rng, answers)
    exact = quadrature(
        (scipy_distribution(prior.parts[0].distribution), scipy_distribution(prior.parts[1].distribution)), table, truth
    )
    state = update(rng, init(rng, prior, 4_000), check_counts(table))
    mean = state.weights @ state.theta
    sd = np.sqrt(state.weights @ (state.theta - mean) ** 2)
    assert np.abs(mean - exact.mean) / exact.sd == pytest.approx(0, abs=0.1)
    assert sd / exact.sd == pytest.approx(1, abs=0.1)
    assert state.log_evidence == pytest.approx(exact.log_evidence, abs=0.3)


@pytest.mark.parametrize("epsilon", ["0.05", "1", "3"])
def test_one_level_is_best_while_epsilon_is_small(epsilon: str) -> None:
    """The question with one level is that of `laplace` with one level, up to the six decimals of ρ."""
    found = design(epsilon)
    assert {query.n_answers for query in found.queries} == {2}
    assert found.criterion == pytest.approx(design(epsilon, levels=1, mechanism="laplace").criterion, rel=0.005)


@pytest.mark.parametrize(("epsilon", "levels"), [("5", {1}), ("8", {1, 2}), ("10", {2}), ("20", {2}), ("50", {3})])
def test_more_levels_win_from_epsilon_8(epsilon: str, levels: set[int]) -> None:
    found = design(epsilon)
    assert {query.n_answers - 1 for query in found.queries} == levels
    assert found.criterion <= 1.001 * min(design(epsilon, levels=count).criterion for count in (1, 2, 3, 4))
    assert found.criterion >= 0.999 * design(epsilon, mechanism="laplace").criterion


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10", "50"])
@pytest.mark.parametrize("goal", ["all", "mu"])
def test_designs_are_certified_and_their_queries_charge_epsilon(epsilon: str, goal: str) -> None:
    found = design(epsilon, goal)
    assert found.gap < 1e-3 * found.criterion
    for query in found.queries:
        assert isinstance(query, Gaussian)
        assert query.epsilon == Fraction(epsilon)
        assert query.rho == gaussian_rho(query.levels, query.epsilon)


def test_no_interval_of_more_levels_would_do_better_at_one_epsilon() -> None:
    """The criterion's slope at every interval of a fine grid, for numbers of levels that designs do not try."""
    member = Member(NORMAL, (0.0, 1.0))
    for epsilon in ("1", "20"):
        found = design(epsilon)
        inverse = np.linalg.inv(found.information)
        candidates = IntervalCandidates(GaussianDesign(), member, Fraction(epsilon), None, (5, 8, 16, 64))
        assert max(gain for gain, _ in candidates.best(inverse @ inverse, 64)) <= found.criterion * (1 + 1e-4)


@pytest.mark.parametrize("rho", ["0.0001", "0.5", "5"])
def test_designs_at_one_rho(rho: str) -> None:
    found = design_at(rho)
    assert found.gap < 2e-3 * found.criterion
    for query in found.queries:
        assert isinstance(query, Gaussian)
        assert query.rho == Fraction(rho)
        assert query.epsilon == gaussian_epsilon(query.levels, query.rho) <= found.epsilon
    assert found.criterion <= 1.001 * min(design_at(rho, levels).criterion for levels in GAUSSIAN_LEVELS)
    assert found.criterion <= 1.07 * design_at(rho, 64).criterion
    mixed = sum(
        (w * information(NORMAL, NORMAL.standard, q) for q, w in zip(found.queries, found.weights, strict=True)),
        np.zeros((2, 2)),
    )
    assert np.trace(np.linalg.inv(mixed)) == pytest.approx(found.criterion, rel=1e-6)


@pytest.mark.parametrize("name", ["gamma", "poisson"])
def test_other_families_have_designs(name: str) -> None:
    family = find_family(name)
    found = optimal_design(family, family.standard, "gaussian", Fraction(2), parse_goal("all", family))
    assert found.gap < 2e-3 * found.criterion


def test_a_question_is_asked_elsewhere_with_the_same_noise() -> None:
    for levels in (1, 3):
        standard = question(-1.5, 1.5, levels, "2")
        asked = query_at(standard, addresses(standard, np.array([40.0]), np.array([3.0]))[0], "log")
        assert isinstance(asked, Gaussian)
        assert (asked.levels, asked.rho, asked.epsilon) == (levels, standard.rho, standard.epsilon)
        assert asked.transform == "log"
        assert np.array(asked.edges) == pytest.approx(40 + 3 * np.array(standard.edges), abs=0.5)


@pytest.mark.parametrize("policy", ["adaptive", "thompson", "fixed:40:60"])
@pytest.mark.parametrize("privacy", [{"epsilon": 4}, {"epsilon": None, "rho": "2.5"}])
def test_every_policy_learns(policy: str, privacy: dict[str, Any]) -> None:
    spec = specification(policy=policy, mechanism="gaussian", particles=200, **privacy)
    rng = np.random.default_rng(11)
    learner = Learner(spec, 11)
    interview(learner, rng.normal(50, 3, 300), rng)
    assert learner.posterior().parameters["mu"].mean == pytest.approx(50, abs=12)
    for query in learner.counts:
        assert isinstance(query, Gaussian)
        assert query.epsilon <= spec.epsilon
        assert spec.largest_rho is not None
        assert query.rho <= spec.largest_rho
    assert Learner.restore(spec, learner.snapshot()).counts.keys() == learner.counts.keys()


def test_families_that_are_no_location_and_scale_learn() -> None:
    rng = np.random.default_rng(5)
    spec = specification(family="gamma", mechanism="gaussian", particles=200, prior=None, epsilon=None, rho=3)
    learner = Learner(spec, 5)
    interview(learner, rng.gamma(2, 3, 400), rng)
    assert all(isinstance(query, IntervalQuery) and query.rho == 3 for query in learner.counts)


def test_the_terms_of_an_epsilon_and_of_a_rho() -> None:
    by_epsilon = Specification.from_json({"family": "normal", "mechanism": "gaussian", "epsilon": "2"})
    assert by_epsilon.epsilon == 2
    assert by_epsilon.rho is None
    assert by_epsilon.largest_rho == max(gaussian_rho(levels, Fraction(2)) for levels in GAUSSIAN_LEVELS)
    by_rho = Specification.from_json({"family": "normal", "mechanism": "gaussian", "rho": 0.1})
    assert by_rho.rho == by_rho.largest_rho == Fraction(1, 10)
    assert by_rho.epsilon == max(gaussian_epsilon(levels, Fraction(1, 10)) for levels in GAUSSIAN_LEVELS)
    assert by_rho.epsilon_choices == (by_rho.epsilon,)
    fixed = Specification.from_json({"family": "normal", "mechanism": "gaussian", "rho": "0.1", "policy": "fixed:0:8"})
    query = fixed.fixed_query(fixed.epsilon)
    assert query == Gaussian(0, 8, 64, "0.1", gaussian_epsilon(64, Fraction(1, 10)))
    assert query.epsilon == fixed.epsilon
    seven = Specification.from_json({"family": "normal", "mechanism": "gaussian", "rho": "0.1", "levels": 7})
    assert seven.epsilon == gaussian_epsilon(7, Fraction(1, 10))
    choices = {"family": "normal", "mechanism": "gaussian", "epsilon": 1, "epsilon_choices": [1, 3]}
    assert Specification.from_json(choices).largest_rho == gaussian_rho(1, Fraction(3))
    assert Specification.from_json({"family": "normal", "epsilon": 1}).largest_rho is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "epsilon is required"),
        ({"rho": 1, "epsilon": 2}, "give either epsilon or rho"),
        ({"rho": 1, "epsilon_choices": [1, 2]}, "epsilon_choices only with epsilon"),
        ({"rho": 1, "mechanism": "laplace"}, "rho is for the mechanism gaussian only"),
        ({"rho": 1, "mechanism": None}, "rho is for the mechanism gaussian only"),
        ({"rho": 0}, "rho must be above 0"),
        ({"rho": "x"}, "rho must be a decimal"),
        ({"rho": "0.0000001"}, "rho must have at most six decimals"),
        ({"rho": 51}, "rho must be above 0 and at most 50"),
        ({"rho": "49.99"}, "rho must be smaller"),
        ({"epsilon": "0.001"}, "too small for gaussian noise"),
        ({"epsilon": "0.001", "policy": "fixed:0:1"}, "too small for gaussian noise"),
    ],
)
def test_bad_specifications(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        Specification.from_json({"family": "normal", "mechanism": "gaussian", **change})
    assert "\n" not in str(caught.value)
