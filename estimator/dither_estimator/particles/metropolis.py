"""Metropolis-Hastings moves of a whole particle system, with proposals scaled from the particles themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.particles.moments import Moments

__all__ = ["TAIL", "LogDensity", "Moved", "Proposal", "move"]

LogDensity = Callable[[FloatArray], FloatArray]
"""Log density up to a constant, shape (n,), of unconstrained coordinates, shape (n, d)."""

_INDEPENDENT = 3
"""Independent proposals for each random-walk step: they need no earlier state, so all are evaluated at once."""
_LEAST_ROUNDS = 2
_MOST_ROUNDS = 8
_ENOUGH_ACCEPTED = 2.5
"""Moves go on until a chain has accepted this many proposals on average, within the limits above."""
TAIL = 5.0
"""Degrees of freedom of independent proposals: tails heavier than the posterior's keep their ratios bounded."""
_OUTSIDE = 0.1
"""The share of the particles at either end that may be far out without widening proposals."""
_STRETCH = 0.5
"""Standard deviation of the logarithm of what differences of particles are stretched by."""


@dataclass(frozen=True)
class Proposal:
    """The weighted mean of particles' body and the Cholesky factor of its covariance."""

    mean: FloatArray
    factor: FloatArray

    @cached_property
    def _inverse(self) -> FloatArray:
        inverse: FloatArray = np.linalg.inv(self.factor).astype(float)
        return inverse

    @classmethod
    def fit(cls, coordinates: FloatArray, weights: FloatArray) -> "Proposal":
        """Moments of weighted particles; a covariance without full rank is completed by a small diagonal.

        Tails that are far outside are drawn in, so that proposals are as wide as the body of the posterior.
        """
        body = Moments.of(_drawn_in(coordinates, weights), weights)
        # Where all particles are equal: as far apart as floating point can tell.
        spread = np.diag(body.covariance) * 1e-8 + np.spacing(body.mean) ** 2 + 1e-300
        factor: FloatArray = np.linalg.cholesky(body.covariance + np.diag(spread)).astype(float)
        return cls(body.mean, factor)

    def independent(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws of a multivariate Student t with these moments' location and scale, shape (size, d)."""
        normal = rng.standard_normal((size, len(self.mean)))
        scale = np.sqrt(rng.chisquare(TAIL, size) / TAIL)
        draws: FloatArray = self.mean + (normal / scale[:, None]) @ self.factor.T
        return draws

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """Log density of `independent`, up to a constant."""
        z = (coordinates - self.mean) @ self._inverse.T
        density: FloatArray = -0.5 * (TAIL + len(self.mean)) * np.log1p(np.einsum("ij,ij->i", z, z) / TAIL)
        return density

    def step(self, rng: np.random.Generator, particles: FloatArray) -> FloatArray:
        """Symmetric random-walk increments, one for each of the particles (n, d): by a coin of either kind.

        Normal ones of the scale that suits a normal target; or differences of two others of the particles (ter Braak
        2006, *A Markov chain Monte Carlo version of the genetic algorithm Differential Evolution*), which are as
        narrow as the posterior's core and as wide as its tails, stretched at random.
        """
        size, d = particles.shape
        normal = np.sqrt(2) * rng.standard_normal((size, d)) @ self.factor.T
        order = rng.permutation(size)
        differences = np.empty_like(particles)
        differences[order] = particles[np.roll(order, 1)] - particles[np.roll(order, -1)]
        differences *= np.exp(_STRETCH * rng.standard_normal((size, 1)))
        increments: FloatArray = (2.38 / np.sqrt(2 * d)) * np.where(rng.random((size, 1)) < 0.5, normal, differences)
        return increments


def _drawn_in(coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The particles (n, d), none farther from the body than this is wide: of a normal law, 1 of 8,000 is."""
    ends = (_OUTSIDE, 1 - _OUTSIDE)
    low, high = np.quantile(coordinates, ends, axis=0, weights=weights, method="inverted_cdf")
    reach = np.where(high > low, high - low, np.inf)
    drawn: FloatArray = np.clip(coordinates, low - reach, high + reach)
    return drawn


@dataclass(frozen=True)
class Moved:
    """What a move gives: particles (n, d), the log target at each (n,), and log-weights (n,) up to a constant."""

    coordinates: FloatArray
    log_target: FloatArray
    log_weights: FloatArray
    rate: float
    """The share of proposals that were accepted, or of weighted particles that are effective."""


def move(
    rng: np.random.Generator,
    log_target: LogDensity,
    starts: FloatArray,
    current: FloatArray,
    proposal: Proposal,
    size: int,
) -> Moved:
    """`size` particles from chains at `starts` (m, d), where the target is `current` (m,), that leave it invariant.

    Each chain gives `size / m` of its states, evenly spaced, so that no evaluation of the target is wasted (Dau &
    Chopin 2022). A round is some independent proposals and then a random-walk step: the first forget the start where
    the posterior is nearly normal, the second works where it is not.
    """
    chains = len(starts)
    coordinates, own = starts, proposal.log_density(starts)
    states, targets = [], []
    accepted, rounds = 0.0, 0
    while rounds < _LEAST_ROUNDS or (accepted < _ENOUGH_ACCEPTED and rounds < _MOST_ROUNDS):
        rounds += 1
        drawn = proposal.independent(rng, _INDEPENDENT * chains)
        drawn_target, drawn_own = log_target(drawn), proposal.log_density(drawn)
        for step, log_uniforms in enumerate(np.log(rng.random((_INDEPENDENT + 1, chains)))):
            if step < _INDEPENDENT:
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
