"""Lemma 1 of Foulds et al. in numbers: how far noisy statistics move the posterior of a success probability."""

import numpy as np
from scipy.special import betaln, digamma

from dither_estimator.families import FloatArray

__all__ = ["beta_divergence", "mean_divergence"]


def beta_divergence(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """`KL(Beta(a, b) || Beta(c, d))` in closed form, for arrays that broadcast."""
    total = digamma(a + b)
    return np.asarray(betaln(c, d) - betaln(a, b) + (a - c) * (digamma(a) - total) + (b - d) * (digamma(b) - total))


def mean_divergence(rng: np.random.Generator, share: float, n: int, epsilon: float, sets: int) -> tuple[float, float]:
    """`E KL` of the posterior from projected noisy counts to the true one, uniform prior, and its standard error.

    Noise is Laplace(2/ε) on successes and on failures. By Lemma 1 it goes to 0 as n grows, at the rate 1/n.
    """
    counts = rng.binomial(n, share, sets)
    true = np.stack([counts, n - counts]) + 1.0
    noisy = np.maximum(true - 1.0 + rng.laplace(0.0, 2.0 / epsilon, true.shape), 0.0) + 1.0
    found = beta_divergence(*noisy, *true)
    return float(found.mean()), float(found.std() / np.sqrt(sets))
