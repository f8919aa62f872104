"""The distribution of an answer: a clipped normal value plus Laplace noise (Yıldırım 2024, (2), (10), (12)).

With `l ≤ u ≤ r` the answer clipped to the interval, b = (r - l)/ε the noise's scale and d the answer's distance from
the interval,

    p(y | μ, σ) = exp(-d/b) G(u) / (2b),
    G(u) = Φ(a) exp(-(u-l)/b) + J(l, u) + J(u, r) + (1 - Φ(c)) exp(-(r-u)/b),

where a, c are the standardised ends and J is the integral of the normal density times `exp(-|x-u|/b)`. In standard
units, with k = σ/b, everything follows from one function,
`H(x) = ∫_{-∞}^x φ(z) exp(-k(x-z)) dz = φ(x) √(π/2) erfcx((k-x)/√2)`. Because k (c - a) = ε and G ≥ exp(-ε), nothing
overflows or cancels, however narrow or wide the interval.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.special import erfcx, ndtr

from dither_estimator.families import FloatArray

__all__ = ["Answers", "Interval", "answer", "log_density", "scores"]

Interval = tuple[float, float]
"""`l < r` in the values' units, or a and b of (11) in standard units."""

_MAX_EPSILON = 500.0


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers `y` to the questions `[low, high]`, each of shape (n,), all at the same ε."""

    y: FloatArray
    low: FloatArray
    high: FloatArray
    epsilon: float

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= _MAX_EPSILON:
            raise ValueError(f"epsilon must be above 0 and at most {_MAX_EPSILON:g}")
        if not (self.y.shape == self.low.shape == self.high.shape and self.y.ndim == 1):
            raise ValueError("there must be as many lower and upper ends of intervals as answers")
        if not (self.low < self.high).all():
            raise ValueError("every interval's low end must be below its high end")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def scale(self) -> FloatArray:
        """Δ/ε, the scale of the noise, shape (n,)."""
        return (self.high - self.low) / self.epsilon

    @classmethod
    def none(cls, epsilon: float) -> "Answers":
        """The state before the first answer."""
        return cls(np.empty(0), np.empty(0), np.empty(0), epsilon)

    def and_one(self, y: float, interval: Interval) -> "Answers":
        """These answers and one more."""
        low, high = interval
        return Answers(np.append(self.y, y), np.append(self.low, low), np.append(self.high, high), self.epsilon)


def answer(
    rng: np.random.Generator, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, noise_epsilon: float
) -> FloatArray:
    """`T_l^r(x) + (r - l) V` with `V ~ Laplace(1/ε)`, (10), for arrays that broadcast. For simulations only."""
    clipped = np.clip(np.asarray(x, dtype=np.float64), low, high)
    return np.asarray(clipped + rng.laplace(0.0, 1.0, clipped.shape) * (np.subtract(high, low) / noise_epsilon))


def log_density(theta: FloatArray, answers: Answers) -> FloatArray:
    """`log p(y_t | θ_i)`, shape (n_particles, n_answers), for `theta` (n_particles, 2): μ and σ > 0."""
    parts = _Parts.of(theta, answers)
    u = np.clip(answers.y, answers.low, answers.high)
    shift = np.abs(answers.y - u) / answers.scale + np.log(2.0 * answers.scale)
    return np.log(parts.total()) - shift


def scores(theta: FloatArray, answers: Answers) -> FloatArray:
    """`∂ log p(y_t | θ_i) / ∂(μ, σ)`, exact, shape (n_particles, n_answers, 2). Algorithm 5 approximates it."""
    parts = _Parts.of(theta, answers)
    by_mean, by_spread = parts.slopes()
    sigma, total = theta[:, 1:2], parts.total()
    return np.stack([by_mean / (sigma * total), by_spread / (sigma * total)], axis=-1)


@dataclass(frozen=True, eq=False)
class _Parts:
    """G and its derivatives in standard units; all arrays have shape (n_particles, n_answers)."""

    a: FloatArray
    u: FloatArray
    c: FloatArray
    k: FloatArray
    left: FloatArray
    """`exp(-k (u - a))`."""
    right: FloatArray
    """`exp(-k (c - u))`."""

    @classmethod
    def of(cls, theta: FloatArray, answers: Answers) -> "_Parts":
        mu, sigma = theta[:, :1], theta[:, 1:2]
        u = np.clip(answers.y, answers.low, answers.high)
        return cls(
            (answers.low - mu) / sigma,
            (u - mu) / sigma,
            (answers.high - mu) / sigma,
            sigma / answers.scale,
            np.exp((answers.low - u) / answers.scale),
            np.exp((u - answers.high) / answers.scale),
        )

    def total(self) -> FloatArray:
        """G(u)."""
        below, above = self.inside
        return ndtr(self.a) * self.left + below + above + ndtr(-self.c) * self.right

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """`σ ∂G/∂μ` and `σ ∂G/∂σ`: k times the integrals of φ and zφ, from below u minus from above u."""
        below, above = self.inside
        first_below = self.k * below + _normal(self.a) * self.left - _normal(self.u)
        first_above = self.k * above + _normal(self.c) * self.right - _normal(self.u)
        return self.k * (below - above), self.k * (first_below + first_above)

    @cached_property
    def inside(self) -> tuple[FloatArray, FloatArray]:
        """J below u and J above u."""
        below = _tilted(self.u, self.k) - self.left * _tilted(self.a, self.k)
        above = _tilted(-self.u, self.k) - self.right * _tilted(-self.c, self.k)
        return np.maximum(below, 0.0), np.maximum(above, 0.0)


def _normal(z: FloatArray) -> FloatArray:
    return np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def _tilted(x: FloatArray, k: FloatArray) -> FloatArray:
    """H(x); where erfcx would overflow, the integral over the whole line minus that above x."""
    gap = k - x
    tail = 0.5 * np.exp(-0.5 * x**2) * _scaled_tail(np.abs(gap) / np.sqrt(2.0))
    far = gap < 0.0
    if not far.any():
        return tail
    return np.where(far, np.exp(np.minimum(k * (0.5 * k - x), 0.0)) - tail, tail)


_MIDDLE = 3.75
_POLYNOMIAL_FROM = 1_000
"""The number of values at which evaluating the polynomial takes as long as SciPy's function."""


def _coefficients(degree: int) -> list[float]:
    """The coefficients of `(1 + 2x) erfcx(x)` in powers of `(x - _MIDDLE) / (x + _MIDDLE)`, highest first."""
    t = chebyshev.chebpts1(degree + 1)
    x = _MIDDLE * (1.0 + t) / (1.0 - t)
    powers = chebyshev.cheb2poly(chebyshev.chebfit(t, (1.0 + 2.0 * x) * erfcx(x), degree))
    return [float(c) for c in powers[::-1]]


_HIGHEST_COEFFICIENT, *_LOWER_COEFFICIENTS = _coefficients(20)


def _scaled_tail(x: FloatArray) -> FloatArray:
    """erfcx for x ≥ 0; for many values by the approximation of Shepherd & Laframboise 1981, to a relative 4e-15.

    SciPy's function takes twice as long.
    """
    if x.size <= _POLYNOMIAL_FROM:
        return np.asarray(erfcx(x))
    t = (x - _MIDDLE) / (x + _MIDDLE)
    value = np.full_like(t, _HIGHEST_COEFFICIENT)
    for coefficient in _LOWER_COEFFICIENTS:
        value *= t
        value += coefficient
    return value / (1.0 + 2.0 * x)
