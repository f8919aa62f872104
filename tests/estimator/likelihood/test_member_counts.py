"""Noisy counts of an institution's members: the likelihood against enumeration, the posterior against quadrature."""

from fractions import Fraction
from math import comb, exp, fsum, log

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import gammaln, logsumexp

from dither_client import Laplace, Query
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.second_opinion import SecondOpinion, Steering
from dither_estimator.likelihood.institutions import MemberCount, log_probability, merge_members, without_members
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import parse_prior
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.moments import Moments

PRIOR = {"mu": {"dist": "norm", "loc": 0, "scale": 3}, "sigma": {"dist": "gamma", "a": 4, "scale": 0.5}}


def enumerated(below: float, size: int, epsilon: float, noise: float | None = None) -> list[float]:
    """`P(S = s)` for every s, by summing over every count and every noise; `noise` is the ε that is really used."""
    alpha = exp(-(noise or epsilon))
    channel = [[0.0] * (size + 1) for _ in range(size + 1)]
    for k in range(size + 1):
        for s in range(1, size):
            channel[k][s] = (1 - alpha) / (1 + alpha) * alpha ** abs(s - k)
        channel[k][0] = alpha**k / (1 + alpha)
        channel[k][size] = alpha ** (size - k) / (1 + alpha)
    law = [comb(size, k) * (1 - below) ** k * below ** (size - k) for k in range(size + 1)]
    return [fsum(law[k] * channel[k][s] for k in range(size + 1)) for s in range(size + 1)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("size", [1, 2, 30])
@pytest.mark.parametrize("below", [0.003, 0.4, 0.97])
def test_probabilities_are_those_of_enumeration(size: int, epsilon: float, below: float) -> None:
    exact = enumerated(below, size, epsilon)
    found = [float(log_probability(np.array([below]), size, epsilon, s)[0]) for s in range(size + 1)]
    np.testing.assert_allclose(np.exp(found), exact, rtol=1e-9)
    assert fsum(np.exp(found)) == pytest.approx(1)


def test_another_noise_than_the_stated_one_is_seen() -> None:
    """The broken variant: noise of √2 ε differs from the likelihood's everywhere by more than the tolerance above."""
    wrong = enumerated(0.4, 30, 1.0, noise=2**0.5)
    found = [float(log_probability(np.array([0.4]), 30, 1.0, s)[0]) for s in range(31)]
    assert np.abs(np.exp(found) / wrong - 1).max() > 0.1


def test_one_member_is_randomised_response() -> None:
    """With one member, the count is the answer to a question with one level."""
    family = families["normal"]
    theta = np.array([[0.3, 1.2], [-2.0, 0.1]])
    query = Laplace(-0.5, 0.5, 1, 1)
    for answer in (0, 1):
        row = np.zeros(2, dtype=np.int64)
        row[answer] = 1
        asked = CountLikelihood.of(family, {query: row}).log_likelihood(theta)
        shared = CountLikelihood.of(family, {}, {MemberCount(0.0, 1, Fraction(1), answer): 1}).log_likelihood(theta)
        np.testing.assert_allclose(shared, asked, rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
@pytest.mark.parametrize("count", [3, 500, 99_000])
def test_far_tails_keep_their_logarithms(epsilon: float, count: int) -> None:
    """100,000 members and probabilities down to e^-100,000: against logarithms of a sum over every count."""
    size = 100_000
    k = np.arange(size + 1)
    below = np.array([1e-9, 0.01, 0.5, 0.995, 1 - 1e-9])
    choose = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    noise = log(np.tanh(epsilon / 2)) - epsilon * np.abs(k - count)
    expected = [logsumexp(choose + k * np.log1p(-b) + (size - k) * np.log(b) + noise) for b in below]
    np.testing.assert_allclose(log_probability(below, size, epsilon, count), expected, rtol=2e-9, atol=1e-6)


def test_certain_members_leave_the_noise_alone() -> None:
    found = log_probability(np.array([0.0, 1.0]), 10, 1.0, 4)
    np.testing.assert_allclose(found, [log(np.tanh(0.5)) - 6, log(np.tanh(0.5)) - 4])


def quadrature(log_likelihood: FloatArray, grid: FloatArray, prior: FloatArray) -> tuple[float, float]:
    weights = np.exp(log_likelihood + prior - (log_likelihood + prior).max())
    weights /= weights.sum()
    mean = float(weights @ grid)
    return mean, float(weights @ (grid - mean) ** 2) ** 0.5


def test_the_posterior_of_counts_and_answers_is_that_of_quadrature() -> None:
    """Two institutions and 40 people on one θ: mean within 5 Monte Carlo standard errors of about 0.02 sd, 1e-6."""
    rng = np.random.default_rng(1)
    prior = parse_prior(families["normal"], PRIOR)
    answers: dict[Query, npt.NDArray[np.int64]] = {Laplace(-0.5, 0.5, 1, 1): np.array([12, 28])}
    members = {
        MemberCount(0.0, 200, Fraction(1), 140): 1,
        MemberCount(1.0, 200, Fraction(1), 61): 1,
        MemberCount(0.5, 1000, Fraction(1, 2), 500): 2,
    }
    system = update(rng, init(rng, prior, 4000), answers, members)
    mu, log_sigma = np.meshgrid(np.linspace(0, 1.2, 301), np.linspace(-1.5, 1.5, 301))
    coordinates = np.column_stack([mu.ravel(), log_sigma.ravel()])
    theta = families["normal"].constrain(coordinates)
    logs = CountLikelihood.of(families["normal"], answers, members).log_likelihood(theta)
    mean, sd = quadrature(logs, theta[:, 0], prior.log_density(coordinates))
    assert system.weights @ system.theta[:, 0] == pytest.approx(mean, abs=0.1 * sd)
    spread = (system.weights @ (system.theta[:, 0] - mean) ** 2) ** 0.5
    assert spread == pytest.approx(sd, rel=0.1)
    # In two pieces, the other way round: the same posterior and the same evidence.
    first = update(rng, init(rng, prior, 4000), {}, members)
    second = update(rng, first, answers)
    assert second.weights @ second.theta[:, 0] == pytest.approx(mean, abs=0.1 * sd)
    assert second.log_evidence == pytest.approx(system.log_evidence, abs=0.3)


def test_tables_of_counts() -> None:
    one, other = MemberCount(0.0, 5, Fraction(1), 2), MemberCount(1.0, 5, Fraction(1), 2)
    assert merge_members({one: 1}, {one: 1, other: 1}) == {one: 2, other: 1}
    assert without_members({one: 2, other: 1}, {one: 1}) == {one: 1, other: 1}
    assert without_members({one: 1}, {one: 2}) is None


def test_questions_follow_what_institutions_share_and_nobody_is_doubted_for_it() -> None:
    """After 200 answers about 50 ± 10, 4,000 members of whom the same is true: questions where they help, no doubt."""
    spec = Specification.from_json({"family": "normal", "epsilon": 1, "range": [-1000, 1000], "particles": 300})
    learner = Learner(spec, 1)
    asked = learner.pool(8)
    members = {MemberCount(cut, 2000, Fraction(1), count): 1 for cut, count in ((45.0, 1383), (55.0, 617))}
    learner.learn_members(members)
    mean, sd = learner.posterior().parameters["mu"].mean, learner.posterior().parameters["mu"].sd
    assert mean == pytest.approx(50, abs=5 * sd)
    assert sd < 1
    centres = [sum(query.edges) / len(query.edges) for query in learner.pool(8)]
    assert all(20 < centre < 80 for centre in centres)
    assert learner.pool(8) != asked
    again = Learner.restore(spec, learner.snapshot())
    assert again.members == members
    assert again.posterior().to_json() == learner.posterior().to_json()


def test_a_second_opinion_learns_members_too_and_no_doubt_comes_of_them() -> None:
    rng = np.random.default_rng(1)
    prior = parse_prior(families["normal"], PRIOR)
    system = init(rng, prior, 200)
    steering = Steering(Moments.of(system.coordinates, system.weights), SecondOpinion(system, 0.0, False, 100, 0.0))
    members = {MemberCount(0.0, 200, Fraction(1), 140): 1}
    learnt = steering.learnt(rng, {}, members)
    assert learnt.mark is None
    assert learnt.second is not None
    assert learnt.second.system.members == members
