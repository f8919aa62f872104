"""Where T lies, given sites: its mode, and independent proposals around it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["Proposals", "find_mode"]

_STEP = 1e-3
_MAX_STEPS = 25
_LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.03])
_LONGEST = 1.5
_FARTHEST = 5.0
"""The mode is not sought beyond it."""
_LEAST_CURVATURE = 0.05
"""The mode may be flat; no proposal is wider than this curvature says."""
_WIDER = 1.3
_DEGREES = 5.0

LogDensity = Callable[[FloatArray], FloatArray]
"""The log density, shape (n,), at free coordinates (n, f)."""


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
        """Up to a constant, shape (n,) for (n, f)."""
        z = np.linalg.solve(self.root, (free - self.mean).T)
        return np.asarray(-0.5 * (_DEGREES + len(self.mean)) * np.log1p((z**2).sum(axis=0) / _DEGREES))

    def refitted(self, free: FloatArray, weights: FloatArray) -> "Proposals":
        """Around the weighted draws (n, f), as wide as they are or a little wider."""
        mean = weights @ free
        apart = free - mean
        covariance = _WIDER * ((apart * weights[:, None]).T @ apart + 1e-6 * np.eye(len(mean)))
        return Proposals(mean, np.asarray(np.linalg.cholesky(covariance), dtype=float))


def find_mode(log_density: LogDensity, start: FloatArray) -> Proposals:
    """The mode, from `start` (f,), with the curvature there, by Newton steps that never go down."""
    f = len(start)
    at = start
    curvature = np.eye(f)
    for _ in range(_MAX_STEPS):
        slope, hessian = _derivatives(log_density, at)
        values, vectors = np.linalg.eigh(-hessian)
        values = np.maximum(np.abs(values), _LEAST_CURVATURE)
        curvature = (vectors * values) @ vectors.T
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        tried = np.clip(at + _LENGTHS[:, None] * step, -_FARTHEST, _FARTHEST)
        heights = log_density(np.vstack([at, tried]))
        best = int(np.argmax(heights))
        if best == 0 or float(np.abs(step).max()) < _STEP:
            break
        at = tried[best - 1]
    return Proposals(at, np.linalg.cholesky(1.3 * np.linalg.inv(curvature)))


def _derivatives(log_density: LogDensity, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope (f,) and Hessian (f, f), by differences."""
    f, h = len(at), 1e-2
    shifts = [np.zeros(f), *(h * np.eye(f)), *(-h * np.eye(f))]
    corners = [(i, j) for i in range(f) for j in range(i)]
    shifts += [h * (np.eye(f)[i] + np.eye(f)[j]) for i, j in corners]
    heights = log_density(at + np.array(shifts))
    up, down = heights[1 : f + 1], heights[f + 1 : 2 * f + 1]
    hessian = np.diag((up + down - 2 * heights[0]) / h**2)
    for (i, j), height in zip(corners, heights[2 * f + 1 :], strict=True):
        hessian[i, j] = hessian[j, i] = (height - up[i] - up[j] + heights[0]) / h**2
    return (up - down) / (2 * h), hessian
