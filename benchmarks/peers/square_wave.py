"""The square wave with expectation maximisation and smoothing, SW+EMS (Li et al., SIGMOD 2020), written from the paper.

A value in [0, 1] is reported as a number within `b` of it with a density that is exp(ε) times that of any other number
in [-b, 1 + b]. Shares of buckets of [0, 1] are fitted to the reports, which are counted in buckets of the same width.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from dither_estimator.families import FloatArray

__all__ = ["SquareWave", "fit_shares"]

_MOST_STEPS = 10_000


@dataclass(frozen=True)
class SquareWave:
    """The mechanism at ε, and its channel from buckets of values to buckets of reports."""

    epsilon: float
    buckets: int

    @property
    def half_width(self) -> float:
        """`b`, which is best for the mutual information of a uniform value and its report."""
        e = math.exp(self.epsilon)
        return (self.epsilon * e - e + 1) / (2 * e * (e - 1 - self.epsilon))

    @property
    def far(self) -> float:
        """The density of reports that are farther than `b` from the value."""
        return 1 / (2 * self.half_width * math.exp(self.epsilon) + 1)

    @property
    def near(self) -> float:
        """The density of reports within `b` of the value."""
        return math.exp(self.epsilon) * self.far

    def reports(self, rng: np.random.Generator, values: FloatArray) -> FloatArray:
        """A report of each value in [0, 1]."""
        b = self.half_width
        is_near = rng.random(values.shape) < 2 * b * self.near
        elsewhere = rng.random(values.shape)  # uniform on an interval of length 1, of which the gap is left out
        return np.where(
            is_near,
            values + rng.uniform(-b, b, values.shape),
            np.where(elsewhere < values, elsewhere - b, elsewhere + b),
        )

    def count(self, reports: FloatArray) -> FloatArray:
        """How many reports are in each bucket, for each run (row)."""
        places = np.floor(reports * self.buckets).astype(int) + self._margin
        places = places.clip(0, self.buckets + 2 * self._margin - 1)  # rounding at the very ends
        return np.array([np.bincount(row, minlength=self.buckets + 2 * self._margin) for row in places], dtype=float)

    def chances(self, shares: FloatArray) -> FloatArray:
        """The chances of the buckets of reports, for each row of shares, which are uniform within each bucket."""
        return (self.far * self._width + (self.near - self.far) * self._near(shares, forth=True)) / self.buckets

    def transposed(self, weights: FloatArray) -> FloatArray:
        """The sums over buckets of reports of weights times chances, for each bucket of values."""
        far = self.far * (weights @ self._width)[:, np.newaxis]
        return (far + (self.near - self.far) * self._near(weights, forth=False)) / self.buckets

    @property
    def _margin(self) -> int:
        """The number of buckets of reports on each side of [0, 1]."""
        return math.ceil(self.half_width * self.buckets)

    @property
    def _width(self) -> FloatArray:
        """How much of each bucket a report can be in."""
        width = np.ones(self.buckets + 2 * self._margin)
        width[[0, -1]] -= self._margin - self.half_width * self.buckets
        return width

    def _near(self, rows: FloatArray, *, forth: bool) -> FloatArray:
        """How much of each bucket of reports is near the values of each bucket, on average, times the rows; or back."""
        size = fft.next_fast_len(self.buckets + 4 * self._margin, real=True)
        apart, reach = np.arange(-self._margin - 1, self._margin + 2), self.half_width * self.buckets
        near = np.diff(((apart + reach).clip(0) ** 2 - (apart - reach).clip(0) ** 2) / 2, 2)
        moved = fft.rfft(near, size)
        product = fft.rfft(rows, size) * (moved if forth else moved.conj())
        return fft.irfft(product, size)[:, : self.buckets + 2 * self._margin * forth]


def fit_shares(wave: SquareWave, counts: FloatArray, gain: float) -> FloatArray:
    """Shares of the buckets for each row of counts of reports.

    Each step of expectation maximisation is followed by smoothing with (1, 2, 1) / 4, until the log likelihood changes
    by less than `gain`.
    """
    shares = np.full((len(counts), wave.buckets), 1 / wave.buckets)
    fits, going = np.full(len(counts), -np.inf), np.arange(len(counts))
    for _ in range(_MOST_STEPS):
        chances = wave.chances(shares[going])
        fit = (counts[going] * np.log(chances)).sum(axis=1)
        more = np.abs(fit - fits[going]) >= gain
        fits[going] = fit
        going, chances = going[more], chances[more]
        if not len(going):
            break
        shares[going] = _smoothed(shares[going] * wave.transposed(counts[going] / chances))
    return shares


def _smoothed(masses: FloatArray) -> FloatArray:
    """Probabilities from masses that are averaged with their neighbours; at the ends the weights are (2, 1) / 3."""
    total, weights = 2 * masses, np.full(masses.shape[1], 4.0)
    total[:, 1:] += masses[:, :-1]
    total[:, :-1] += masses[:, 1:]
    weights[[0, -1]] = 3.0
    smooth = total / weights
    return smooth / smooth.sum(axis=1, keepdims=True)
