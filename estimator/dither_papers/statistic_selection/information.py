"""Fisher information of what is shared, without Monte Carlo: section 3.1, Example 4, and Laplace noise exactly."""

from itertools import pairwise

import numpy as np
from scipy.special import ndtri, roots_legendre

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.normal_laplace import density
from dither_papers.statistic_selection.powers import Moments, Power

__all__ = [
    "average_of_noisy_values",
    "gaussian_information",
    "laplace_information",
    "noisy_average",
    "normal_information",
    "randomised_responses",
    "sequence_information",
]

_NODES = 400
_QUANTILES = 1_000
_POINTS = 2_001
_QUADRATURE_RANGE = -float(ndtri(1e-15))
"""Range of the quadrature in standard deviations of the normal part, and in scales of the noise."""


def normal_information(mean_slopes: FloatArray, covariance: FloatArray, covariance_slopes: FloatArray) -> FloatArray:
    """The information in N(μ(θ), H(θ)), shape (p, p): `∂μᵀ H⁻¹ ∂μ + tr(H⁻¹ ∂H H⁻¹ ∂H) / 2` (section 3.1).

    `mean_slopes` (p, d), `covariance` (d, d), `covariance_slopes` (p, d, d).
    """
    inverse = np.linalg.inv(covariance)
    scaled = inverse @ covariance_slopes
    means = mean_slopes @ inverse @ mean_slopes.T
    return np.asarray(means + 0.5 * np.einsum("iab,jba->ij", scaled, scaled))


def gaussian_information(power: Power, theta: FloatArray, size: int, epsilon: float, bound: float) -> FloatArray:
    """The information in the average of `s` with noise N(0, A^2a / (n² ε²)), (9), at each θ; `epsilon` may be infinite.

    This noise is ε-Gaussian differentially private (Theorem 2), not ε-differentially private.
    """
    moments = power.moments(theta).of_average(size)
    noise = (power.sensitivity(bound) / (size * epsilon)) ** 2
    return _of_normal(moments.mean_slope, moments.variance + noise, moments.variance_slope)


def laplace_information(power: Power, theta: FloatArray, size: int, epsilon: float, bound: float) -> FloatArray:
    """The information in the average of `s` with noise Laplace(A^a / (n ε)), at each θ, which Algorithm 1 estimates.

    `∫ (∂p/∂θ)² / p dy` by Gauss-Legendre quadrature on both sides of the mean, to a relative error of at most 1e-6.
    """
    scale = power.sensitivity(bound) / (size * epsilon)
    moments = power.moments(theta).of_average(size)
    return np.array([_by_quadrature(Moments(*row), scale) for row in zip(*moments, strict=True)])


def _by_quadrature(moments: Moments, scale: float) -> float:
    sd = float(np.sqrt(moments.variance))
    nodes, weights = roots_legendre(_NODES)
    ends = [0.0, _QUADRATURE_RANGE * sd, _QUADRATURE_RANGE * (sd + 4 * scale)]
    total = 0.0
    for low, high in pairwise(ends):
        for side in (-1, 1):
            y = moments.mean + side * (low + (high - low) * (nodes + 1) / 2)
            p = density(y, moments.mean, moments.variance, np.asarray(scale))
            slope = moments.mean_slope * p.by_mean + moments.variance_slope * p.by_variance
            told = np.divide(slope**2, p.value, out=np.zeros_like(slope), where=p.value > 0)
            total += float(weights @ told) * (high - low) / 2
    return total


def sequence_information(power: float, theta: float, size: int, scale: float) -> float:
    """The information in `size` releases `|X_i|^power + Laplace(scale)`, X from N(0, θ), to about 0.1%.

    Algorithm 3 estimates the same. `p` and `∂p/∂θ` are averages over quantiles of `X`, weighted by the score of `X` in
    the latter.
    """
    z = ndtri(0.5 + (np.arange(_QUANTILES) + 0.5) / (2 * _QUANTILES))
    location, score = (z * theta**0.5) ** power, (z**2 - 1) / (2 * theta)
    y = np.linspace(-25 * scale, location[-1] + 25 * scale, _POINTS)
    noise = np.exp(-np.abs(y[:, None] - location) / scale) / (2 * scale)
    slope: FloatArray = noise @ score / _QUANTILES
    return float(size * np.trapezoid(slope**2 / noise.mean(axis=1), y))


def randomised_responses(theta: FloatArray, size: int, epsilon: float) -> FloatArray:
    """Example 4, `F_1`: each of `size` zeros and ones by randomised response, ε-differentially private."""
    share = np.tanh(epsilon / 2)
    tau = (1 - share) / 2 + share * theta
    return np.asarray(size * share**2 / (tau * (1 - tau)))


def average_of_noisy_values(theta: FloatArray, size: int, epsilon: float) -> FloatArray:
    """Example 4, `F_2`: the average of values with noise N(0, 1/ε²) on each, approximately normal.

    The paper's formula lacks the factor 1/2 of `(1-2θ)²` that follows from its section 3.1.
    """
    variance = (theta * (1 - theta) + epsilon**-2) / size
    return _of_normal(np.ones_like(theta), variance, (1 - 2 * theta) / size)


def noisy_average(theta: FloatArray, size: int, epsilon: float) -> FloatArray:
    """Example 4, `F_3`: the average with noise N(0, 1/(n² ε²)), with the same factor."""
    variance = (theta * (1 - theta) + epsilon**-2 / size) / size
    return _of_normal(np.ones_like(theta), variance, (1 - 2 * theta) / size)


def _of_normal(mean_slope: FloatArray, variance: FloatArray, variance_slope: FloatArray) -> FloatArray:
    """`normal_information` for one parameter and one statistic, at many θ."""
    return np.asarray(mean_slope**2 / variance + 0.5 * (variance_slope / variance) ** 2)
