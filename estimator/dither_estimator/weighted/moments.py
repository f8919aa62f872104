"""Means and covariances of weighted particles.

All values are taken relative to one of the particles: far from 0, rounding of the weights' sum, or of the mean itself,
could exceed the width of a narrow posterior.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["Moments", "weighted_mean"]

_MIN_VARIANCE = 1e-150
_RIDGE = 1e-9


@dataclass(frozen=True)
class Moments:
    """The mean (d,) and the covariance (d, d) of weighted particles."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> "Moments":
        """The moments of `values` (n, d) with normalised `weights` (n,)."""
        apart = values - values[0]
        mean = weights @ apart
        centred = apart - mean
        return cls(values[0] + mean, (centred * weights[:, None]).T @ centred)

    @property
    def sd(self) -> FloatArray:
        """Standard deviations, shape (d,)."""
        return np.sqrt(np.diag(self.covariance))

    def standardised(self) -> tuple[FloatArray, FloatArray]:
        """Positive scales (d,) and a positive definite correlation matrix (d, d), whatever the particles."""
        scale = np.sqrt(np.maximum(np.diag(self.covariance), _MIN_VARIANCE))
        return scale, self.covariance / np.outer(scale, scale) + _RIDGE * np.eye(len(scale))

    def distance(self, point: FloatArray) -> float:
        """The Mahalanobis distance from the mean to `point` (d,)."""
        scale, correlation = self.standardised()
        apart = (point - self.mean) / scale
        return float(np.sqrt(apart @ np.linalg.solve(correlation, apart)))


def weighted_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean of `values` (n,) or (n, d) with normalised `weights` (n,)."""
    return values[0] + weights @ (values - values[0])
