"""One-parameter populations, and powers of their values as statistics: the paper's Examples 1 to 3."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gamma

from dither_estimator.families import FloatArray

__all__ = ["Moments", "NormalMean", "NormalVariance", "Power", "UniformWidth"]


class Moments(NamedTuple):
    """Mean `μ_s` and variance `Σ_s` of `s(X)` at each θ and their derivatives by θ, all of one shape."""

    mean: FloatArray
    variance: FloatArray
    mean_slope: FloatArray
    variance_slope: FloatArray

    def of_average(self, size: int) -> "Moments":
        """The moments of the average of `s` over `size` values, (8): the variances are divided."""
        return Moments(self.mean, self.variance / size, self.mean_slope, self.variance_slope / size)

    def score(self, u: FloatArray) -> FloatArray:
        """`∂ log N(u; mean, variance) / ∂θ`, from (11)."""
        z = u - self.mean
        by_variance = 0.5 * (z**2 / self.variance - 1.0) / self.variance
        return np.asarray(self.mean_slope * z / self.variance + self.variance_slope * by_variance)


@dataclass(frozen=True)
class Power(ABC):
    """The statistic `s(x) = |x|^a` (`x^a` for `NormalMean`) of values within `bound` of 0."""

    a: float

    def sensitivity(self, bound: float) -> float:
        """The largest change of `s` by one value: `A^a`."""
        return float(bound**self.a)

    @abstractmethod
    def moments(self, theta: FloatArray) -> Moments:
        """Moments at each θ; the bound is assumed so large that it does not matter."""


class NormalMean(Power):
    """Example 1: N(θ, 1) within (0, A), with `a` 1 or 3."""

    def moments(self, theta: FloatArray) -> Moments:
        if self.a == 1:
            return Moments(theta, np.ones_like(theta), np.ones_like(theta), np.zeros_like(theta))
        if self.a == 3:
            return Moments(
                theta**3 + 3 * theta,
                9 * theta**4 + 36 * theta**2 + 15,
                3 * theta**2 + 3,
                36 * theta**3 + 72 * theta,
            )
        raise ValueError("the power of a normal value must be 1 or 3")


class NormalVariance(Power):
    """Example 2: N(0, θ) within (-A, A)."""

    def moments(self, theta: FloatArray) -> Moments:
        a = self.a
        first = 2 ** (a / 2) * gamma((a + 1) / 2) / np.sqrt(np.pi)
        second = 2**a * gamma((2 * a + 1) / 2) / np.sqrt(np.pi) - first**2
        return _scaled(first, second, a / 2, theta)


class UniformWidth(Power):
    """Example 3: uniform on (-θ, θ) within (-A, A)."""

    def moments(self, theta: FloatArray) -> Moments:
        a = self.a
        return _scaled(1 / (a + 1), a**2 / ((a + 1) ** 2 * (2 * a + 1)), a, theta)


def _scaled(first: float, second: float, power: float, theta: FloatArray) -> Moments:
    """Moments with mean `first θ^power` and variance `second θ^(2 power)`."""
    mean, variance = first * theta**power, second * theta ** (2 * power)
    return Moments(mean, variance, power * mean / theta, 2 * power * variance / theta)
