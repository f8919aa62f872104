"""Gaussian sites: each group's likelihood where its posterior lies, by Fisher scoring and then by matching moments.

Scoring starts each group at the likeliest of some places around the pooled fit: answers may have two explanations, such
as a middle far away and a large scale, and the one that is nearer may be wrong. Moments of the exact likelihood times
the Gaussian of everything else are then matched by Gauss-Hermite quadrature, as expectation propagation does (Minka
2001).
"""

from collections.abc import Callable
from itertools import product as pairs

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites
from dither_estimator.hierarchy.given_groups import DEGREES

__all__ = ["LENGTHS", "WIDE", "LogLikelihood", "ScoreAndInformation", "matched_sites", "scored_sites"]

LogLikelihood = Callable[[FloatArray], FloatArray]
"""The log-likelihood of each group, shape (k, groups), at v (d, k, groups)."""
ScoreAndInformation = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Slope (groups, d) and expected information (groups, d, d) at v (d, groups)."""

WIDE = 3.0
"""The scale of the Student t of groups around the pooled fit, in its units, while nothing is known of T."""
_STARTS = {1: (0, 0.5, 1, 2, 4, 8, 16), 2: (0, 1, 2, 4, 8), 3: (0, 2, 6)}
"""Distances of the first places along each coordinate, either way, by the number of coordinates."""
_ROUNDS = 12
LENGTHS = np.array([1.0, 0.5, 0.2, 0.05])
"""Shares of a step that are tried: where answers tell little, whole steps may lead away."""
_LONGEST_STEP = 1.0
_NEAR_ENOUGH = 0.01
"""In nats."""
_NODES = {1: 15, 2: 9, 3: 5}
"""Nodes of the quadrature in each dimension, by their number."""
_DAMPING = 0.8
_HIGHEST = 1.0
"""In nats."""
_LONGEST_SHIFT = 2.0
_SPREADS = (0.25, 4.0)
"""No match moves a mean by more posterior sds, or multiplies a variance by less or more, than this."""
_LEAST_SPREAD = 0.05
"""Sites are matched within a prior at least this wide, so that they hold beyond the narrowest T."""


def scored_sites(log_likelihood: LogLikelihood, told: ScoreAndInformation, dimensions: int, groups: int) -> Sites:
    """Sites with the score and the information at each group's posterior mode."""

    def heights(v: FloatArray) -> FloatArray:
        """The log posterior, shape (k, groups), at v (k, groups, d)."""
        prior = 0.5 * (DEGREES + dimensions) * np.log1p((v**2).sum(axis=2) / (DEGREES * WIDE**2))
        return log_likelihood(np.moveaxis(v, 2, 0)) - prior

    ladder = sorted({sign * rung for rung in _STARTS.get(dimensions, (0,)) for sign in (1, -1)}, key=abs)
    places = np.array(sorted(pairs(ladder, repeat=dimensions), key=lambda place: sum(map(abs, place))), dtype=float)
    tried = np.repeat(places[:, None], groups, axis=1)
    v, height = _highest(tried, heights(tried))
    for _ in range(_ROUNDS):
        score, information = told(v.T)
        pull = (DEGREES + dimensions) / (DEGREES * WIDE**2 + (v**2).sum(axis=1))
        inner = information + pull[:, None, None] * np.eye(dimensions)
        step = np.linalg.solve(inner, (score - pull[:, None] * v)[:, :, None])[:, :, 0]
        size = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(size, 1e-300))
        tried = v + np.concatenate([[0.0], LENGTHS])[:, None, None] * step
        before = height
        v, height = _highest(tried, np.concatenate([height[None], heights(tried[1:])]))
        if not (height > before + _NEAR_ENOUGH).any():
            break
    score, information = told(v.T)
    return _bounded(information, v, score)


def _highest(tried: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The best of the places (k, groups, d) of each group, and how high it is."""
    best = heights.argmax(axis=0)
    at = np.arange(len(best))
    return tried[best, at], heights[best, at]


def matched_sites(
    log_likelihood: LogLikelihood, sites: Sites, means: FloatArray, covariance: FloatArray, weights: FloatArray
) -> Sites:
    """Sites whose moments are those of the likelihood, given that `v_g ~ N(means[:, g], covariance / weights[g])`."""
    d = len(means)
    lam, eta = np.moveaxis(sites.precision, -1, 0), sites.linear.T
    within = np.linalg.inv(covariance + np.diag(np.full(d, _LEAST_SPREAD**2))) * weights[:, None, None]
    prior_mean = means.T
    posterior = np.linalg.inv(lam + within)
    centre = prior_mean + np.einsum("gij,gj->gi", posterior, eta - np.einsum("gij,gj->gi", lam, prior_mean))
    factor = np.linalg.cholesky(posterior)
    nodes, log_masses = _grid(d)
    v = centre.T[:, None] + np.einsum("gij,kj->ikg", factor, nodes)
    log_weights = log_masses[:, None] + log_likelihood(v) - sites.log_density(v)
    shares = np.exp(log_weights - log_weights.max(axis=0))
    shares /= shares.sum(axis=0)
    shift = shares.T @ nodes
    spread, axes = np.linalg.eigh(
        np.einsum("kg,ki,kj->gij", shares, nodes, nodes) - shift[:, :, None] * shift[:, None, :]
    )
    shift *= np.minimum(1, _LONGEST_SHIFT / np.maximum(np.abs(shift).max(axis=1, keepdims=True), 1e-300))
    sharper = (axes * (1 / spread.clip(*_SPREADS) - 1)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    inverse = np.linalg.inv(factor)
    change = np.swapaxes(inverse, 1, 2) @ sharper @ inverse
    values, vectors = np.linalg.eigh(lam + _DAMPING * change)
    new = (vectors * values.clip(min=0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    target = centre + _DAMPING * np.einsum("gij,gj->gi", factor, shift)
    slope = np.einsum("gij,gj->gi", within, target - prior_mean)
    told = (np.trace(lam, axis1=1, axis2=2) > 0)[:, None]
    return _bounded(np.where(told[:, :, None], new, 0.0), target, np.where(told, slope, 0.0))


def _bounded(precision: FloatArray, at: FloatArray, slope: FloatArray) -> Sites:
    """Sites with these slopes (groups, d) of their logarithms at `at`, which rise by at most `_HIGHEST` from there.

    Few answers tell little, and their likelihood is bounded. A Gaussian with a slope and next to no curvature would be
    enormous far away, and T as wide as that.
    """
    curved = precision + slope[:, :, None] * slope[:, None, :] / (2 * _HIGHEST)
    linear = slope + np.einsum("gij,gj->gi", curved, at)
    return Sites(np.moveaxis(curved, 0, -1).copy(), linear.T.copy())


def _grid(dimensions: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (k, d) and log masses (k,) of the standard normal."""
    x, w = np.polynomial.hermite_e.hermegauss(_NODES.get(dimensions, 3))
    nodes = np.array(list(pairs(x, repeat=dimensions)))
    masses = np.array(list(pairs(w / w.sum(), repeat=dimensions))).prod(axis=1)
    return nodes, np.log(masses)
