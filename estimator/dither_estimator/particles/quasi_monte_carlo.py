"""Redrawing particles of a nearly normal posterior: points spread evenly over a proposal and weighted for the target.

Importance sampling by randomised quasi-Monte Carlo (Owen 2013, *Monte Carlo theory, methods and examples*, chapter 17).
Evenly spread points give the means of a smooth posterior far more precisely than as many independent draws, and a move
needs only one evaluation of the target at each.
"""

from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtri

from dither_estimator.families import FloatArray
from dither_estimator.particles.metropolis import TAIL, LogDensity, Moved, Proposal

__all__ = ["efficiency", "redraw"]

_MIN_UNIFORM = 2.0**-53
"""Lower bound on uniform draws: the normal quantile of 0 would be infinite."""


def efficiency(proposal: Proposal, coordinates: FloatArray, log_target: FloatArray, weights: FloatArray) -> float:
    """The share of the proposal's draws that would be effective, estimated from particles (n, d) of the target.

    With `w` the ratio of target to proposal, it is `(E w)² / E w²` under the proposal, which equals `1 / (E w · E 1/w)`
    under the target. It therefore needs no evaluation beyond `log_target` (n,) at the particles. If the target vanishes
    on a part of the proposal, it is too high by that part.
    """
    log_ratio = log_target - proposal.log_density(coordinates)
    ratio = np.exp(np.maximum(log_ratio - log_ratio.max(), -700.0))
    return float(1 / ((weights @ ratio) * (weights @ (1 / ratio))))


def redraw(rng: np.random.Generator, log_target: LogDensity, proposal: Proposal, size: int) -> Moved:
    """`size` evenly spread points of the proposal, with log-weights that make them represent the target."""
    d = len(proposal.mean)
    scale, lattice = _even(size, d)
    normal = ndtri(np.maximum((lattice + rng.random(d)) % 1.0, _MIN_UNIFORM))
    coordinates: FloatArray = proposal.mean + (normal / scale[:, None]) @ proposal.factor.T
    target = log_target(coordinates)
    log_weights = target - proposal.log_density(coordinates)
    weights = np.exp(log_weights - log_weights.max())
    return Moved(coordinates, target, log_weights, float(weights.sum() ** 2 / (weights @ weights) / size))


@lru_cache(maxsize=16)
def _even(size: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Divisors (size,) that make normal draws Student t draws, and evenly spread points (size, d) in the unit cube.

    A Hammersley set: its first coordinate, in equal steps, gives the divisors; the others are multiples of powers of a
    generalised golden ratio (the R sequence of Roberts 2018), the positive root of `x^(d + 1) = x + 1`. The points are
    shuffled, so that the first few are spread out as well.
    """
    number = np.random.default_rng(0).permutation(size)
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (d + 1))
    scale = np.sqrt(chdtri(TAIL, (number + 0.5) / size) / TAIL)
    return scale, number[:, None] * ratio ** -np.arange(1.0, d + 1) % 1.0
