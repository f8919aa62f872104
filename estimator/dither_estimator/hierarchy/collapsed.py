"""The hierarchy where every group's likelihood is a Gaussian: exact, with groups, means and slopes integrated out.

Coordinates v are in units of the pooled fit, relative to it. `v_g ~ N(X_g β, T / λ_g)`, `β ~ N(β₀, diag(1/p))`, where
X_g β is `m + B z_g`, and a site is `exp(ηᵀ v - vᵀ Λ v / 2)`. With `A Aᵀ = T / λ` and `K Kᵀ = I + Aᵀ Λ A`, the posterior
covariance of v is `F Fᵀ` with `F = A K⁻ᵀ`, so T is never inverted, and may be next to singular.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.scales import log_prior, root
from dither_estimator.hierarchy.small_matrices import (
    apply,
    apply_transposed,
    cholesky,
    lower_inverse,
    product,
    transposed_product,
)

__all__ = ["LARGEST", "Collapsed", "Rates", "Sites", "collapse", "regression"]


LARGEST = 7.0
"""The largest free coordinate of T: scales lie between a thousandth and a thousand units of the pooled fit."""


@dataclass(frozen=True)
class Sites:
    """The Gaussian approximation of each group's likelihood."""

    precision: FloatArray
    """Λ, shape (d, d, groups), positive semidefinite."""
    linear: FloatArray
    """η, shape (d, groups)."""

    def log_density(self, v: FloatArray) -> FloatArray:
        """The logarithm of each site, shape (k, groups), at v (d, k, groups)."""
        return np.asarray(((self.linear[:, None] - 0.5 * apply(self.precision[:, :, None], v)) * v).sum(axis=0))


@dataclass(frozen=True)
class Rates:
    """What groups' means are regressed on, and the prior of β: means `m`, then slopes B for each of the `z`."""

    z: FloatArray
    """Shape (p - 1, groups); no rows without slopes."""
    mean: FloatArray
    """β₀, shape (p d,)."""
    precision: FloatArray
    """Shape (p d,)."""

    def means(self, beta: FloatArray, dimensions: int) -> FloatArray:
        """`m + B z_g`, shape (d, k, groups), for β (k, p d)."""
        parts = beta.T.reshape(-1, dimensions, len(beta))
        found = np.repeat(parts[0][:, :, None], self.z.shape[1], axis=2)
        for row, part in zip(self.z, parts[1:], strict=True):
            found += part[:, :, None] * row
        return found


@dataclass(frozen=True)
class Collapsed:
    """What follows from free coordinates of T (k, f) and weights λ (k, groups)."""

    log_density: FloatArray
    """The log density of the free coordinates given λ, up to a constant, all else integrated out; shape (k,)."""
    factor: FloatArray
    """F, shape (d, d, k, groups)."""
    inverse_factor: FloatArray
    """`F⁻¹`, of the same shape."""
    spread: FloatArray
    """A, of the same shape."""
    mean: FloatArray
    """The mean of β given T and λ, shape (k, p d)."""
    root: FloatArray
    """A square root of β's covariance, shape (k, p d, p d)."""
    sites: Sites

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """β, shape (k, p d)."""
        return self.beta(rng.standard_normal(self.mean.shape))

    def beta(self, scores: FloatArray) -> FloatArray:
        """β with these normal scores in its posterior given T and λ, shape (k, p d)."""
        return np.asarray(self.mean + np.einsum("kij,kj->ki", self.root, scores))

    def scores(self, beta: FloatArray) -> FloatArray:
        """The normal scores of β, shape (k, p d)."""
        return np.asarray(np.linalg.solve(self.root, (beta - self.mean)[:, :, None])[:, :, 0])

    def centre(self, means: FloatArray) -> FloatArray:
        """The posterior mean of v given β, T and λ, shape (d, k, groups), for prior means of this shape."""
        residual = self.sites.linear[:, None] - apply(self.sites.precision[:, :, None], means)
        return means + apply(self.factor, apply_transposed(self.factor, residual))


def collapse(free: FloatArray, weights: FloatArray, sites: Sites, rates: Rates) -> Collapsed:
    """For free coordinates of T (k, f) and weights λ (k, groups)."""
    d = len(sites.linear)
    precision, linear = sites.precision[:, :, None], sites.linear[:, None]
    possible = (np.abs(free) < LARGEST).all(axis=1)
    free = np.clip(free, -LARGEST, LARGEST)
    spread = root(free, d)[:, :, :, None] / np.sqrt(weights)
    inner = transposed_product(spread, product(precision, spread))
    for i in range(d):
        inner[i, i] += 1
    lower = cholesky(inner)
    inverse = lower_inverse(lower)
    factor = product(spread, np.swapaxes(inverse, 0, 1))
    shrunk = transposed_product(factor, precision)
    told = apply_transposed(factor, linear)
    constant = 0.5 * (told**2).sum(axis=0) - np.log(np.stack([lower[i, i] for i in range(d)])).sum(axis=0)
    information = precision - transposed_product(shrunk, shrunk)
    vector = linear - apply_transposed(shrunk, told)
    log_density, mean, half = regression(information, vector, rates)
    inverse_factor = transposed_product(lower, lower_inverse(spread))
    total = np.where(possible, log_prior(free, d) + constant.sum(axis=1) + log_density, -np.inf)
    return Collapsed(total, factor, inverse_factor, spread, mean, half, sites)


def regression(information: FloatArray, vector: FloatArray, rates: Rates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """β integrated out: the log of what remains (k,), β's mean (k, p d), and a root of its covariance."""
    d, k, size = vector.shape
    design = np.concatenate([np.ones((1, size)), rates.z])
    p = len(design)
    precision = np.zeros((k, p, d, p, d))
    linear = np.zeros((k, p, d))
    for a in range(p):
        linear[:, a] = (vector @ design[a]).T
        for b in range(p):
            precision[:, a, :, b] = np.moveaxis(information @ (design[a] * design[b]), -1, 0)
    matrix = precision.reshape(k, p * d, p * d) + np.diag(rates.precision)
    right = linear.reshape(k, p * d) + rates.precision * rates.mean
    lower = np.linalg.cholesky(matrix)
    half = np.swapaxes(np.linalg.inv(lower), 1, 2)
    scaled = np.einsum("kji,kj->ki", half, right)
    log_density = 0.5 * (scaled**2).sum(axis=1) - np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return log_density, np.einsum("kij,kj->ki", half, scaled), half
