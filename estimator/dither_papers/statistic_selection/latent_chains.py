"""Markov chains for θ with everyone's value latent: Algorithms 7 and 8, with many chains in parallel.

The population is N(0, θ), written as `X = √θ Z` with Z standard normal (17); statistics depend on `|X|`.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.chains import Walk, pick

__all__ = ["Released", "sample_chain", "sequence_chain"]

Released = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Location and scale, each (R,), of what is released about sorted rows `|X|`, (R, n)."""


def sample_chain(
    rng: np.random.Generator,
    y: FloatArray,
    released: Released,
    size: int,
    bound: float,
    walk: Walk,
    draws: int,
    renewed: int | None = None,
) -> FloatArray:
    """Algorithm 7: MHAAR for (18), with one release `y_c` of a sample of `size` per chain. States (iterations, C).

    `renewed` is the size of the random subset of the sample's values that a proposal redraws; all by default.
    """
    theta, chains = walk.start, len(walk.start)
    rows = np.arange(chains)
    z = np.abs(rng.standard_normal((chains, size)))
    states = np.empty((walk.iterations, chains))

    def log_h(ordered: FloatArray, theta: FloatArray) -> FloatArray:
        x = np.minimum(ordered * np.sqrt(theta)[:, None, None], bound)
        location, scale = (part.reshape(x.shape[:2]) for part in released(x.reshape(-1, size)))
        return np.asarray(-np.abs(y[:, None] - location) / scale - np.log(scale))

    for i in range(walk.iterations):
        proposed, log_prior = walk.propose(rng, theta)
        some = np.arange(size) if renewed is None else rng.choice(size, renewed, replace=False)
        all_z = np.repeat(z[:, None, :], draws, axis=1)
        all_z[:, 1:, some] = np.abs(rng.standard_normal((chains, draws - 1, len(some))))
        ordered = np.sort(all_z, axis=2)
        here, there = log_h(ordered, theta), log_h(ordered, proposed)
        chosen = pick(rng, there)
        log_ratio = log_prior + logsumexp(there, axis=1) - logsumexp(here, axis=1)
        accept = np.log(rng.random(chains)) < log_ratio
        theta = np.where(accept, proposed, theta)
        z = np.where(accept[:, None], all_z[rows, chosen], z)
        states[i] = theta
    return states


def sequence_chain(
    rng: np.random.Generator, y: FloatArray, power: float, scale: float, walk: Walk, draws: int
) -> FloatArray:
    """Algorithm 8: MHAAR for (19), with releases `Y_i = |X_i|^power + Laplace(scale)`, `y` (C, n). Returns states."""
    theta = walk.start
    chains, size = y.shape
    z = np.abs(rng.standard_normal((chains, size)))
    states = np.empty((walk.iterations, chains))

    def log_h(powers: FloatArray, theta: FloatArray) -> FloatArray:
        location = powers * (theta ** (power / 2))[:, None, None]
        return np.asarray(-np.abs(y[:, :, None] - location) / scale)

    for i in range(walk.iterations):
        proposed, log_prior = walk.propose(rng, theta)
        fresh = np.abs(rng.standard_normal((chains, size, draws - 1)))
        all_z = np.concatenate([z[:, :, None], fresh], axis=2)
        powers = all_z**power
        here, there = log_h(powers, theta), log_h(powers, proposed)
        log_ratio = log_prior + (logsumexp(there, axis=2) - logsumexp(here, axis=2)).sum(axis=1)
        accept = np.log(rng.random(chains)) < log_ratio
        chosen = pick(rng, np.where(accept[:, None, None], there, here))
        z = np.take_along_axis(all_z, chosen[:, :, None], axis=2)[:, :, 0]
        theta = np.where(accept, proposed, theta)
        states[i] = theta
    return states
