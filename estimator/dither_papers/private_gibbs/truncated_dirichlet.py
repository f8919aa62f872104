"""A Markov move for a Dirichlet distribution truncated to components of at least `a_0`."""

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from dither_estimator.families import FloatArray

__all__ = ["truncated_dirichlet_move"]

_MIN_MASS = 1e-12


def truncated_dirichlet_move(
    rng: np.random.Generator, shares: FloatArray, concentration: FloatArray, least: float
) -> FloatArray:
    """The next states of chains at `shares`, shape (K, J), each for the Dirichlet with its row of `concentration`.

    A row is replaced by an untruncated draw if that is within the bounds, which is exact. Otherwise components change
    in pairs; given the others, the first's share of a pair's sum is a truncated beta.
    """
    drawn = rng.standard_gamma(concentration)
    drawn /= drawn.sum(axis=1, keepdims=True)
    within = np.asarray((drawn >= least).all(axis=1))
    found = np.where(within[:, np.newaxis], drawn, shares)
    if not within.all():
        rows = np.flatnonzero(~within)
        for _ in range(2):
            found[rows] = _pairs(rng, found[rows], concentration[rows], least)
    return found


def _pairs(rng: np.random.Generator, shares: FloatArray, concentration: FloatArray, least: float) -> FloatArray:
    order = rng.permutation(shares.shape[1])
    first, second = order[: len(order) // 2], order[-(len(order) // 2) :][::-1]
    total = shares[:, first] + shares[:, second]
    bound = np.minimum(least / total, 0.5)
    fraction = _truncated_beta(rng, concentration[:, first], concentration[:, second], bound)
    found = shares.copy()
    found[:, first], found[:, second] = total * fraction, total * (1.0 - fraction)
    return found


def _truncated_beta(
    rng: np.random.Generator, a: FloatArray, b: FloatArray, bound: npt.NDArray[np.float64]
) -> FloatArray:
    """Beta(a, b) within `[bound, 1 - bound]`; the nearer end where floating point finds no mass there."""
    low, high = betainc(a, b, bound), betainc(a, b, 1.0 - bound)
    drawn = betaincinv(a, b, low + rng.random(a.shape) * (high - low))
    nearer = np.where(a / (a + b) < 0.5, bound, 1.0 - bound)
    return np.clip(np.where(high - low > _MIN_MASS, drawn, nearer), bound, 1.0 - bound)
