"""The particle system against quadrature, and the mechanics of its update."""

import numpy as np
import pytest
from oracle import random_table
from populations import interview, specification
from scipy import stats
from scipy_families import ORACLES

from dither_client import Laplace, Query
from dither_estimator.families import FloatArray, Normal, families, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.metropolis import Proposal, move
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import Prior, parse_prior
from dither_estimator.weighted.sample import effective_sample_size, systematic_sample

PRIOR = {
    "mu": {"dist": "norm", "scale": 50},
    "sigma": {"dist": "lognorm", "s": 1, "scale": 3},
}


@pytest.fixture
def prior() -> Prior:
    return parse_prior(families["normal"], PRIOR)


def test_one_by_one_and_all_at_once_agree(prior: Prior) -> None:
    rng = np.random.default_rng(5)
    table = random_table(rng, ORACLES["normal"], (-20.0, 4.0), 400)
    at_once = update(rng, init(rng, prior, 4_000), check_counts(table))
    one_by_one = init(rng, prior, 4_000)
    for query, counts in table.items():
        for answer, count in enumerate(counts):
            for _ in range(count):
                row = np.zeros(query.n_answers, dtype=np.int64)
                row[answer] = 1
                one_by_one = update(rng, one_by_one, {query: row})
    assert {q: row.tolist() for q, row in one_by_one.counts.items()} == {q: c for q, c in table.items() if any(c)}
    sd = np.sqrt(np.diag(np.cov(at_once.theta.T)))
    difference = (at_once.weights @ at_once.theta - one_by_one.weights @ one_by_one.theta) / sd
    assert np.abs(difference).max() < 0.12
    assert one_by_one.log_evidence == pytest.approx(at_once.log_evidence, abs=0.8)  # known to 0.2, after 30 moves


def test_the_posterior_that_particles_carry_is_the_posterior(prior: Prior) -> None:
    """Moved with some answers and weighed with others since: to 1e-12, up to a constant."""
    rng = np.random.default_rng(6)
    state = init(rng, prior, 300)
    assert state.log_posterior is None
    tables = [random_table(rng, ORACLES["normal"], (3.0, 1.0), answers) for answers in (300, 1, 2)]
    for table in tables:
        state = update(rng, state, check_counts(table))
    assert state.log_posterior is not None
    assert len(np.unique(state.log_weights)) > 1
    likelihood = CountLikelihood.of(prior.family, state.counts).log_likelihood(state.theta)
    exact = prior.log_density(state.coordinates) + likelihood
    assert state.log_posterior - state.log_posterior[0] == pytest.approx(exact - exact[0], rel=1e-12, abs=1e-10)


def test_update_changes_no_argument_and_keeps_half_the_sample(prior: Prior) -> None:
    rng = np.random.default_rng(1)
    start = init(rng, prior, 500)
    before = start.coordinates.copy(), start.log_weights.copy()
    state = update(rng, start, check_counts({Laplace(-1, 1, 1, 1): [40, 3]}))
    assert (start.coordinates == before[0]).all()
    assert (start.log_weights == before[1]).all()
    assert not start.counts
    assert state.moves > 0
    assert effective_sample_size(state.log_weights) >= 250


def test_weights_that_are_not_finite_raise(prior: Prior) -> None:
    class Broken(Normal):
        def standard_cdf(self, z: FloatArray) -> FloatArray:
            return np.full_like(z, np.nan)

    family = Broken()
    rng = np.random.default_rng(1)
    state = init(rng, parse_prior(family, PRIOR), 100)
    with pytest.raises(FloatingPointError, match="not finite"):
        update(rng, state, check_counts({Laplace(-1, 1, 1, 1): [1, 0]}))


def test_effective_sample_size() -> None:
    assert effective_sample_size(np.log([0.5, 0.5])) == pytest.approx(2)
    assert effective_sample_size(np.array([-1e6, -1e6 - 1e4])) == pytest.approx(1)
    assert effective_sample_size(np.log([0.5, 0.25, 0.25])) == pytest.approx(1 / 0.375)


def test_systematic_resampling_is_within_one_of_expectation() -> None:
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(50))
    drawn = np.bincount(systematic_sample(weights, 1_000, rng.random()), minlength=50)
    assert np.abs(drawn - 1_000 * weights).max() < 1


@pytest.mark.parametrize("broken", [False, True])
def test_moves_leave_a_skewed_target_invariant(broken: bool) -> None:
    """Kolmogorov-Smirnov at a false-alarm rate of 1e-4; a move that forgets the proposal's density is caught."""
    rng = np.random.default_rng(8)
    start = rng.gumbel(size=(20_000, 1))
    proposal = Proposal.fit(start, np.full(len(start), 1 / len(start)))
    if broken:
        proposal = _Forgetful(proposal.mean, proposal.factor)
    moved = move(rng, _log_gumbel, start, _log_gumbel(start), proposal, len(start))
    assert 0.2 < moved.rate < 1
    assert (stats.kstest(moved.coordinates[:, 0], stats.gumbel_r.cdf).pvalue < 1e-4) == broken
    assert (moved.log_target == _log_gumbel(moved.coordinates)).all()


@pytest.mark.parametrize("broken", [False, True])
def test_moves_find_their_way_in_a_narrow_core_with_far_tails(broken: bool) -> None:
    """As posteriors are under a wide prior. With proposals as wide as all of it chains in the core stand still.

    Kolmogorov-Smirnov of the distance from the middle, at a false-alarm rate of 1e-4.
    """
    rng = np.random.default_rng(2)
    far = rng.random(4_000) < 0.1
    start = rng.standard_normal((4_000, 2)) * np.where(far, 1e4, 1.0)[:, None]
    proposal = Proposal.fit(start, np.full(len(start), 1 / len(start)))
    if broken:
        proposal = _OneScale(proposal.mean, np.diag(start.std(axis=0)))
    moved = move(rng, _log_core_and_tails, start, _log_core_and_tails(start), proposal, len(start))
    assert (moved.rate < 0.1) == broken
    distance = np.sum(moved.coordinates**2, axis=1)
    core = stats.chi2(2)
    assert stats.kstest(distance, lambda x: 0.9 * core.cdf(x) + 0.1 * core.cdf(x / 1e8)).pvalue > 1e-4


def test_a_particle_of_a_wide_prior_that_is_near_by_chance_does_not_stand_for_all() -> None:
    family = find_family("student_t:3")
    prior = parse_prior(family, family.default_prior("identity"))
    wide = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        state = init(rng, prior, 1_000)
        state.coordinates[0] = 0.0  # mu 0 and sigma 1, which explain the answers best
        found = update(rng, state, {Laplace(-5, 5, 8, 1): np.array([100, 6, 14, 13, 20, 19, 12, 11, 98])})
        wide.append(found.weights @ (found.theta[:, 1] > 50))
    assert np.mean(wide) > 0.8  # by quadrature 0.958


def test_no_particle_takes_the_place_of_all() -> None:
    """Twenty populations are found from under the default prior: no move ends with few distinct particles."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        learner = Learner(specification(prior=None), seed)
        for values in rng.normal(50, 3, (15, 10)):
            interview(learner, values, rng)
            assert len(np.unique(learner.particles()[0], axis=0)) > 150


@pytest.mark.parametrize("size", [50, 180, 200])
def test_chains_give_states_from_along_their_way(size: int) -> None:
    """All chains equally many but for rounding, the last states among them; no state is anything but one of a chain."""
    rng = np.random.default_rng(5)
    evaluated = [np.zeros((50, 1))]

    def log_target(coordinates: FloatArray) -> FloatArray:
        evaluated.append(coordinates)
        return -0.5 * coordinates[:, 0] ** 2

    start = rng.standard_normal((50, 1))
    moved = move(rng, log_target, start, log_target(start), Proposal(np.zeros(1), np.eye(1)), size).coordinates
    assert moved.shape == (size, 1)
    assert np.isin(moved, np.concatenate(evaluated)).all()
    assert len(np.unique(moved)) > 0.5 * size


def _log_gumbel(coordinates: FloatArray) -> FloatArray:
    return np.asarray(stats.gumbel_r.logpdf(coordinates[:, 0]))


def _log_core_and_tails(coordinates: FloatArray) -> FloatArray:
    squares = np.sum(coordinates**2, axis=1)
    density: FloatArray = np.logaddexp(np.log(0.9) - squares / 2, np.log(0.1) - 2 * np.log(1e4) - squares / 2e8)
    return density


class _OneScale(Proposal):
    def step(self, rng: np.random.Generator, particles: FloatArray) -> FloatArray:
        return rng.standard_normal(particles.shape) @ self.factor.T


class _Forgetful(Proposal):
    def log_density(self, coordinates: FloatArray) -> FloatArray:
        return np.zeros(len(coordinates))


def test_extreme_counts_stay_finite(prior: Prior) -> None:
    rng = np.random.default_rng(2)
    table: dict[Query, list[int]] = {Laplace(-1, 1, 1, "0.01"): [10**9, 10**9 + 10**6], Laplace(2, 3, 4, 50): [7] * 5}
    state = update(rng, init(rng, prior, 300), check_counts(table))
    assert np.isfinite(state.log_evidence)
    assert np.isfinite(state.theta).all()
    assert effective_sample_size(state.log_weights) > 100
