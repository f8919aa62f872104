"""Metropolis-Hastings moves of a whole particle system, with proposals scaled from the particles themselves."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["LogDensity", "Proposal", "move"]

LogDensity = Callable[[FloatArray], FloatArray]
"""Log density up to a constant, shape (n,), of unconstrained coordinates, shape (n, d)."""

_LEAST_STEPS = 4
_MOST_STEPS = 16
_ENOUGH_ACCEPTED = 2.5
"""Moves go on until a chain has accepted this many proposals on average, within the limits above."""
_TAIL = 5.0
"""Degrees of freedom of independent proposals: tails heavier than the posterior's keep their ratios bounded."""


@dataclass(frozen=True)
class Proposal:
    """The weighted mean of particles and the Cholesky factor of their covariance."""

    mean: FloatArray
    factor: FloatArray

    @classmethod
    def fit(cls, coordinates: FloatArray, weights: FloatArray) -> "Proposal":
        """Moments of weighted particles; a covariance without full rank is completed by a small diagonal."""
        # About one of them: far from 0, the rounding of the weights' sum would be wider than a narrow posterior.
        mean = coordinates[0] + weights @ (coordinates - coordinates[0])
        centred = coordinates - mean
        covariance = (centred * weights[:, None]).T @ centred
        # Where all particles are equal: as far apart as floating point can tell.
        spread = np.diag(covariance) * 1e-8 + np.spacing(mean) ** 2 + 1e-300
        factor: FloatArray = np.linalg.cholesky(covariance + np.diag(spread)).astype(float)
        return cls(mean, factor)

    def independent(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws of a multivariate Student t with these moments' location and scale, shape (size, d)."""
        normal = rng.standard_normal((size, len(self.mean)))
        scale = np.sqrt(rng.chisquare(_TAIL, size) / _TAIL)
        draws: FloatArray = self.mean + (normal / scale[:, None]) @ self.factor.T
        return draws

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """Log density of `independent`, up to a constant."""
        z = np.linalg.solve(self.factor, (coordinates - self.mean).T)
        density: FloatArray = -0.5 * (_TAIL + len(self.mean)) * np.log1p((z**2).sum(axis=0) / _TAIL)
        return density

    def step(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Symmetric random-walk increments of the scale that suits a normal target, shape (size, d)."""
        d = len(self.mean)
        normal = rng.standard_normal((size, d))
        increments: FloatArray = (2.38 / np.sqrt(d)) * normal @ self.factor.T
        return increments


def move(
    rng: np.random.Generator, log_target: LogDensity, starts: FloatArray, proposal: Proposal, size: int
) -> tuple[FloatArray, float]:
    """`size` particles from chains at `starts` (m, d) that leave the target invariant, and the mean acceptance rate.

    Each chain gives `size / m` of its states, evenly spaced, so that no evaluation of the target is wasted (Dau &
    Chopin 2022). Two independent proposals and a random-walk step take turns: the first forget the start where the
    posterior is nearly normal, the second works where it is not.
    """
    chains = len(starts)
    coordinates, current = starts, log_target(starts)
    states = []
    accepted = 0.0
    for step in range(1, _MOST_STEPS + 1):
        independent = step % 3 != 0
        if independent:
            proposed = proposal.independent(rng, chains)
            log_ratio = proposal.log_density(coordinates) - proposal.log_density(proposed)
        else:
            proposed = coordinates + proposal.step(rng, chains)
            log_ratio = np.zeros(chains)
        new = log_target(proposed)
        accept = np.log(rng.random(chains)) < new - current + log_ratio
        coordinates = np.where(accept[:, None], proposed, coordinates)
        current = np.where(accept, new, current)
        states.append(coordinates)
        accepted += float(accept.mean())
        if step >= _LEAST_STEPS and accepted >= _ENOUGH_ACCEPTED:
            break
    kept = -(-size // chains)
    last = len(states) - 1
    chosen = [states[last - (last * i) // kept] for i in range(kept)]
    return np.concatenate(chosen)[:size], accepted / len(states)
