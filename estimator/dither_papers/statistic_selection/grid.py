"""Posteriors of one parameter without Markov chains: likelihoods on a grid, with a flat prior over its range."""

import numpy as np
from scipy.special import logsumexp, ndtri

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.latent_chains import Released

__all__ = ["posterior_means", "sequence_log_likelihood", "simulated_log_likelihood"]

_QUANTILES = 400


def posterior_means(grid: FloatArray, log_likelihood: FloatArray) -> FloatArray:
    """`E[θ | y]`, shape (C,), for equally spaced θ (T,) and `log p(y | θ)` (C, T)."""
    weights = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    return np.asarray(weights @ grid / weights.sum(axis=1))


def sequence_log_likelihood(y: FloatArray, grid: FloatArray, power: float, scale: float) -> FloatArray:
    """`log p(y_1..y_n | θ)`, (14), shape (C, T), for releases `|X_i|^power + Laplace(scale)`, `y` (C, n).

    Each value is integrated out by a quadrature of N(0, θ), up to a constant.
    """
    z = ndtri(0.5 + (np.arange(_QUANTILES) + 0.5) / (2 * _QUANTILES)) ** power
    found = np.empty((len(y), len(grid)))
    for t, theta in enumerate(grid):
        noise = np.exp(-np.abs(y[:, :, None] - z * theta ** (power / 2)) / scale)
        found[:, t] = np.log(noise.mean(axis=2)).sum(axis=1)
    return found


def simulated_log_likelihood(
    rng: np.random.Generator, y: FloatArray, grid: FloatArray, released: Released, size: int, bound: float, samples: int
) -> FloatArray:
    """`log p(y | θ)`, (4), shape (C, T), from `samples` samples shared by all θ; the error falls with their root."""
    z = np.sort(np.abs(rng.standard_normal((samples, size))), axis=1)
    found = np.empty((len(y), len(grid)))
    for t, theta in enumerate(grid):
        location, scale = released(np.minimum(z * np.sqrt(theta), bound))
        found[:, t] = logsumexp(-np.abs(y[:, None] - location) / scale - np.log(scale), axis=1) - np.log(samples)
    return found
