"""The random walk where every period's likelihood is a Gaussian: the Kalman filter, and whole paths given the answers.

A site is `exp(ηᵀ v - vᵀ Λ v / 2)`, of any rank. A period's posterior covariance given the answers so far is `F Fᵀ`.
Going back, `v_t` given `v_{t+1}` has the covariance `H Hᵀ = (P⁻¹ + S⁻²)⁻¹` with `P = F Fᵀ` and S the scales of the step
(Frühwirth-Schnatter 1994, *Data augmentation and dynamic linear models*), computed without inverting S, which may be 0.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites
from dither_estimator.hierarchy.small_matrices import (
    apply,
    apply_transposed,
    cholesky,
    lower_inverse,
    product,
    transposed_product,
)

__all__ = ["Backward", "Start", "filter_sites", "log_densities"]


@dataclass(frozen=True)
class Start:
    """The Gaussian prior of the first period."""

    mean: FloatArray
    """Shape (d,)."""
    precision: FloatArray
    """Shape (d,)."""


@dataclass(frozen=True)
class Backward:
    """What draws paths backwards, for k scales at once."""

    mean: FloatArray
    """The mean of the last period, shape (d, k)."""
    root: FloatArray
    """F of the last period, shape (d, d, k)."""
    gain: FloatArray
    """How far a period is drawn from the next one's place to its own, shape (periods - 1, d, d, k)."""
    means: FloatArray
    """The mean of each other period given the answers so far, shape (periods - 1, d, k)."""
    roots: FloatArray
    """H, shape (periods - 1, d, d, k)."""

    def path(self, noise: FloatArray) -> FloatArray:
        """The path (periods, d, k) of standard normal noise of this shape; without noise, its posterior mean."""
        found = np.empty_like(noise)
        at = found[-1] = self.mean + apply(self.root, noise[-1])
        for t in range(len(noise) - 2, -1, -1):
            at = at + apply(self.gain[t], self.means[t] - at) + apply(self.roots[t], noise[t])
            found[t] = at
        return found


def filter_sites(sites: Sites, start: Start, scales: FloatArray) -> tuple[FloatArray, Backward]:
    """The log density of the sites (k,), and the draws of paths, for steps of scales (periods - 1, d, k)."""
    d, periods = sites.linear.shape
    k = scales.shape[2]
    total = np.zeros(k)
    mean, covariance = _first(start, k)
    means, gains, roots = (np.empty((periods - 1, *shape)) for shape in ((d, k), (d, d, k), (d, d, k)))
    for t in range(periods):
        told, mean, factor, inverse = _updated(sites, t, mean, covariance)
        total += told
        if t < periods - 1:
            means[t] = mean
            gains[t], roots[t] = _back(inverse, scales[t])
            covariance = _squared(factor)
            for i in range(d):
                covariance[i, i] += scales[t, i] ** 2
    return total, Backward(mean, factor, gains, means, roots)


def log_densities(sites: Sites, start: Start, scales: FloatArray) -> FloatArray:
    """The log density of the sites of the first, the first two, … periods, shape (periods, k).

    `scales` (periods - 1, d, k) are those of each step.
    """
    k = scales.shape[2]
    found = np.empty((sites.linear.shape[1], k))
    mean, covariance = _first(start, k)
    total = np.zeros(k)
    for t in range(len(found)):
        told, mean, factor, _ = _updated(sites, t, mean, covariance)
        found[t] = total = total + told
        if t < len(scales):
            covariance = _squared(factor)
            for i, each in enumerate(scales[t]):
                covariance[i, i] += each**2
    return found


def _first(start: Start, k: int) -> tuple[FloatArray, FloatArray]:
    mean = np.repeat(start.mean[:, None], k, axis=1)
    return mean, np.repeat(np.diag(1 / start.precision)[:, :, None], k, axis=2)


def _updated(
    sites: Sites, t: int, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The log density of period t's site, then the mean, a root of the covariance, and its inverse, given the site."""
    precision, linear = sites.precision[:, :, t, None], sites.linear[:, t, None]
    lower = cholesky(covariance)
    inner = transposed_product(lower, product(precision, lower))
    for i in range(len(mean)):
        inner[i, i] += 1
    root = cholesky(inner)
    factor = product(lower, np.swapaxes(lower_inverse(root), 0, 1))
    pulled = apply(precision, mean)
    told = apply_transposed(factor, linear - pulled)
    density = 0.5 * (told**2).sum(axis=0) + ((linear - 0.5 * pulled) * mean).sum(axis=0)
    for i in range(len(mean)):
        density = density - np.log(root[i, i])
    inverse = transposed_product(root, lower_inverse(lower))
    return density, mean + apply(factor, told), factor, inverse


def _back(inverse: FloatArray, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The gain and the root of the covariance of a period given the next, after a step of these scales (d, k)."""
    shrunk = inverse * scales
    inner = transposed_product(shrunk, shrunk)
    for i in range(len(scales)):
        inner[i, i] += 1
    root = np.swapaxes(lower_inverse(cholesky(inner)), 0, 1) * scales[:, None]
    precision = transposed_product(inverse, inverse)
    return product(_squared(root), precision), root


def _squared(root: FloatArray) -> FloatArray:
    """`A Aᵀ`."""
    return product(root, np.swapaxes(root, 0, 1))
