"""Where T and β lie: their mode, draws from around it that are weighed, and independent proposals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.particles.metropolis import Proposal
from dither_estimator.particles.quasi_monte_carlo import redraw
from dither_estimator.weighted.moments import Moments

__all__ = ["LogDensity", "Proposals", "Told", "climbed", "weighed_around"]

_SHIFT = 0.02
"""Between slopes from whose differences curvature is found."""
_NEAR_ENOUGH = 0.1
"""The mode is found when the next step is shorter, in standard deviations."""
_MAX_STEPS = 25
_LENGTHS = np.array([1.0, 0.3])
_LONGEST = 1.5
_FARTHEST = 5.0
"""The mode is not sought beyond it."""
_LEAST_CURVATURE = 0.05
"""The mode may be flat; no proposal is wider than this curvature says."""
_AWAY = np.array([1.0, 2.0, 3.0])
_SCALES = (0.5, 5.0)
"""Draws are spread out as far as the density is so many axes away, but by no less and no more than this."""
_WIDER = 1.3
_DEGREES = 5.0

LogDensity = Callable[[FloatArray], FloatArray]
"""The log density, shape (k,), at (k, n)."""
Told = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""The log density, shape (k,), and its slope (k, n) at (k, n)."""


@dataclass(frozen=True)
class Proposals:
    """A Student t with 5 degrees of freedom around `mean` (f,), with the root (f, f) of its scale matrix."""

    mean: FloatArray
    root: FloatArray

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Shape (size, f)."""
        normal = rng.standard_normal((size, len(self.mean)))
        return np.asarray(
            self.mean + (normal / np.sqrt(rng.chisquare(_DEGREES, size) / _DEGREES)[:, None]) @ self.root.T
        )

    def log_density(self, free: FloatArray) -> FloatArray:
        """The log density up to a constant, shape (n,), at points (n, f)."""
        z = np.linalg.solve(self.root, (free - self.mean).T)
        return np.asarray(-0.5 * (_DEGREES + len(self.mean)) * np.log1p((z**2).sum(axis=0) / _DEGREES))

    @classmethod
    def fitted(cls, free: FloatArray, weights: FloatArray) -> "Proposals":
        """Around the weighted draws (n, f), as wide as they are or a little wider."""
        moments = Moments.of(free, weights)
        covariance = _WIDER * (moments.covariance + 1e-6 * np.eye(len(moments.mean)))
        return cls(moments.mean, np.asarray(np.linalg.cholesky(covariance), dtype=float))


def climbed(told: Told, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mode of a log density, from `at` (n,) by Newton steps that never go down, and axes (n, n) of the curvature.

    An axis is a column, as long as the standard deviation of a normal distribution with that curvature.
    """
    axes = np.eye(len(at))
    for _ in range(_MAX_STEPS):
        heights, slopes = told(np.vstack([at, at + _SHIFT * np.eye(len(at))]))
        bends = (slopes[0] - slopes[1:]) / _SHIFT
        values, vectors = np.linalg.eigh(0.5 * (bends + bends.T))
        axes = vectors / np.sqrt(np.maximum(np.abs(values), _LEAST_CURVATURE))
        scores = axes.T @ slopes[0]
        step = axes @ scores
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        tried = np.clip(at + _LENGTHS[:, None] * step, -_FARTHEST, _FARTHEST)
        best = int(np.argmax(np.concatenate([heights[:1], told(tried)[0]])))
        if best:
            at = tried[best - 1]
        if best == 0 or float(np.abs(scores).max()) < _NEAR_ENOUGH:
            break
    return at, axes


def weighed_around(
    rng: np.random.Generator, log_density: LogDensity, mode: FloatArray, axes: FloatArray, size: int
) -> tuple[FloatArray, FloatArray]:
    """Draws (size, n) and their normalised weights, spread out along each axis and each way as the density is.

    The scale of a Student t is other on one side of the mode than on the other (Geweke 1989, *Bayesian inference in
    econometric models using Monte Carlo integration*): the logarithm of a scale next to 0 has a long tail on the left.
    """
    n = len(mode)
    ways = np.concatenate([axes, -axes], axis=1).T
    heights = log_density(np.vstack([mode, (mode + _AWAY[:, None, None] * ways).reshape(-1, n)]))
    fall = np.maximum(heights[0] - heights[1:].reshape(len(_AWAY), 2 * n), 1e-9)
    scales = (_AWAY[:, None] / np.sqrt(2 * fall)).max(axis=0).clip(*_SCALES).reshape(2, n)

    def placed(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        stretch = np.where(scores > 0, *scales)
        return mode + (scores * stretch) @ axes.T, np.log(stretch).sum(axis=1)

    def spread(scores: FloatArray) -> FloatArray:
        at, log_stretch = placed(scores)
        return log_density(at) + log_stretch

    found = redraw(rng, spread, Proposal(np.zeros(n), np.eye(n)), size)
    weights = np.exp(found.log_weights - found.log_weights.max())
    return placed(found.coordinates)[0], weights / weights.sum()
