"""Particles drawn afresh: of the target's law, evenly spread, and only where a proposal is near enough."""

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import FloatArray
from dither_estimator.particles.metropolis import Proposal
from dither_estimator.particles.quasi_monte_carlo import efficiency, redraw


@pytest.mark.parametrize("broken", [False, True])
def test_weighted_points_have_the_law_of_a_skewed_target(broken: bool) -> None:
    """To 0.001 of probability, in fifty runs; weights that forget the proposal's density are caught."""
    rng = np.random.default_rng(1)
    proposal = (_Forgetful if broken else Proposal)(np.array([0.6]), np.array([[1.3]]))
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    found = np.mean([_shares(rng, proposal, stats.gumbel_r.ppf(levels)) for _ in range(50)], axis=0)
    assert (np.abs(found - levels).max() > 0.001) == broken


def test_evenly_spread_points_know_means_and_shares_better_than_independent_ones() -> None:
    """A tenth of the mean square error of independent draws of the target, at least; it is a hundredth and less."""
    rng = np.random.default_rng(2)
    proposal = Proposal(np.array([1.0, -2.0]), np.array([[2.0, 0.0], [1.0, 0.5]]))

    def log_target(coordinates: FloatArray) -> FloatArray:
        z = np.linalg.solve(proposal.factor, (coordinates - proposal.mean).T)
        return np.asarray(-0.5 * (z**2).sum(axis=0))

    sds = np.sqrt(np.diag(proposal.factor @ proposal.factor.T))
    errors = []
    for _ in range(200):
        moved = redraw(rng, log_target, proposal, 1_000)
        weights = np.exp(moved.log_weights) / np.exp(moved.log_weights).sum()
        centred = (moved.coordinates - proposal.mean) / sds
        errors.append(np.concatenate([weights @ centred, 2 * (weights @ (centred < 0) - 0.5)]))
        assert moved.log_target == pytest.approx(log_target(moved.coordinates))
    assert (np.mean(np.square(errors), axis=0) < 0.1 / 1_000).all()


def test_the_first_of_the_points_are_as_far_out_as_the_others() -> None:
    proposal = Proposal(np.zeros(2), np.eye(2))
    points = redraw(np.random.default_rng(3), lambda x: np.zeros(len(x)), proposal, 1_000).coordinates
    distances = np.hypot(*points.T)
    assert stats.ks_2samp(distances[:100], distances[100:]).pvalue > 1e-3


def test_what_share_will_be_effective_is_known_before() -> None:
    rng = np.random.default_rng(4)
    particles = rng.gumbel(size=(20_000, 1))
    weights = np.full(len(particles), 1 / len(particles))
    proposal = Proposal.fit(particles, weights)
    expected = efficiency(proposal, particles, _log_gumbel(particles), weights)
    assert expected == pytest.approx(redraw(rng, _log_gumbel, proposal, 20_000).rate, abs=0.04)


def test_two_groups_of_particles_are_not_drawn_afresh() -> None:
    """A small group far away is not lost either: the share that will be effective counts it."""
    rng = np.random.default_rng(5)
    for share in (0.5, 0.02):
        centres = np.where(rng.random(5_000) < share, 12.0, 0.0)
        particles = (rng.standard_normal(5_000) + centres)[:, np.newaxis]
        density = (1 - share) * stats.norm.pdf(particles[:, 0]) + share * stats.norm.pdf(particles[:, 0], 12)
        weights = np.full(5_000, 1 / 5_000)
        assert efficiency(Proposal.fit(particles, weights), particles, np.log(density), weights) < 0.7


def _shares(rng: np.random.Generator, proposal: Proposal, points: FloatArray) -> FloatArray:
    moved = redraw(rng, _log_gumbel, proposal, 2_000)
    weights = np.exp(moved.log_weights - moved.log_weights.max())
    return np.asarray(weights @ (moved.coordinates < points) / weights.sum())


def _log_gumbel(coordinates: FloatArray) -> FloatArray:
    return np.asarray(stats.gumbel_r.logpdf(coordinates[:, 0]))


class _Forgetful(Proposal):
    def log_density(self, coordinates: FloatArray) -> FloatArray:
        return np.zeros(len(coordinates))
