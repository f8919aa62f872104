"""Normal data on [-1, 1] with known or unknown variance (Foulds et al.); values outside are clipped first."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.conjugate.base import ConjugateFamily, Mask

__all__ = ["NormalKnownVariance", "NormalUnknownVariance"]

_MAX_VALUES_AT_ONCE = 2_000_000


def _draw_sums(rng: np.random.Generator, mean: float, sd: float, n: int, sets: int) -> FloatArray:
    """`Σ x` and `Σ x²` of clipped values, shape (sets, 2), computed with bounded memory."""
    sums = np.zeros((sets, 2))
    step = max(1, _MAX_VALUES_AT_ONCE // sets)
    for done in range(0, n, step):
        x = np.clip(rng.normal(mean, sd, (sets, min(step, n - done))), -1.0, 1.0)
        sums += np.stack([x.sum(axis=1), (x**2).sum(axis=1)], axis=1)
    return sums


@dataclass(frozen=True)
class NormalKnownVariance(ConjugateFamily):
    """The mean in `[-1, 1]` with prior N(0, prior_sd²). The statistic is the sum."""

    mean: float
    sd: float
    prior_sd: float = 1.0

    @property
    def statistics_sensitivity(self) -> float:
        return 2.0

    @property
    def likelihood_sensitivity(self) -> float:
        """`((x - μ)² - (x' - μ)²) / 2σ²` is largest at `x = -1, x' = μ = 1`."""
        return 2.0 / self.sd**2

    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        return _draw_sums(rng, self.mean, self.sd, n, sets)[:, :1]

    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        return np.clip(statistics, -n, n)

    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        spread = np.sqrt(temperature / self._precision(n))
        return self.posterior_mean(statistics, n) + spread * rng.standard_normal(statistics.shape)

    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        return statistics / self.sd**2 / self._precision(n)

    def within(self, theta: FloatArray) -> Mask:
        return np.asarray((np.abs(theta) <= 1.0).all(axis=1))

    def _precision(self, n: int) -> float:
        return n / self.sd**2 + 1.0 / self.prior_sd**2

    @property
    def truth(self) -> FloatArray:
        return np.array([self.mean])

    @property
    def inverse_information(self) -> float:
        return self.sd**2


@dataclass(frozen=True)
class NormalUnknownVariance(ConjugateFamily):
    """The mean in `[-1, 1]` and a variance of at least `least`: statistics `Σ x` and `Σ x²`, parameters (μ, σ²).

    The prior is `μ | σ² ~ N(0, σ² / strength)`, `σ² ~ InvGamma(shape, scale)`, as a density in μ and σ².
    """

    mean: float
    sd: float
    least: float
    strength: float = 1.0
    shape: float = 1.0
    scale: float = 0.05

    @property
    def statistics_sensitivity(self) -> float:
        """`|x - x'| + |x² - x'²|` is largest at x = 1, x' = -1/2."""
        return 2.25

    @property
    def likelihood_sensitivity(self) -> float:
        """As with known variance, for the smallest variance allowed."""
        return 2.0 / self.least

    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        return _draw_sums(rng, self.mean, self.sd, n, sets)

    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        total = np.clip(statistics[:, 0], -n, n)
        return np.stack([total, np.clip(statistics[:, 1], total**2 / n, n)], axis=1)

    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        strength, centre, shape, scale = self._updated(statistics, n)
        # The density is (σ²)^-(shape + 3/2) exp(-(scale + strength (μ - centre)² / 2) / σ²), to the power 1 /
        # temperature.
        shape = (shape + 1.5) / temperature - 1.5
        if shape <= 0:
            raise ValueError(
                "at this temperature the posterior of the variance is not a proper distribution: more data are needed"
            )
        variance = scale / temperature / rng.standard_gamma(np.full(len(statistics), shape))
        mean = centre + np.sqrt(variance * temperature / strength) * rng.standard_normal(len(statistics))
        return np.stack([mean, variance], axis=1)

    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        _, centre, shape, scale = self._updated(statistics, n)
        return np.stack([centre, scale / (shape - 1.0)], axis=1)

    def within(self, theta: FloatArray) -> Mask:
        return (np.abs(theta[:, 0]) <= 1.0) & (theta[:, 1] >= self.least)

    def _updated(self, statistics: FloatArray, n: int) -> tuple[float, FloatArray, float, FloatArray]:
        """Strength, centre, shape and scale of the posterior."""
        strength = self.strength + n
        centre = statistics[:, 0] / strength
        scale = self.scale + (statistics[:, 1] - strength * centre**2) / 2.0
        return strength, centre, self.shape + n / 2.0, scale

    @property
    def truth(self) -> FloatArray:
        return np.array([self.mean, self.sd**2])

    @property
    def inverse_information(self) -> float:
        return self.sd**2
