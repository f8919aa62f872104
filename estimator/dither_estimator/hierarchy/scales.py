"""The prior of how groups differ: scales whose squares are Lomax, and LKJ correlations.

A scale matrix T is `S R S`, with scales `S = diag(τ)` and a correlation matrix R, and is described by free coordinates:
`log τ_j`, then the inverse hyperbolic tangents of R's partial correlations, row by row.

The density of τ is in proportion to `τ / (1 + τ² / s²)^(a + 1)`. It vanishes at 0, unlike that of a half-t
distribution. Where answers hardly tell whether groups differ, these would otherwise be taken for the same, and
intervals be too narrow (Chung, Rabe-Hesketh, Dorie, Gelman & Liu 2013, *A nondegenerate penalized likelihood estimator
for variance parameters in multilevel models*).
"""

from functools import cache
from itertools import combinations

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["draw", "free_coordinates", "log_prior", "root"]

_SCALE, _TAIL = 0.6, 1.5
"""The scale s of each τ, in units of the pooled fit, and the shape a of the Lomax distribution of its square: the
median of τ is 0.46 units."""
_LKJ = 2.0
"""LKJ's parameter: 1 is uniform over correlation matrices, more favours small correlations."""


def free_coordinates(dimensions: int) -> int:
    """The number of free coordinates of T."""
    return dimensions * (dimensions + 1) // 2


def draw(rng: np.random.Generator, size: int, dimensions: int) -> FloatArray:
    """Free coordinates (size, f) drawn from the prior."""
    scales = _SCALE * np.sqrt(rng.pareto(_TAIL, (size, dimensions)))
    powers = [_LKJ + (dimensions - 2 - given) / 2 for given, _ in _pairs(dimensions)]
    partial = [2 * rng.beta(power, power, size) - 1 for power in powers]
    return np.column_stack([np.log(scales), *map(np.arctanh, partial)])


def log_prior(free: FloatArray, dimensions: int) -> FloatArray:
    """The log density, up to a constant, of free coordinates (n, k); shape (n,).

    A partial correlation given i variables has the density `(1 - ρ²)^(η - 1 + (d - 2 - i) / 2)` (Lewandowski, Kurowicka
    & Joe 2009, *Generating random correlation matrices based on vines and extended onion method*).
    """
    log_scales = free[:, :dimensions]
    ratio = np.exp(2 * (log_scales - np.log(_SCALE)))
    total = (2 * log_scales - (_TAIL + 1) * np.log1p(ratio)).sum(axis=1)
    for column, (given, _) in zip(free[:, dimensions:].T, _pairs(dimensions), strict=True):
        power = _LKJ + (dimensions - 2 - given) / 2
        total -= power * 2 * np.logaddexp(column, -column)
    return total


def root(free: FloatArray, dimensions: int) -> FloatArray:
    """The lower triangular A with `A Aᵀ = T`, shape (d, d, n)."""
    found = np.zeros((dimensions, dimensions, len(free)))
    partial = np.tanh(free[:, dimensions:])
    left = np.ones((dimensions, len(free)))
    for column, (j, i) in zip(partial.T, _pairs(dimensions), strict=True):
        found[i, j] = column * left[i]
        left[i] *= np.sqrt(1 - column**2)
    for i in range(dimensions):
        found[i, i] = left[i]
    return found * np.exp(free[:, :dimensions].T)[:, None]


@cache
def _pairs(dimensions: int) -> list[tuple[int, int]]:
    """Each pair of variables, the lower first, in the order of its partial correlation."""
    return sorted(combinations(range(dimensions), 2), key=lambda pair: (pair[1], pair[0]))
