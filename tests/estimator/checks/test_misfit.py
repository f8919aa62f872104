"""The misfit check: its questions, its p-values, what it is told to do, and that learning does not meet it."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from populations import PAPER_PRIOR, answer
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.posterior.wire import Misfit, MisfitLook
from dither_estimator.checks.goodness_of_fit import Look, MisfitCheck, check_questions, misfit_p_value, misfit_report
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification, SpecificationError

NORMAL = families["normal"]
ONE = Fraction(1)
ONE_LEVEL = Laplace(0, 1, 1, 1)
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
    """Kolmogorov-Smirnov against the uniform distribution on 1/1000, …, 1, spread evenly below each step."""
    spread = np.array(p_values) - np.random.default_rng(2).uniform(0, 1e-3, len(p_values))
    return float(stats.kstest(spread, "uniform").pvalue)


def test_p_values_are_uniform_over_the_prior() -> None:
    """False alarm 1e-3; a short version of the one below."""
    spec = checked(particles=200)
    learners = [interview(spec, seed, from_prior(spec, 80)) for seed in range(60)]
    assert uniformity([learner.p_value() for learner in learners]) > FALSE_ALARM


@pytest.mark.slow
def test_p_values_are_uniform_over_the_prior_and_those_of_learnt_answers_are_not() -> None:
    """150 truths from the prior, 150 answers each; false alarm 1e-3. Naive ones fail by far and vary too little.

    Over 1,900 truths their standard deviations are 0.287 and 0.256; 150 know each to 0.011, and their difference, of
    the same truths, better. Of four sets of other truths none has a naive p-value above 1e-4.
    """
    spec = checked()
    proper, naive = [], []
    for seed in range(150):
        learner = interview(spec, seed, from_prior(spec, 150))
        proper.append(learner.p_value())
        naive.append(learnt_p_value(learner))
    assert uniformity(proper) > FALSE_ALARM
    assert uniformity(naive) < FALSE_ALARM
    assert np.std(naive) < np.std(proper)


@pytest.mark.long
@pytest.mark.parametrize("theta", [(0.0, 1.0), (60.0, 4.0)])
def test_p_values_are_uniform_at_fixed_truths(theta: tuple[float, float]) -> None:
    """80 runs at one truth, 400 answers each; false alarm 1e-3."""
    spec = checked(policy="thompson")
    p_values = [interview(spec, seed, from_member(theta, 400)).p_value() for seed in range(80)]
    assert uniformity(p_values) > FALSE_ALARM


def test_a_population_in_two_heaps_is_no_normal() -> None:
    spec = checked(misfit_check=0.5, misfit_looks=[100, 400])

    def heaps(rng: np.random.Generator) -> FloatArray:
        return np.where(rng.random(1_000) < 0.2, 4.0, 0.0) + rng.normal(0, 0.1, 1_000)

    learner = interview(spec, 1, heaps)
    assert spec.misfit_check is not None
    first, second = learner.looks
    assert (first.planned, first.check_answers) == (100, 100)
    assert (second.planned, second.check_answers) == (400, 400)
    assert second.p_value <= spec.misfit_check.alpha
    report = learner.report()
    assert report.alarm
    assert report.next_look is None
    assert report.check_answers == learner.answers - learner.posterior().answers > 400


def particles(seed: int) -> tuple[FloatArray, FloatArray]:
    """A posterior of (μ, σ) about (50, 3) with weights that differ."""
    rng = np.random.default_rng(seed)
    theta = np.column_stack([rng.normal(50, 0.3, 500), np.exp(rng.normal(np.log(3), 0.1, 500))])
    weights = rng.dirichlet(np.ones(500))
    return theta, weights


def oracle(theta: FloatArray, weights: FloatArray, counts: dict[Laplace, list[int]], size: int) -> float:
    """The chance of a greater T, and half of that of an equal one, by loops over the definition."""
    rng = np.random.default_rng(9)
    member = weights @ theta[:, 0], np.exp(weights @ np.log(theta[:, 1]))

    def above(members: FloatArray, query: Laplace) -> FloatArray:
        odds = np.exp(float(query.epsilon))
        share = stats.norm.sf((query.low + query.high) / 2, members[:, 0], members[:, 1])
        return np.asarray((share * odds + 1 - share) / (odds + 1))

    picks = rng.choice(len(theta), size, p=weights)
    sums: dict[float, list[Any]] = {}
    for query, (zeros, ones) in counts.items():
        mean = float(weights @ above(theta, query))
        z = ((query.low + query.high) / 2 - member[0]) / member[1]
        near = min((-1.5, -0.3, 0.3, 1.5), key=lambda point: abs(point - z))
        drawn = rng.binomial(zeros + ones, above(theta[picks], query))
        into = sums.setdefault(near, [0.0, np.zeros(size), 0.0])
        into[0] += ones - (zeros + ones) * mean
        into[1] = into[1] + drawn - (zeros + ones) * mean
        into[2] += (zeros + ones) * mean * (1 - mean)
    observed = sum(excess**2 / variance for excess, _, variance in sums.values())
    replicated = sum(excess**2 / variance for _, excess, variance in sums.values())
    greater, equal = replicated > observed + 1e-9, abs(replicated - observed) <= 1e-9
    return float(greater.mean() + equal.mean() / 2)


@pytest.mark.parametrize("shift", [0, 3])
def test_the_p_value_is_that_of_its_definition(shift: int) -> None:
    """Against 40,000 replicates of an independent computation. Five standard errors: a false alarm in 1e6.

    Counts moved by `shift` have another p-value, so neither case would pass as the other.
    """
    theta, weights = particles(1)
    rows = {
        (44.0, "1"): [14, 26],
        (45.75, "1"): [7, 23],
        (49.0, "0.5"): [24, 36],
        (49.25, "1"): [4, 6],
        (51.0, "2"): [34, 16],
        (54.5, "1"): [53, 17],
    }
    counts = {
        Laplace(cut - 1, cut + 1, 1, epsilon): [zeros - shift, ones + shift]
        for (cut, epsilon), (zeros, ones) in rows.items()
    }
    p = oracle(theta, weights, counts, 40_000)
    rng = np.random.default_rng(3)
    table: dict[Query, Any] = {query: np.array(row) for query, row in counts.items()}
    found = np.mean([misfit_p_value(rng, NORMAL, theta, weights, table) for _ in range(40)])
    assert abs(found - p) < 5 * np.sqrt(2 * p * (1 - p) / 40_000) + 1e-3
    assert 0.005 < p < 0.995


def test_ties_are_broken_at_random() -> None:
    """One answer whose misfit is the same either way: every rank is as likely. False alarm 1e-3."""
    theta, weights = np.array([[0.0, 1.0]]), np.ones(1)
    counts: dict[Query, Any] = {Laplace(-1, 1, 1, 1): np.array([1, 0])}
    rng = np.random.default_rng(4)
    assert uniformity([misfit_p_value(rng, NORMAL, theta, weights, counts) for _ in range(400)]) > FALSE_ALARM


@pytest.mark.parametrize("counts", [{}, {RandomizedResponse([0, 1], 1): np.array([1, 0, 0])}])
def test_what_is_no_check_answer_is_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match="two answers"):
        misfit_p_value(np.random.default_rng(1), NORMAL, *particles(1), counts)


def test_check_questions_of_the_normal_lie_at_m_and_z_s() -> None:
    theta, weights = particles(2)
    mu, sigma = weights @ theta[:, 0], np.exp(weights @ np.log(theta[:, 1]))
    questions = check_questions(NORMAL, theta, weights, Laplace(0, 1, 1, "0.5"), "log")
    cuts = [cut for query in questions for cut in query.edges]
    assert np.abs(np.array(cuts) - (mu + sigma * np.array([-1.5, -0.3, 0.3, 1.5]))).max() <= 0.0751 * sigma
    for query, cut in zip(questions, cuts, strict=True):
        assert (query.n_cells, query.epsilon, query.transform) == (2, Fraction(1, 2), "log")
        assert cut % 0.25 == 0


@pytest.mark.parametrize("family", [family for name, family in families.items() if name != "bernoulli"])
def test_every_familys_check_questions_lie_where_its_quantiles_do(family: Family) -> None:
    theta = np.repeat(family.standard[None], 2, axis=0)
    questions = check_questions(family, theta, np.array([0.5, 0.5]), ONE_LEVEL, "identity")
    cuts = np.array([query.edges[0] for query in questions])
    below = family.cdf(theta[:1], cuts)[0]
    assert len(questions) == 4
    if family.discrete:
        assert (cuts % 1 == 0.5).all()
        assert (below >= stats.norm.cdf([-1.5, -0.3, 0.3, 1.5]) - 1e-9).all()
    else:
        assert below == pytest.approx(stats.norm.cdf([-1.5, -0.3, 0.3, 1.5]), abs=0.04)


def test_a_posterior_that_moves_a_little_has_the_same_check_questions() -> None:
    asked = {
        query
        for seed in range(50)
        for query in check_questions(
            NORMAL,
            np.random.default_rng(seed).normal([50, 3], 0.02, (100, 2)),
            np.full(100, 0.01),
            ONE_LEVEL,
            "identity",
        )
    }
    assert len(asked) <= 8


@pytest.mark.parametrize("theta", [(0.0, 1e300), (0.0, 1e-300), (1e308, 1.0), (-1e15, 1e-9)])
def test_extreme_members_have_check_questions_or_none(theta: tuple[float, float]) -> None:
    for query in check_questions(NORMAL, np.array([theta]), np.ones(1), ONE_LEVEL, "identity"):
        assert np.isfinite(query.edges).all()


def test_neither_posterior_nor_questions_depend_on_check_answers() -> None:
    """The same run twice, with other check answers: everything else is the same to the last digit."""

    def run(check_answer: int) -> tuple[list[Any], Any, Any]:
        learner, rng = CheckedLearner(checked(), 11), np.random.default_rng(12)
        asked = []
        for value in rng.normal(20, 2, 200).tolist():
            query = learner.ask()
            given = answer(rng, query, value)
            learner.learn(query, check_answer if learner._checking else given)
            asked.append((query, learner.learner.answers))
        return asked, learner.posterior().to_json(), learner.check_counts

    asked, posterior, counts = run(0)
    again, same, others = run(1)
    assert asked == again
    assert posterior == same
    assert {query: row.tolist() for query, row in counts.items()} != {q: row.tolist() for q, row in others.items()}
    assert 0 < posterior["answers"] < 200


def test_without_a_check_nothing_is_checked() -> None:
    with pytest.raises(ValueError, match="no goodness-of-fit check"):
        CheckedLearner(checked(misfit_check=False, misfit_looks=None), 1)


def test_looks_are_made_when_they_are_due_and_once() -> None:
    check = MisfitCheck(0.2, (10, 20, 40))
    assert check.alpha == pytest.approx(0.05 / 3)
    assert [check.due(n, []) for n in (0, 9, 10, 19, 20, 500)] == [None, None, 10, 10, 20, 40]
    made = [Look(20, 23, 90, 0.4)]
    assert [check.due(n, made) for n in (23, 39, 40)] == [None, None, 40]
    assert check.due(500, [*made, Look(40, 41, 200, 0.01)]) is None
    told = MisfitLook(check_answers=23, answers=90, p_value=0.4, alpha=check.alpha)
    report = misfit_report(check, NORMAL, "log", 30, made)
    assert report == Misfit("normal", 30, (told,), alarm=False, next_look=40, transform="log")
    assert misfit_report(check, NORMAL, "log", 45, [*made, Look(40, 41, 200, 0.01)]).alarm


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, None),
        ({"misfit_check": False}, None),
        ({"misfit_check": True}, MisfitCheck(0.2, (500, 5_000, 50_000))),
        ({"misfit_check": 0.5, "misfit_looks": [7]}, MisfitCheck(0.5, (7,))),
    ],
)
def test_specifications_of_the_check(fields: dict[str, Any], found: MisfitCheck | None) -> None:
    assert Specification.from_json({"family": "normal", "epsilon": 1, **fields}).misfit_check == found


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"misfit_check": 0}, "share above 0 and at most 0.5"),
        ({"misfit_check": 0.51}, "share above 0 and at most 0.5"),
        ({"misfit_check": "0.2"}, "share above 0 and at most 0.5"),
        ({"misfit_check": float("nan")}, "share above 0 and at most 0.5"),
        ({"misfit_check": [0.2]}, "share above 0 and at most 0.5"),
        ({"misfit_check": True, "misfit_looks": []}, "misfit_looks must be a list"),
        ({"misfit_check": True, "misfit_looks": 500}, "misfit_looks must be a list"),
        ({"misfit_check": True, "misfit_looks": [0]}, "misfit_looks must be a list"),
        ({"misfit_check": True, "misfit_looks": [5.0]}, "misfit_looks must be a list"),
        ({"misfit_check": True, "misfit_looks": [5, 5]}, "increasing"),
        ({"misfit_check": True, "misfit_looks": list(range(1, 22))}, "1 to 20"),
        ({"misfit_looks": [500]}, "misfit_looks needs misfit_check"),
        ({"family": "bernoulli", "misfit_check": True}, "misfit_check must be left out for bernoulli"),
    ],
)
def test_a_check_that_cannot_be_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecificationError, match=says):
        Specification.from_json({"family": "normal", "epsilon": 1, **fields})


def test_the_learner_beside_it_is_an_ordinary_one() -> None:
    """A checked learner's posterior is what the training counts alone give, to Monte Carlo error."""
    learner = interview(checked(particles=2_000), 3, from_member((50.0, 3.0), 600))
    other = Learner(checked(particles=2_000), 4)
    other.learn_counts(learner.learner.counts)
    for name, summary in other.posterior().parameters.items():
        assert abs(learner.posterior().parameters[name].mean - summary.mean) < 0.25 * summary.sd
