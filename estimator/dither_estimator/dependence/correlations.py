"""Correlation matrices by their partial correlations: always positive definite, with the prior of LKJ.

Lewandowski, Kurowicka & Joe 2009, *Generating random correlation matrices based on vines and extended onion method*.
Component j has a partial correlation with every earlier component i, given those before i. Under the prior they are
independent, and `(1 + p) / 2` is `Beta(b, b)` with `b = η + (d - 2 - i) / 2`; the matrix then has a density
proportional to `det(R)^(η - 1)`. Their unconstrained coordinates are `artanh(p)`.
"""

from itertools import combinations

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["correlation_matrices", "lkj_log_density", "lkj_sample", "pairs_of"]


def pairs_of(components: int) -> tuple[tuple[int, int], ...]:
    """The pairs of components, in the order of coordinates."""
    return tuple(combinations(range(components), 2))


def correlation_matrices(coordinates: FloatArray, components: int) -> FloatArray:
    """Correlation matrices (n, d, d) with these coordinates (n, d (d - 1) / 2)."""
    partial = np.tanh(coordinates)
    factor = np.zeros((len(partial), components, components))
    left = np.ones((len(partial), components))  # what the factor's earlier columns leave of each row's square of 1
    for number, (i, j) in enumerate(pairs_of(components)):
        factor[:, j, i] = partial[:, number] * np.sqrt(left[:, j])
        left[:, j] *= 1.0 - partial[:, number] ** 2
    diagonal = np.arange(components)
    factor[:, diagonal, diagonal] = np.sqrt(left)
    return factor @ factor.transpose(0, 2, 1)


def lkj_log_density(coordinates: FloatArray, components: int, eta: float) -> FloatArray:
    """The log density (n,) of the coordinates, up to a constant."""
    # log(1 - tanh²) without cancellation; the exponent of the density in p grows by one with the change of variables.
    log_left = 2.0 * (np.log(2.0) - np.logaddexp(coordinates, -coordinates))
    return log_left @ _shapes(components, eta)


def lkj_sample(rng: np.random.Generator, size: int, components: int, eta: float) -> FloatArray:
    """Coordinates (size, d (d - 1) / 2) of independent draws."""
    shapes = _shapes(components, eta)
    first, second = (rng.standard_gamma(shapes, (size, len(shapes))) for _ in range(2))
    return 0.5 * (np.log(first) - np.log(second))  # artanh(2 B - 1) is half the log odds of B


def _shapes(components: int, eta: float) -> FloatArray:
    return np.array([eta + (components - 2 - i) / 2 for i, _ in pairs_of(components)])
