"""The distribution function of two standard normal numbers with a correlation, and its slopes.

Plackett's identity gives `Φ₂(h, k; ρ) = Φ(h) Φ(k) + ∫₀^asin(ρ) exp(-(h² + k² - 2hk sin t) / (2 cos² t)) dt / 2π`, a
smooth integral over a finite interval, for which 6 to 12 Gauss–Legendre nodes suffice (Drezner & Wesolowsky 1990; Genz
2004, *Numerical computation of rectangular bivariate and trivariate normal and t probabilities*). Near ±1 the integrand
has a peak as narrow as `√(1 - ρ²)`, and Owen's T function takes over (Owen 1956), which is exact and three times as
slow.
"""

import math

import numpy as np
from scipy.special import ndtr, owens_t

from dither_estimator.families import FloatArray

__all__ = ["LARGEST_CORRELATION", "normal_cdf", "normal_cdf_slopes"]

LARGEST_CORRELATION = 1 - 1e-12
"""Correlations are at most so large: beyond, the two numbers are the same number to floating point."""

_RULES = tuple((limit, *np.polynomial.legendre.leggauss(nodes)) for limit, nodes in ((0.5, 6), (0.7, 8), (0.95, 12)))
"""Nodes and weights by the correlation up to which they serve: their error is below 1e-9, whatever h and k are, and
below 1e-12 where the next ones take over."""
_QUADRATURE_LIMIT = _RULES[-1][0]
_FAR = 38.0
"""Beyond this, the normal distribution function is 0 or 1 in floating point."""
_NEXT_TO_ZERO = 1e-280


def normal_cdf(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """`P(X ≤ h, Y ≤ k)` of standard normal X and Y with correlation `rho`; arguments of shapes that broadcast.

    Absolute errors are below 1e-9. The shape of `rho` may be (n, 1) for h, k of shape (n, q): the nodes are then
    computed once for each correlation.
    """
    h, k = np.clip(h, -_FAR, _FAR), np.clip(k, -_FAR, _FAR)
    rho = np.clip(np.asarray(rho, dtype=float), -LARGEST_CORRELATION, LARGEST_CORRELATION)
    near = np.abs(rho) <= _QUADRATURE_LIMIT
    if near.all():
        return _by_quadrature(h, k, rho)
    if not near.any():
        return _by_owens_t(h, k, rho)
    h, k, wide = np.broadcast_arrays(h, k, rho)
    if rho.ndim == wide.ndim and rho.shape[1:] == (1,) * (rho.ndim - 1):  # a correlation for each row
        rows = near.reshape(-1)
        found = np.empty(wide.shape)
        found[rows] = _by_quadrature(h[rows], k[rows], rho[rows])
        found[~rows] = _by_owens_t(h[~rows], k[~rows], rho[~rows])
        return found
    each = np.abs(wide) <= _QUADRATURE_LIMIT
    found = np.empty(wide.shape)
    found[each] = _by_quadrature(h[each], k[each], wide[each])
    found[~each] = _by_owens_t(h[~each], k[~each], wide[~each])
    return found


def _by_quadrature(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    largest, angle = np.abs(rho).max(initial=0.0), np.arcsin(rho)
    nodes, weights = next(rule for limit, *rule in _RULES if largest <= limit)
    sines = [np.sin(0.5 * (node + 1.0) * angle) for node in nodes]
    squares, product = -0.5 * (h * h + k * k), h * k
    total = np.zeros(np.broadcast_shapes(h.shape, k.shape, rho.shape))
    term = np.empty_like(total)
    for sine, weight in zip(sines, weights, strict=True):
        np.multiply(product, sine, out=term)
        term += squares
        term *= 1.0 / (1.0 - sine * sine)
        np.exp(term, out=term)
        term *= weight
        total += term
    total *= angle / (4.0 * math.pi)
    total += ndtr(h) * ndtr(k)
    return total


def _by_owens_t(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """`(Φ(h) + Φ(k) - δ) / 2 - T(h, a) - T(k, b)`, with δ = 1 where the signs of h and k differ (Owen 1956)."""
    h, k = (np.where(np.abs(x) < _NEXT_TO_ZERO, _NEXT_TO_ZERO, x) for x in (h, k))
    scale = 1.0 / np.sqrt((1.0 - rho) * (1.0 + rho))
    with np.errstate(over="ignore"):
        first, second = owens_t(h, (k / h - rho) * scale), owens_t(k, (h / k - rho) * scale)
    found = 0.5 * (ndtr(h) + ndtr(k) - ((h > 0) != (k > 0))) - first - second
    return np.clip(found, 0.0, 1.0)


def normal_cdf_slopes(h: FloatArray, k: FloatArray, rho: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The derivatives of `normal_cdf` in h, k and ρ, exactly; -1 < ρ < 1."""
    root = math.sqrt(1.0 - rho * rho)
    in_h = _density(h) * ndtr((k - rho * h) / root)
    in_k = _density(k) * ndtr((h - rho * k) / root)
    return in_h, in_k, _density(h) * _density((k - rho * h) / root) / root


def _density(x: FloatArray) -> FloatArray:
    return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
