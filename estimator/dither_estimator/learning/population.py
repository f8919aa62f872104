"""Draws of a population's distribution, in the values' own units: under particles of a family, or without one."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dither_client import Transform
from dither_estimator.checks.competing_families import Comparison
from dither_estimator.families import Family, FloatArray
from dither_estimator.families.mixture import mixture_quantiles
from dither_estimator.nonparametric.distribution import Distribution, Draws
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["DistributionPopulation", "FamilyPopulation", "Population"]

_MAX_DRAWS = 1_000
"""The most draws from which the population is described; more would not change what is read."""
_TYPICAL_DRAWS = 64
"""The draws that say where the points of a distribution lie."""
_SURE = [0.05, 0.95]
_NEARLY_ALL, _MOST_STEPS = np.array([0.0005, 0.9995]), 100
"""Between these quantiles the distribution function has a step at each rounded value, if these are so few."""
_MOST_WHOLE = 256
"""Whole numbers that differ by more, such as incomes, are told of as if people could have all numbers between."""
_FEW_PEOPLE, _KNOWN = 0.01, 3.0
"""The share at a bound that is no atom is reported if its 5% quantile is above the first of these, and its 95% quantile
below the second times that. Under the prior the ratio of the two is above 10,000.
"""


class Population(Protocol):
    """Equally likely draws of a population's distribution."""

    @property
    def discrete(self) -> bool:
        """Whether values are integers, each of which is told of."""

    @property
    def yes_or_no(self) -> bool:
        """Whether values are 0 or 1, however few have one of them."""

    def cdf(self, x: FloatArray) -> Draws:
        """The share of the population at or below each of `x` (k,)."""

    def quantile(self, levels: FloatArray) -> Draws:
        """The least value at or below which a share of `levels` (k,) lies; infinite where a float cannot hold it."""

    def density(self, x: FloatArray) -> Draws:
        """The density at each of `x` (k,), atoms excepted; of integers, the probability of each."""

    def points(self, levels: FloatArray) -> FloatArray:
        """The approximate quantiles of the population at `levels` (k,)."""

    def mean_quantiles(self, levels: FloatArray) -> FloatArray:
        """The quantiles of the mean distribution at many increasing `levels` (k,); those between about."""

    @property
    def mean_value(self) -> Draws | None:
        """The population's mean; None where it does not exist."""

    @property
    def steps(self) -> tuple[float, ...]:
        """The points that people may have exactly, where the distribution function may jump, increasing."""

    @property
    def atoms(self) -> tuple[float, ...]:
        """The declared points that many people have exactly."""

    @property
    def atom_shares(self) -> Draws:
        """The share of the population at each of the atoms."""

    @property
    def comparison(self) -> Comparison | None:
        """How well families describe the answers, where no family was named; None if none are compared."""


@dataclass(frozen=True)
class FamilyPopulation:
    """The population under particles of a family, which holds on the scale `transform`."""

    family: Family
    transform: Transform
    theta: FloatArray
    """Equally likely parameters, shape (n, d)."""

    @classmethod
    def of(
        cls, family: Family, transform: Transform, theta: FloatArray, weights: FloatArray, draws: int = _MAX_DRAWS
    ) -> "FamilyPopulation":
        """The population that weighted particles describe, from a systematic sample of at most `draws` of them."""
        size = min(draws, len(weights))
        return cls(family, transform, theta[systematic_sample(weights, size)])

    @property
    def draw_count(self) -> int:
        """The number of draws."""
        return len(self.theta)

    def at(self, rows: npt.NDArray[np.intp]) -> "FamilyPopulation":
        """The draws in these rows."""
        return replace(self, theta=self.theta[rows])

    @property
    def discrete(self) -> bool:
        return self.family.discrete

    @property
    def yes_or_no(self) -> bool:
        return self.family.values == "yes-no"

    def cdf(self, x: FloatArray) -> Draws:
        if self.transform == "log":
            with np.errstate(divide="ignore"):
                x = np.log(np.maximum(x, 0.0))
        return Draws(self.family.cdf(self.theta, x))

    def quantile(self, levels: FloatArray) -> Draws:
        found = self.family.quantiles(self.theta, levels)
        if self.transform == "log":
            with np.errstate(over="ignore"):
                found = np.exp(found)
        return Draws(found)

    def density(self, x: FloatArray) -> Draws:
        if self.discrete:
            return Draws(self.cdf(x).values - self.cdf(x - 1).values)
        middles = (x[1:] + x[:-1]) / 2
        edges = np.concatenate([[2 * x[0] - middles[0]], middles, [2 * x[-1] - middles[-1]]])
        return Draws(np.diff(self.cdf(edges).values, axis=1) / np.diff(edges))

    def points(self, levels: FloatArray) -> FloatArray:
        """So far from the middle that three quarters of the draws have theirs nearer to it."""
        each = self.quantile(levels).values
        low, middle, high = np.quantile(each, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
        return np.select([levels < 0.5, levels > 0.5], [low, high], middle)

    def mean_quantiles(self, levels: FloatArray) -> FloatArray:
        """Posterior mean quantiles: exact at the outermost levels, and from some draws at the levels between."""
        ends = mixture_quantiles(self.family, self.theta, levels[[0, -1]])
        each = self.family.quantiles(self._few, levels)
        middles = (levels[1:] + levels[:-1]) / 2
        masses = np.broadcast_to(np.diff(middles, prepend=0.0, append=1.0) / len(each), each.shape).ravel()
        order = np.argsort(each, axis=None)
        below = np.cumsum(masses[order]) - masses[order] / 2
        found = np.interp(levels, below, each.ravel()[order]).clip(*ends)
        found[[0, -1]] = ends
        if self.transform == "log":
            with np.errstate(over="ignore"):
                found = np.exp(found)
        return np.asarray(found)

    @property
    def _few(self) -> FloatArray:
        return self.theta[:: -(-len(self.theta) // _TYPICAL_DRAWS)]

    @property
    def mean_value(self) -> Draws | None:
        with np.errstate(over="ignore"):
            found = self.family.mean(self.theta, self.transform)
        return Draws(found) if np.isfinite(found).all() else None

    @property
    def steps(self) -> tuple[float, ...]:
        return ()

    @property
    def atoms(self) -> tuple[float, ...]:
        return ()

    @property
    def atom_shares(self) -> Draws:
        return Draws(np.empty((len(self.theta), 0)))

    @property
    def comparison(self) -> None:
        return None


@dataclass(frozen=True)
class DistributionPopulation:
    """The population whose distribution has no family."""

    distribution: Distribution
    comparison: Comparison | None = None
    """How well families describe the same answers."""

    @property
    def draw_count(self) -> int:
        """The number of draws."""
        return self.distribution.draw_count

    def at(self, rows: npt.NDArray[np.intp]) -> "DistributionPopulation":
        """The draws in these rows."""
        return replace(self, distribution=replace(self.distribution, masses=self.distribution.masses[rows]))

    @cached_property
    def discrete(self) -> bool:
        if self.distribution.support.decimals != 0:
            return False
        low, high = self.mean_quantiles(_NEARLY_ALL).tolist()
        return bool(high - low <= _MOST_WHOLE)

    @property
    def yes_or_no(self) -> bool:
        return False

    def cdf(self, x: FloatArray) -> Draws:
        return self.distribution.cdf(x)

    def quantile(self, levels: FloatArray) -> Draws:
        return self.distribution.quantile(levels)

    def density(self, x: FloatArray) -> Draws:
        if self.discrete:
            return Draws(self.cdf(x).values - self.cdf(x - 1).values)
        return self.distribution.density(x)

    def points(self, levels: FloatArray) -> FloatArray:
        return self.mean_quantiles(levels)

    def mean_quantiles(self, levels: FloatArray) -> FloatArray:
        return np.asarray(self.distribution.mean.quantile(levels).values[0])

    @property
    def mean_value(self) -> Draws | None:
        """The mean of the values, without the tails that `Distribution.mean_value` trims."""
        return self.distribution.mean_value

    @property
    def steps(self) -> tuple[float, ...]:
        """The atoms, declared or found, all bounds, and each value where these are rounded and few differ much."""
        support = self.distribution.support
        if support.decimals is None:
            return support.points
        low, high = self.mean_quantiles(_NEARLY_ALL).tolist()
        return tuple(np.union1d(support.points, support.values_between(low, high, _MOST_STEPS)).tolist())

    @property
    def atoms(self) -> tuple[float, ...]:
        """The atoms, declared or found, and the bounds that answers show some people to have exactly.

        On a scale, each of whose values is told of, those that were declared or found alone.
        """
        return tuple(np.array(self.distribution.support.points)[self._shown].tolist())

    @property
    def atom_shares(self) -> Draws:
        return Draws(self.distribution.atom_shares.values[:, self._shown])

    @cached_property
    def _shown(self) -> npt.NDArray[np.bool_]:
        support, shares = self.distribution.support, self.distribution.atom_shares.values
        least, most = np.quantile(shares, _SURE, axis=0)
        at_bounds = (least > _FEW_PEOPLE) & (most < _KNOWN * least) & (not support.is_scale)
        return np.isin(support.points, support.atoms) | at_bounds
