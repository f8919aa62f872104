"""The multivariate Student t about 0. Importing that of `scipy.stats` takes longer than learning a posterior."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dither_estimator.families import FloatArray

__all__ = ["MultivariateT"]


@dataclass(frozen=True, eq=False)
class MultivariateT:
    """The distribution with density proportional to `(1 + zᵀ S⁻¹ z / df)^(-(df + d) / 2)`."""

    shape: FloatArray
    """The scale matrix `S`, shape (d, d), positive definite."""
    df: float

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """`size` independent draws, shape (size, d)."""
        spread = np.sqrt(rng.chisquare(self.df, size) / self.df)
        normal: FloatArray = rng.multivariate_normal(np.zeros(len(self.shape)), self.shape, size)
        return normal / spread[:, None]

    def log_density(self, z: FloatArray) -> FloatArray:
        """The log density, shape (n,), at `z` (n, d)."""
        d, df = len(self.shape), self.df
        values, vectors = np.linalg.eigh(self.shape)
        distance = ((z @ vectors) ** 2 / values).sum(axis=1)
        constant = gammaln((df + d) / 2) - gammaln(df / 2) - (d * np.log(df * np.pi) + np.log(values).sum()) / 2
        return constant - (df + d) / 2 * np.log1p(distance / df)
