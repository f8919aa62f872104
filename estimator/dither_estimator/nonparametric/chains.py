"""Draws from a density of few numbers by Markov chains that learn from each other how far to move."""

from collections.abc import Callable

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["evolved"]

_JUMP = 2.38
"""The best step of a normal density is this over the square root of twice the dimensions."""
_WHOLE_JUMPS = 5
"""Each so many sweeps chains move by the whole distance of two others, from one mode to another."""
_JITTER = 1e-4


def evolved(
    rng: np.random.Generator,
    start: FloatArray,
    log_density: Callable[[FloatArray], FloatArray],
    sweeps: int,
    kept: int,
) -> FloatArray:
    """The chains `start` (n, d) after so many sweeps, and after `kept - 1` more, together: shape (kept n, d).

    Differential evolution (ter Braak 2006): a chain moves by the difference of two others. Each half of the chains
    learns from the other half, so that the density is left invariant.
    """
    x, size = start.copy(), len(start)
    height = log_density(x)
    half, found = size // 2, []
    usual = _JUMP / np.sqrt(2 * x.shape[1])
    for sweep in range(sweeps + kept - 1):
        length = 1.0 if sweep % _WHOLE_JUMPS == _WHOLE_JUMPS - 1 else usual
        for movers, others in ((slice(0, half), slice(half, size)), (slice(half, size), slice(0, half))):
            now, known = x[movers], x[others]
            one, other = known[rng.integers(len(known), size=(2, len(now)))]
            proposed = now + length * (one - other) + _JITTER * rng.standard_normal(now.shape)
            there = log_density(proposed)
            taken = np.log(rng.random(len(now))) < there - height[movers]
            x[movers] = np.where(taken[:, np.newaxis], proposed, now)
            height[movers] = np.where(taken, there, height[movers])
        if sweep >= sweeps - 1:
            found.append(x.copy())
    return np.concatenate(found)
