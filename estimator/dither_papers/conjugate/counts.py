"""Families with integer statistics: beta-Bernoulli, Dirichlet-multinomial, gamma-Poisson (Foulds et al.)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

from dither_estimator.families import FloatArray
from dither_papers.conjugate.base import ConjugateFamily, Mask

__all__ = ["BetaBernoulli", "DirichletMultinomial", "GammaPoisson"]


@dataclass(frozen=True)
class DirichletMultinomial(ConjugateFamily):
    """Shares of K categories with a symmetric Dirichlet prior; every share is at least `least`, the paper's `a_0`."""

    shares: tuple[float, ...]
    least: float
    concentration: float = 1.0

    @property
    def statistics_sensitivity(self) -> float:
        return 2.0

    @property
    def likelihood_sensitivity(self) -> float:
        """(15) for K categories: `log((1 - (K - 1) a_0) / a_0)`."""
        return math.log((1.0 - (len(self.shares) - 1) * self.least) / self.least)

    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        return rng.multinomial(n, self.shares, sets).astype(np.float64)

    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        """Negative counts become 0; as in the paper, the sum need not be n."""
        return np.maximum(statistics, 0.0)

    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        draws = rng.standard_gamma((statistics + self.concentration - 1.0) / temperature + 1.0)
        return draws / draws.sum(axis=1, keepdims=True)

    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        weights = statistics + self.concentration
        return weights / weights.sum(axis=1, keepdims=True)

    def within(self, theta: FloatArray) -> Mask:
        return np.asarray((theta >= self.least).all(axis=1))

    @property
    def truth(self) -> FloatArray:
        return np.array(self.shares)

    @property
    def inverse_information(self) -> float:
        return self.shares[0] * (1.0 - self.shares[0])


def BetaBernoulli(share: float, least: float, concentration: float = 1.0) -> DirichletMultinomial:
    """Successes and failures with a Beta(c, c) prior and success probability in `[a_0, 1 - a_0]`: two categories."""
    return DirichletMultinomial((share, 1.0 - share), least, concentration)


@dataclass(frozen=True)
class GammaPoisson(ConjugateFamily):
    """Counts clipped to `0..most`, rate λ in `[low, high]`, a Gamma(shape, rate) prior. The statistic is their sum."""

    rate: float
    most: int
    low: float
    high: float
    prior_shape: float = 1.0
    prior_rate: float = 1.0

    @property
    def statistics_sensitivity(self) -> float:
        return float(self.most)

    @property
    def likelihood_sensitivity(self) -> float:
        """(13) is convex in `log λ`, so its maximum is at an end of the interval; `h(x) = 1 / x!`."""
        x = np.arange(self.most + 1)
        found = 0.0
        for end in (self.low, self.high):
            logs = x * math.log(end) - gammaln(x + 1)
            found = max(found, float(np.ptp(logs)))
        return found

    def draw_statistics(self, rng: np.random.Generator, n: int, sets: int) -> FloatArray:
        x = np.arange(self.most + 1)
        shares = poisson.pmf(x, self.rate)
        shares[-1] += poisson.sf(self.most, self.rate)
        return (rng.multinomial(n, shares / shares.sum(), sets) @ x)[:, np.newaxis].astype(np.float64)

    def project(self, statistics: FloatArray, n: int) -> FloatArray:
        return np.clip(statistics, 0.0, n * self.most)

    def draw_posterior(
        self, rng: np.random.Generator, statistics: FloatArray, n: int, temperature: float
    ) -> FloatArray:
        shape = (statistics + self.prior_shape - 1.0) / temperature + 1.0
        return rng.standard_gamma(shape) * (temperature / (n + self.prior_rate))

    def posterior_mean(self, statistics: FloatArray, n: int) -> FloatArray:
        return (statistics + self.prior_shape) / (n + self.prior_rate)

    def within(self, theta: FloatArray) -> Mask:
        return np.asarray(((theta >= self.low) & (theta <= self.high)).all(axis=1))

    @property
    def truth(self) -> FloatArray:
        return np.array([self.rate])

    @property
    def inverse_information(self) -> float:
        return self.rate
