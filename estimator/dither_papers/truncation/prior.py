"""The paper's prior, and the conditionals of μ and σ² given a normal sample."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["NormalPrior"]


@dataclass(frozen=True)
class NormalPrior:
    """`μ ~ N(0, 10⁴)` and `σ² ~ IG(1, 1)`, independent: section 4.1."""

    mean_variance: float = 1e4
    shape: float = 1.0
    scale: float = 1.0

    def sample(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Draws of μ and σ, each of shape (size,)."""
        mu = rng.normal(0.0, np.sqrt(self.mean_variance), size)
        return mu, np.sqrt(self.scale / rng.gamma(self.shape, 1.0, size))

    def log_density(self, mu: FloatArray, log_sigma: FloatArray) -> FloatArray:
        """The log density of (μ, log σ), up to a constant."""
        return -0.5 * mu**2 / self.mean_variance - 2.0 * self.shape * log_sigma - self.scale * np.exp(-2.0 * log_sigma)

    def gibbs_mean(self, rng: np.random.Generator, size: int, average: FloatArray, sigma: FloatArray) -> FloatArray:
        """A draw of μ given σ and `size` values with the given `average`."""
        precision = size / sigma**2 + 1.0 / self.mean_variance
        return rng.normal(average * size / sigma**2 / precision, 1.0 / np.sqrt(precision))

    def gibbs_spread(self, rng: np.random.Generator, size: int, squares: FloatArray) -> FloatArray:
        """A draw of σ given `size` values whose squared distances from μ sum to `squares`."""
        return np.sqrt((self.scale + 0.5 * squares) / rng.gamma(self.shape + 0.5 * size, 1.0, squares.shape))
