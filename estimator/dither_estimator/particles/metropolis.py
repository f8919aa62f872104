"""Metropolis-Hastings moves of a whole particle system, with proposals scaled from the particles themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.weighted.moments import Moments

__all__ = ["TAIL", "LogDensity", "Moved", "Proposal", "move"]

LogDensity = Callable[[FloatArray], FloatArray]
"""Log density up to a constant, shape (n,), of unconstrained coordinates, shape (n, d)."""

_INDEPENDENT_PROPOSALS = 3
"""Independent proposals per random-walk step; they do not depend on the state, so all are evaluated at once."""
_MIN_ROUNDS = 2
_MAX_ROUNDS = 8
_MIN_ACCEPTED = 2.5
"""Moves continue until a chain has accepted this many proposals on average, within the limits above."""
TAIL = 5.0
"""Degrees of freedom of independent proposals: with heavier tails than the posterior's, ratios stay bounded."""
_TAIL_SHARE = 0.1
"""The share of the particles at either end that may lie far out without widening the proposals."""
_LOG_STRETCH_SD = 0.5
"""Standard deviation of the logarithm of the random factor by which differences of particles are scaled."""


@dataclass(frozen=True)
class Proposal:
    """The weighted mean of the body of the particles and the Cholesky factor of its covariance."""

    mean: FloatArray
    factor: FloatArray

    @cached_property
    def _inverse(self) -> FloatArray:
        return np.linalg.inv(self.factor).astype(float)

    @classmethod
    def fit(cls, coordinates: FloatArray, weights: FloatArray) -> "Proposal":
        """Fit to weighted particles; a singular covariance gets a small diagonal.

        Distant tails are drawn in, so that proposals are as wide as the body of the posterior.
        """
        body = Moments.of(_drawn_in(coordinates, weights), weights)
        # If all particles are equal, the proposal is as narrow as floating point allows.
        spread = np.diag(body.covariance) * 1e-8 + np.spacing(body.mean) ** 2 + 1e-300
        factor: FloatArray = np.linalg.cholesky(body.covariance + np.diag(spread)).astype(float)
        return cls(body.mean, factor)

    def independent(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws from a multivariate Student t with this location and scale, shape (size, d)."""
        normal = rng.standard_normal((size, len(self.mean)))
        scale = np.sqrt(rng.chisquare(TAIL, size) / TAIL)
        return self.mean + (normal / scale[:, None]) @ self.factor.T

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """The log density of `independent`, up to a constant."""
        z = (coordinates - self.mean) @ self._inverse.T
        return -0.5 * (TAIL + len(self.mean)) * np.log1p(np.einsum("ij,ij->i", z, z) / TAIL)

    def step(self, rng: np.random.Generator, particles: FloatArray) -> FloatArray:
        """Symmetric random-walk increments for particles (n, d), each by a fair coin of one of two kinds.

        Either normal, with the scale that suits a normal target; or the difference of two other particles, scaled at
        random (ter Braak 2006, *A Markov chain Monte Carlo version of the genetic algorithm Differential Evolution*),
        which adapts to both the core and the tails of the posterior.
        """
        size, d = particles.shape
        normal = np.sqrt(2) * rng.standard_normal((size, d)) @ self.factor.T
        order = rng.permutation(size)
        differences = np.empty_like(particles)
        differences[order] = particles[np.roll(order, 1)] - particles[np.roll(order, -1)]
        differences *= np.exp(_LOG_STRETCH_SD * rng.standard_normal((size, 1)))
        return (2.38 / np.sqrt(2 * d)) * np.where(rng.random((size, 1)) < 0.5, normal, differences)


def _drawn_in(coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The particles (n, d), drawn in to at most one body width from the body; this affects 1 in 8,000 if normal."""
    ends = (_TAIL_SHARE, 1 - _TAIL_SHARE)
    low, high = np.quantile(coordinates, ends, axis=0, weights=weights, method="inverted_cdf")
    reach = np.where(high > low, high - low, np.inf)
    return np.clip(coordinates, low - reach, high + reach)


@dataclass(frozen=True)
class Moved:
    """Moved particles (n, d), the log target at each (n,), and log-weights (n,) up to a constant."""

    coordinates: FloatArray
    log_target: FloatArray
    log_weights: FloatArray
    rate: float
    """The share of proposals that were accepted, or the effective sample size as a share of the particles."""


def move(
    rng: np.random.Generator,
    log_target: LogDensity,
    starts: FloatArray,
    current: FloatArray,
    proposal: Proposal,
    size: int,
) -> Moved:
    """Run Markov chains from `starts` (m, d), with log target `current` (m,) there, and return `size` particles.

    The chains leave the target invariant. Each chain contributes `size / m` of its states, evenly spaced, so that no
    evaluation of the target is wasted (Dau & Chopin 2022). A round consists of a few independent proposals and then a
    random-walk step: the former forget the start where the posterior is nearly normal, the latter works where it is
    not.
    """
    chains = len(starts)
    coordinates, own = starts, proposal.log_density(starts)
    states, targets = [], []
    accepted, rounds = 0.0, 0
    while rounds < _MIN_ROUNDS or (accepted < _MIN_ACCEPTED and rounds < _MAX_ROUNDS):
        rounds += 1
        drawn = proposal.independent(rng, _INDEPENDENT_PROPOSALS * chains)
        drawn_target, drawn_own = log_target(drawn), proposal.log_density(drawn)
        for step, log_uniforms in enumerate(np.log(rng.random((_INDEPENDENT_PROPOSALS + 1, chains)))):
            if step < _INDEPENDENT_PROPOSALS:
                some = slice(step * chains, (step + 1) * chains)
                proposed, new, new_own = drawn[some], drawn_target[some], drawn_own[some]
                log_ratio = (new - current) + (own - new_own)
            else:
                proposed = coordinates + proposal.step(rng, starts)
                new, new_own = log_target(proposed), proposal.log_density(proposed)
                log_ratio = new - current
            accept = log_uniforms < log_ratio
            coordinates = np.where(accept[:, None], proposed, coordinates)
            current, own = np.where(accept, new, current), np.where(accept, new_own, own)
            states.append(coordinates)
            targets.append(current)
            accepted += np.count_nonzero(accept) / chains
    kept = -(-size // chains)
    last = len(states) - 1
    chosen = [last - (last * i) // kept for i in range(kept)]
    return Moved(
        np.concatenate([states[i] for i in chosen])[:size],
        np.concatenate([targets[i] for i in chosen])[:size],
        np.zeros(size),
        accepted / len(states),
    )
