"""The posterior of a population's distribution, and what it says about the population."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import Base
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.support import Support

__all__ = ["Distribution", "Draws"]

_CUMULATIVE_MARGIN = 1e-12
_TRIMMED = 1e-4
"""Means count the values beyond the base's quantiles at this level and its counterpart as these quantiles."""
_MIDDLE = np.array([0.16, 0.84])
"""The levels of a middle that is two sds wide in a normal distribution."""
_JUDGED, _MOST_MOVED = np.array([0.05, 0.5, 0.95]), np.array([1.0, 0.5, 1.0])
"""How far the outermost people may move these quantiles of a mean, in sds."""
_POINTS_PER_BIN = 16


@dataclass(frozen=True)
class Draws:
    """Equally likely draws of one or several numbers, shape (n, …)."""

    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The posterior mean."""
        return self.values.mean(axis=0)

    @property
    def sd(self) -> FloatArray:
        """The posterior standard deviation."""
        return self.values.std(axis=0)

    def interval(self, probability: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The ends of the central interval of this posterior probability."""
        outside = (1 - probability) / 2
        low, high = np.quantile(self.values, [outside, 1 - outside], axis=0)
        return low, high


@dataclass(frozen=True)
class Distribution:
    """Draws of a distribution of values: the masses of bins that are equally likely under a base, and of atoms."""

    support: Support
    base: Base
    """The base of the coordinates of values that are no points of the support."""
    masses: FloatArray
    """Shape (n, `BINS` + atoms); each draw sums to 1."""

    @property
    def draw_count(self) -> int:
        """The number of draws."""
        return len(self.masses)

    @property
    def atom_shares(self) -> Draws:
        """The share of the population at each atom, shape (n, atoms)."""
        if self.support.decimals is None:
            return Draws(self.masses[:, BINS:])
        points = np.array(self.support.points)
        return Draws(self.cdf(points).values - self.cdf(np.nextafter(points, -np.inf)).values)

    @property
    def mean_value(self) -> Draws | None:
        """The population's mean, shape (n,); None where it rests on the outermost thousandths of the people.

        Tails can be so heavy that the mean is infinite, and answers say nothing about the outermost few. So values
        beyond the base's quantiles at the levels 0.0001 and 0.9999 count as these quantiles, and there is no mean if
        ten times as many at either end would move its posterior median by more than half of the posterior sd, or the
        ends of its 90% interval by more than that sd, or if more likely than not all but a thousandth of the people
        lie on one side of it. The sd is that of a normal distribution with as wide a middle: a few draws may be huge.
        """
        found = self._trimmed_mean(_TRIMMED, _TRIMMED)
        ends = [self._trimmed_mean(10 * _TRIMMED, _TRIMMED), self._trimmed_mean(_TRIMMED, 10 * _TRIMMED)]
        low, high = np.quantile(found.values, _MIDDLE)
        moved = [np.abs(np.quantile(found.values, _JUDGED) - np.quantile(end.values, _JUDGED)) for end in ends]
        if np.any(np.array(moved) > (high - low) / 2 * _MOST_MOVED):
            return None
        low, high = self.quantile(np.array([10 * _TRIMMED, 1 - 10 * _TRIMMED])).values.T
        return found if np.mean((low <= found.values) & (found.values <= high)) >= 0.5 else None

    def _trimmed_mean(self, below: float, above: float) -> Draws:
        offsets = (np.arange(_POINTS_PER_BIN) + 0.5) / _POINTS_PER_BIN
        levels = ((np.arange(BINS)[:, np.newaxis] + offsets) / BINS).clip(below, 1 - above)
        within = self.support.value(self.base.quantile(levels)).mean(axis=1)
        return Draws(self.masses @ np.concatenate([within, self.support.points]))

    def cdf(self, x: FloatArray) -> Draws:
        """The share of the population at or below each of `x` (k,)."""
        return Draws(self.masses @ self.parts_below(x).T)

    def parts_below(self, x: FloatArray) -> FloatArray:
        """The part of each bin's and atom's mass that is at or below each of `x` (k,), shape (k, masses)."""
        values = np.asarray(x, dtype=float)
        places = self.base.cdf(self.support.coordinate(values)) * BINS
        of_bins = np.clip(places[:, np.newaxis] - np.arange(BINS), 0.0, 1.0)
        return np.concatenate([of_bins, values[:, np.newaxis] >= np.array(self.support.points)], axis=1)

    def share_above(self, x: FloatArray) -> Draws:
        """The share of the population above each of `x` (k,)."""
        return Draws(1 - self.cdf(x).values)

    def quantile(self, levels: FloatArray) -> Draws:
        """The smallest values with at least the shares `levels` (k,) at or below, strictly between 0 and 1."""
        levels = np.asarray(levels, dtype=float)
        atoms, shares = np.array(self.support.points), self.masses[:, BINS:]
        upto = self.cdf(atoms).values
        left = np.broadcast_to(levels, (len(self.masses), len(levels)))
        passed = upto[:, np.newaxis, :] < levels[:, np.newaxis]
        left = left - (passed * shares[:, np.newaxis, :]).sum(axis=2)
        grid = np.arange(BINS + 1) / BINS
        places = np.array([np.interp(row, below, grid) for row, below in zip(left, self._below, strict=True)])
        values = self.support.value(self.base.quantile(places.clip(_CUMULATIVE_MARGIN, 1 - _CUMULATIVE_MARGIN)))
        for atom, share, reached in zip(atoms, shares.T, upto.T, strict=True):
            at_atom = (levels <= reached[:, np.newaxis]) & (levels > (reached - share)[:, np.newaxis])
            values = np.where(at_atom, atom, values)
        return Draws(values)

    def density(self, x: FloatArray) -> Draws:
        """The density of the values that are no atoms, as a share of the population, at each of `x` (k,).

        That of the numbers of which they are the rounded ones, where values have only so many decimals.
        """
        y = self.support.smooth_coordinate(x)
        places = self.base.cdf(y) * BINS - 0.5
        left = np.floor(places).astype(int)
        part = places - left
        lower, upper = left.clip(0, BINS - 1), (left + 1).clip(0, BINS - 1)
        relative = BINS * (self.masses[:, lower] * (1 - part) + self.masses[:, upper] * part)
        return Draws(relative * self.base.density(y) * self.support.slope(x))

    @property
    def mean(self) -> "Distribution":
        """The posterior mean of the distribution, as a single draw."""
        return Distribution(self.support, self.base, self.masses.mean(axis=0, keepdims=True))

    @property
    def _below(self) -> FloatArray:
        """The mass of bins below each bin's edges, shape (n, bins + 1)."""
        return np.concatenate([np.zeros((len(self.masses), 1)), np.cumsum(self.masses[:, :BINS], axis=1)], axis=1)
