"""Algorithm 1 with the Gaussian mechanism: a clipped normal value plus normal noise, its density and information.

Section 2 and the conclusion of Yıldırım 2024: all that changes is the distribution of an answer. With `l ≤ r` the ends
of the interval and s the standard deviation of the noise,

    p(y | μ, σ) = Φ(a) φ_s(y - l) + (1 - Φ(c)) φ_s(y - r) + N(y; μ, σ² + s²) [Φ(c') - Φ(a')],

where a, c are the standardised ends and a', c' those of the value's normal distribution given y if nothing is clipped.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial.legendre import leggauss
from scipy.special import log_ndtr

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Interval

__all__ = ["GaussianAnswers", "answer", "information", "log_density", "scores"]

_HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_REACH = 9.0
"""Answers further outside than this many standard deviations of noise, and values further than this, are neglected."""
_PANEL_WIDTH = 1.0
_MAX_PANELS = 256


class GaussianAnswers(NamedTuple):
    """Answers `y` to the questions `[low, high]` with noise of standard deviation `noise`; each of shape (n,)."""

    y: FloatArray
    low: FloatArray
    high: FloatArray
    noise: FloatArray


def answer(
    rng: np.random.Generator, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, noise: float | FloatArray
) -> FloatArray:
    """`T_l^r(x) + noise V` with standard normal V, for arrays that broadcast. For simulations only."""
    clipped = np.clip(np.asarray(x, dtype=np.float64), low, high)
    return np.asarray(clipped + noise * rng.standard_normal(clipped.shape))


def log_density(theta: FloatArray, answers: GaussianAnswers) -> FloatArray:
    """`log p(y_t | θ_i)`, shape (n_particles, n_answers), for `theta` (n_particles, 2): μ and σ > 0."""
    return np.logaddexp.reduce(_parts(theta, answers))


def scores(theta: FloatArray, answers: GaussianAnswers) -> FloatArray:
    """`∂ log p(y_t | θ_i) / ∂(μ, σ)`, exact, shape (n_particles, n_answers, 2), by Fisher's identity."""
    mu, sigma = theta[:, :1], theta[:, 1:2]
    below, above, inside = np.exp(_parts(theta, answers) - log_density(theta, answers))
    a, c = (answers.low - mu) / sigma, (answers.high - mu) / sigma
    low_hazard, high_hazard = np.exp(_log_normal(a) - log_ndtr(a)), np.exp(_log_normal(c) - log_ndtr(-c))
    mean, spread = _given(theta, answers)
    first, second = _truncated_moments((answers.low - mean) / spread, (answers.high - mean) / spread)
    centre = (mean - mu) / sigma
    scaled = spread / sigma
    z, square = centre + scaled * first, centre**2 + 2.0 * centre * scaled * first + scaled**2 * second
    by_mean = -below * low_hazard + above * high_hazard + inside * z
    by_spread = -below * a * low_hazard + above * c * high_hazard + inside * (square - 1.0)
    return np.stack([by_mean / sigma, by_spread / sigma], axis=-1)


def information(interval: Interval, noise: float) -> FloatArray:
    """The Fisher information of an answer about (μ, σ) of N(0, 1), shape (2, 2), by Gauss-Legendre quadrature.

    For N(m, c²), `[ac + m, bc + m]` and noise `c · noise`, divide it by c².
    """
    low, high = interval
    near = np.clip([low, high], -_REACH, _REACH)
    edges = np.unique(np.concatenate([[near[0] - _REACH * noise, near[1] + _REACH * noise], near]))
    at, weights = leggauss(24)
    found = np.zeros((2, 2))
    for start, end in pairwise(edges.tolist()):
        panels = int(min(_MAX_PANELS, np.ceil((end - start) / (_PANEL_WIDTH * min(1.0, noise)))))
        cuts = np.linspace(start, end, panels + 1)
        half = 0.5 * np.diff(cuts)[:, None]
        y = (cuts[:-1, None] + half * (1.0 + at)).ravel()
        asked = GaussianAnswers(y, *(np.full_like(y, value) for value in (low, high, noise)))
        score = scores(_STANDARD, asked)[0]
        mass = np.exp(log_density(_STANDARD, asked)[0]) * (half * weights).ravel()
        found += (score * mass[:, None]).T @ score
    return found


_STANDARD = np.array([[0.0, 1.0]])


def _parts(theta: FloatArray, answers: GaussianAnswers) -> FloatArray:
    """Logarithms of the three terms: values below, above and inside; shape (3, n_particles, n_answers)."""
    y, low, high, noise = answers
    mu, sigma = theta[:, :1], theta[:, 1:2]
    mean, spread = _given(theta, answers)
    a, c = (low - mean) / spread, (high - mean) / spread
    total = np.sqrt(sigma**2 + noise**2)
    return np.stack(
        [
            log_ndtr((low - mu) / sigma) + _log_normal((y - low) / noise) - np.log(noise),
            log_ndtr((mu - high) / sigma) + _log_normal((y - high) / noise) - np.log(noise),
            _log_mass(a, c) + _log_normal((y - mu) / total) - np.log(total),
        ]
    )


def _given(theta: FloatArray, answers: GaussianAnswers) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of an unclipped value given its answer."""
    precision = theta[:, 1:2] ** -2 + answers.noise**-2
    return (theta[:, :1] / theta[:, 1:2] ** 2 + answers.y / answers.noise**2) / precision, precision**-0.5


def _log_normal(z: FloatArray) -> FloatArray:
    return -0.5 * z**2 - _HALF_LOG_TWO_PI


def _log_mass(a: FloatArray, c: FloatArray) -> FloatArray:
    """`log [Φ(c) - Φ(a)]` for a < c, on the side of the mean where there is no cancellation."""
    flip = a > 0.0
    lower, upper = np.where(flip, -c, a), np.where(flip, -a, c)
    top = log_ndtr(upper)
    return top + np.log1p(-np.exp(np.minimum(log_ndtr(lower) - top, -1e-300)))


def _truncated_moments(a: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`E[Z]` and `E[Z²]` of a standard normal between a and c; near an end where there is next to no mass."""
    mass = _log_mass(a, c)
    low, high = np.exp(_log_normal(a) - mass), np.exp(_log_normal(c) - mass)
    return low - high, 1.0 + np.where(np.isinf(a), 0.0, a * low) - np.where(np.isinf(c), 0.0, c * high)
