"""The exact posterior of a success probability given a noisy number of successes.

As Dither does with any answer, it uses the likelihood of what was released. The unknown count is summed out,
`p(θ | released) = Σ_k Beta(θ; a + k, b + n - k) P(k | released)`, so the posterior accounts for the noise and no
projection is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, logsumexp
from scipy.stats import beta, betabinom

from dither_estimator.families import FloatArray

__all__ = [
    "NoisyCountPosterior",
    "draw_geometric",
    "geometric_noise",
    "laplace_pair_noise",
    "noisy_count_posterior",
]


_MIN_WEIGHT = 1e-17


@dataclass(frozen=True, eq=False)
class NoisyCountPosterior:
    """Mixtures of beta distributions, one for each of R released values."""

    weights: FloatArray
    """`P(k | released)`, shape (R, n + 1)."""
    a: float
    b: float

    @property
    def mean(self) -> FloatArray:
        """The means, shape (R,)."""
        n = self.weights.shape[1] - 1
        return self.weights @ ((self.a + np.arange(n + 1)) / (self.a + self.b + n))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """One draw from each mixture, shape (R,)."""
        n = self.weights.shape[1] - 1
        steps = self.weights.cumsum(axis=1)
        count = (steps < rng.random((len(steps), 1)) * steps[:, -1:]).sum(axis=1)
        return rng.beta(self.a + count, self.b + n - count)

    def cdf(self, theta: FloatArray) -> FloatArray:
        """The distribution function of each mixture at its own point, shape (R,)."""
        n = self.weights.shape[1] - 1
        row, k = np.nonzero(self.weights > _MIN_WEIGHT)
        below = self.weights[row, k] * betainc(self.a + k, self.b + n - k, theta[row])
        return np.bincount(row, below, len(self.weights)).astype(np.float64)

    def density(self, theta: FloatArray) -> FloatArray:
        """The densities at T points, shape (R, T)."""
        n = self.weights.shape[1] - 1
        k = np.arange(n + 1)[:, np.newaxis]
        return self.weights @ beta.pdf(theta, self.a + k, self.b + n - k)


def noisy_count_posterior(
    n: int, log_noise: Callable[[FloatArray], FloatArray], a: float = 1.0, b: float = 1.0
) -> NoisyCountPosterior:
    """The posterior for a Beta(a, b) prior, n trials and `log P(released | k)`, shape (R, n + 1), for k = 0..n."""
    k = np.arange(n + 1)
    logs = log_noise(k.astype(np.float64)) + betabinom.logpmf(k, n, a, b)
    return NoisyCountPosterior(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), a, b)


def laplace_pair_noise(released: FloatArray, n: int, scale: float) -> Callable[[FloatArray], FloatArray]:
    """`log P` of successes and failures, shape (R, 2), each with Laplace noise of this scale, before projection."""

    def log_noise(k: FloatArray) -> FloatArray:
        distance = np.abs(released[:, :1] - k) + np.abs(released[:, 1:] - (n - k))
        return -distance / scale

    return log_noise


def draw_geometric(rng: np.random.Generator, count: FloatArray, n: int, epsilon: float) -> FloatArray:
    """Dither's release of counts among n people, shape (R,): geometric noise `∝ e^(-ε|z|)`, clipped to `0..n`."""
    fails = -np.expm1(-epsilon)
    noise = rng.geometric(fails, count.shape) - rng.geometric(fails, count.shape)
    return np.clip(count + noise, 0, n)


def geometric_noise(released: FloatArray, epsilon: float) -> Callable[[FloatArray], FloatArray]:
    """`log P` of counts with clipped geometric noise, shape (R,); clipping adds the same constant for every count."""

    def log_noise(k: FloatArray) -> FloatArray:
        return -epsilon * np.abs(released[:, np.newaxis] - k)

    return log_noise
