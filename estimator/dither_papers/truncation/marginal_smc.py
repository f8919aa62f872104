"""Dither's particle system on the paper's answers: iterated batch importance sampling on θ alone.

The density of an answer is known in closed form (`clipped`), so there are no latent values to sample: the target is the
marginal of (5). Particles move when the effective sample size has fallen to half, as in
`dither_estimator.particles.system`.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.particles.metropolis import Proposal, move
from dither_estimator.weighted.sample import effective_sample_size, systematic_sample
from dither_papers.truncation.clipped import Answers, Interval, log_density
from dither_papers.truncation.prior import NormalPrior

__all__ = ["MarginalParticles", "init", "step"]

_MIN_ESS_SHARE = 0.5
_STATES_PER_CHAIN = 8
"""The number of states that each chain of a move contributes."""
_BLOCK_SIZE = 1 << 13
"""The number of densities in a block, which fits a processor's cache."""


@dataclass(frozen=True, eq=False)
class MarginalParticles:
    """Weighted particles θ that represent the posterior given `answers`."""

    coordinates: FloatArray
    """μ and log σ, shape (n, 2)."""
    log_weights: FloatArray
    """Normalised log-weights, shape (n,)."""
    answers: Answers

    @property
    def theta(self) -> FloatArray:
        """(μ, σ), shape (n, 2)."""
        return np.column_stack([self.coordinates[:, 0], np.exp(self.coordinates[:, 1])])

    @property
    def weights(self) -> FloatArray:
        """Normalised weights, shape (n,)."""
        return np.exp(self.log_weights)


def init(rng: np.random.Generator, prior: NormalPrior, n_particles: int, epsilon: float) -> MarginalParticles:
    """Draws from the prior, before any answer."""
    mu, sigma = prior.sample(rng, n_particles)
    log_weights = np.full(n_particles, -np.log(n_particles))
    return MarginalParticles(np.column_stack([mu, np.log(sigma)]), log_weights, Answers.none(epsilon))


def step(
    rng: np.random.Generator, prior: NormalPrior, state: MarginalParticles, y: float, interval: Interval
) -> MarginalParticles:
    """The particles given one more answer."""
    new = Answers.none(state.answers.epsilon).and_one(y, interval)
    log_weights = state.log_weights + log_density(state.theta, new)[:, 0]
    log_weights -= log_weights.max()
    log_weights -= np.log(np.exp(log_weights).sum())
    answers = state.answers.and_one(y, interval)
    weighted = MarginalParticles(state.coordinates, log_weights, answers)
    if effective_sample_size(log_weights) >= _MIN_ESS_SHARE * len(log_weights):
        return weighted
    return _moved(rng, prior, weighted)


def _moved(rng: np.random.Generator, prior: NormalPrior, state: MarginalParticles) -> MarginalParticles:
    size = len(state.log_weights)
    proposal = Proposal.fit(state.coordinates, state.weights)
    starts = state.coordinates[systematic_sample(state.weights, max(1, size // _STATES_PER_CHAIN), rng.random())]

    def log_target(coordinates: FloatArray) -> FloatArray:
        return prior.log_density(*coordinates.T) + _log_likelihood(coordinates, state.answers)

    moved = move(rng, log_target, starts, log_target(starts), proposal, size)
    return MarginalParticles(moved.coordinates, np.full(size, -np.log(size)), state.answers)


def _log_likelihood(coordinates: FloatArray, answers: Answers) -> FloatArray:
    theta = np.column_stack([coordinates[:, 0], np.exp(coordinates[:, 1])])
    rows = max(1, _BLOCK_SIZE // len(answers))
    return np.concatenate([log_density(theta[i : i + rows], answers).sum(axis=1) for i in range(0, len(theta), rows)])
