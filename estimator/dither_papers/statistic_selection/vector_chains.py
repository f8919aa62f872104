"""Algorithms 4 to 8 with a prior and p parameters, many chains in parallel; `chains` has them for one and a flat prior.

Each chain has its own data; θ has shape (C, p). A model gives the densities, so any noise will do.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.chains import pick

__all__ = ["Target", "averaged_ratio", "metropolis", "pseudo_marginal", "sample_latents", "sequence_latents"]

LogDensity = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Target:
    """The prior, and random-walk proposals for θ."""

    log_prior: LogDensity
    """`log η(θ)` up to a constant, shape (C,), minus infinity outside the prior's range."""
    start: FloatArray
    """Shape (C, p), within the range."""
    factor: FloatArray
    """A proposal adds `factor @ z` with standard normal z; shape (p, p)."""
    iterations: int

    def propose(self, rng: np.random.Generator, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """θ' and the log ratio of the prior densities; where that is minus infinity, θ' is θ."""
        proposed = theta + rng.standard_normal(theta.shape) @ self.factor.T
        new = self.log_prior(proposed)
        inside = np.isfinite(new)
        return np.where(inside[:, None], proposed, theta), np.where(inside, new - self.log_prior(theta), -np.inf)


def metropolis(rng: np.random.Generator, log_likelihood: LogDensity, target: Target) -> FloatArray:
    """Algorithm 4: Metropolis-Hastings with a known likelihood, shape (C,). States (iterations, C, p)."""
    theta, states = target.start, _states(target)
    current = log_likelihood(theta)
    for i in range(target.iterations):
        proposed, log_prior = target.propose(rng, theta)
        new = log_likelihood(proposed)
        accept = _accepts(rng, log_prior + new - current)
        theta, current = np.where(accept[:, None], proposed, theta), np.where(accept, new, current)
        states[i] = theta
    return states


def pseudo_marginal(
    rng: np.random.Generator,
    draw: Callable[[np.random.Generator, FloatArray, int], FloatArray],
    log_g: LogDensity,
    target: Target,
    draws: int,
) -> FloatArray:
    """Algorithm 5 (PMMH): `draw` gives statistics (C, draws, d) at each θ, `log_g` the release's density (C, draws)."""
    return metropolis(rng, lambda theta: np.asarray(logsumexp(log_g(draw(rng, theta, draws)), axis=1)), target)


def averaged_ratio(
    rng: np.random.Generator,
    draw: Callable[[np.random.Generator, FloatArray, int], FloatArray],
    log_f: Callable[[FloatArray, FloatArray], FloatArray],
    log_g: LogDensity,
    target: Target,
    draws: int,
) -> FloatArray:
    """Algorithm 6 (MHAAR), statistics proposed at `(θ + θ') / 2`; `log_f(u, θ)` is their density, shape (C, draws)."""
    theta, states = target.start, _states(target)
    rows = np.arange(len(theta))
    u = draw(rng, theta, 1)
    for i in range(target.iterations):
        proposed, log_prior = target.propose(rng, theta)
        middle = (theta + proposed) / 2
        all_u = np.concatenate([u, draw(rng, middle, draws - 1)], axis=1)
        common = log_g(all_u) - log_f(all_u, middle)
        here, there = common + log_f(all_u, theta), common + log_f(all_u, proposed)
        accept = _accepts(rng, log_prior + logsumexp(there, axis=1) - logsumexp(here, axis=1))
        u = all_u[rows, pick(rng, np.where(accept[:, None], there, here))][:, None]
        theta = np.where(accept[:, None], proposed, theta)
        states[i] = theta
    return states


def sample_latents(
    rng: np.random.Generator,
    latent: Callable[[np.random.Generator, tuple[int, ...]], FloatArray],
    log_h: Callable[[FloatArray, FloatArray], FloatArray],
    size: int,
    target: Target,
    draws: int,
    renewed: int | None = None,
) -> FloatArray:
    """Algorithm 7: one release of a sample of `size`. `latent` draws the z of (17), whose law does not depend on θ.

    `log_h(z, θ)` is the density of the release, shape (C, draws), for z (C, draws, size). `renewed` is the size of the
    random subset of the sample that a proposal redraws; all by default.
    """
    theta, states = target.start, _states(target)
    rows = np.arange(len(theta))
    z = latent(rng, (len(theta), size))
    for i in range(target.iterations):
        proposed, log_prior = target.propose(rng, theta)
        some = np.arange(size) if renewed is None else rng.choice(size, renewed, replace=False)
        all_z = np.repeat(z[:, None, :], draws, axis=1)
        all_z[:, 1:, some] = latent(rng, (len(theta), draws - 1, len(some)))
        here, there = log_h(all_z, theta), log_h(all_z, proposed)
        chosen = pick(rng, there)
        accept = _accepts(rng, log_prior + logsumexp(there, axis=1) - logsumexp(here, axis=1))
        theta = np.where(accept[:, None], proposed, theta)
        z = np.where(accept[:, None], all_z[rows, chosen], z)
        states[i] = theta
    return states


def sequence_latents(
    rng: np.random.Generator,
    latent: Callable[[np.random.Generator, tuple[int, ...]], FloatArray],
    log_h: Callable[[FloatArray, FloatArray], FloatArray],
    size: int,
    target: Target,
    draws: int,
) -> FloatArray:
    """Algorithm 8: every value is released by itself; `log_h(z, θ)` has shape (C, size, draws), as z."""
    theta, states = target.start, _states(target)
    z = latent(rng, (len(theta), size))
    for i in range(target.iterations):
        proposed, log_prior = target.propose(rng, theta)
        all_z = np.concatenate([z[:, :, None], latent(rng, (len(theta), size, draws - 1))], axis=2)
        here, there = log_h(all_z, theta), log_h(all_z, proposed)
        accept = _accepts(rng, log_prior + (logsumexp(there, axis=2) - logsumexp(here, axis=2)).sum(axis=1))
        chosen = pick(rng, np.where(accept[:, None, None], there, here))
        z = np.take_along_axis(all_z, chosen[:, :, None], axis=2)[:, :, 0]
        theta = np.where(accept[:, None], proposed, theta)
        states[i] = theta
    return states


def _states(target: Target) -> FloatArray:
    return np.empty((target.iterations, *target.start.shape))


def _accepts(rng: np.random.Generator, log_ratio: FloatArray) -> np.ndarray:
    return -rng.standard_exponential(log_ratio.shape) < log_ratio
