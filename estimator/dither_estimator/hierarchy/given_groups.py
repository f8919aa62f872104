"""What groups share, given the place of every group: T, the scale of the weights, and β.

The likelihood has no part in these steps, so that they cost next to nothing: T depends on the groups through one
matrix, `S = Σ_g λ_g r_g r_gᵀ` of their distances `r_g` from their means.
"""

from collections.abc import Callable

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import LARGEST, Rates, regression
from dither_estimator.hierarchy.scales import log_prior, root
from dither_estimator.hierarchy.small_matrices import apply, lower_inverse, product, transposed_product

__all__ = ["DEGREES", "LogPriorRatio", "log_density_given", "means_given", "possible", "scales_given"]

DEGREES = 4.0
"""The degrees of freedom of the groups' Student t distribution, ν."""

LogPriorRatio = Callable[[FloatArray], FloatArray]
"""The log of the prior of the means (k, d), divided by its Gaussian approximation, shape (k,)."""

_STEPS = 8
_LOG_STEP, _LOG_STEP_SD = np.log(0.5), 1.0
"""The logarithm of a random walk's step, in widths of T's posterior: given many groups T is known far better."""


def scales_given(
    rng: np.random.Generator, apart: FloatArray, weights: FloatArray, free: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """New free coordinates of T (k, f) and weights (k, groups), given distances from the means (d, k, groups).

    `width` (f, f) is a root of how widely T's free coordinates spread. A random walk of T is followed by a step that
    multiplies T and all weights by one number, which no group notices.
    """
    d, k, groups = apart.shape
    scatter = np.einsum("kg,ikg,jkg->ijk", weights, apart, apart)
    height = log_density_given(free, scatter, groups)
    for _ in range(_STEPS):
        length = np.exp(_LOG_STEP + _LOG_STEP_SD * rng.standard_normal((k, 1)))
        proposed = free + length * (rng.standard_normal(free.shape) @ width.T)
        new = log_density_given(proposed, scatter, groups)
        accept = np.log(rng.random(k)) < new - height
        free, height = np.where(accept[:, None], proposed, free), np.where(accept, new, height)
    factor = rng.gamma(DEGREES * groups / 2, 2 / (DEGREES * weights.sum(axis=1)))
    scaled = free.copy()
    scaled[:, :d] += 0.5 * np.log(factor)[:, None]
    accept = np.log(rng.random(k)) < possible(scaled, log_prior(scaled, d)) - log_prior(free, d)
    return np.where(accept[:, None], scaled, free), weights * np.where(accept, factor, 1.0)[:, None]


def means_given(
    rng: np.random.Generator,
    v: FloatArray,
    weights: FloatArray,
    free: FloatArray,
    beta: FloatArray,
    rates: Rates,
    log_prior_ratio: LogPriorRatio,
) -> FloatArray:
    """New β (k, p d), given coordinates (d, k, groups), weights (k, groups) and free coordinates of T (k, f)."""
    d = len(v)
    inverse = lower_inverse(root(free, d))
    information = transposed_product(inverse, inverse)[:, :, :, None] * weights
    _, mean, half = regression(information, apply(information, v), rates)
    drawn = mean + np.einsum("kij,kj->ki", half, rng.standard_normal(mean.shape))
    accept = np.log(rng.random(len(beta))) < log_prior_ratio(drawn[:, :d]) - log_prior_ratio(beta[:, :d])
    return np.where(accept[:, None], drawn, beta)


def log_density_given(free: FloatArray, scatter: FloatArray, groups: int) -> FloatArray:
    """The log density of free coordinates (k, f) given S (d, d, k), up to a constant; shape (k,)."""
    d = len(scatter)
    inverse = lower_inverse(root(np.clip(free, -LARGEST, LARGEST), d))
    spread = product(inverse, scatter)
    distance = sum((spread[i] * inverse[i]).sum(axis=0) for i in range(d))
    logs = np.log(np.stack([inverse[i, i] for i in range(d)])).sum(axis=0)
    return possible(free, log_prior(free, d) + groups * logs - 0.5 * distance)


def possible(free: FloatArray, log_density: FloatArray) -> FloatArray:
    return np.where((np.abs(free) < LARGEST).all(axis=1), log_density, -np.inf)
