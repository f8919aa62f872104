"""A population of public groups, each with its share of the people: poststratification, draw by draw.

No number of the whole follows from the groups' numbers alone, so each is computed from every draw of all the groups'
distributions together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from dither_estimator.families import FloatArray
from dither_estimator.learning.deferred import DeferredProperty
from dither_estimator.learning.description import CategoryShares
from dither_estimator.learning.population import Population
from dither_estimator.nonparametric.distribution import Draws

__all__ = ["StratifiedPopulation", "stratified"]

_GRID = 513
"""The points at which the distribution function is computed to invert it, linear between them: off by some 1e-5."""
_MANY_PARTS, _GRID_OF_MANY = 100, 129
"""With more parts, fewer points: off by some 1e-4 too, which is less than such a population is ever known to."""
_OUTERMOST = 4.0
"""The normal score of the outermost of these points."""
_MAX_INTEGERS = 4_096
"""The most integers that are all points; of more, only some are."""
_CLOUD_LEVELS = ndtr(np.array([-4.5, -3.0, -1.5, -0.5, 0.5, 1.5, 3.0, 4.5]))


@dataclass(frozen=True)
class StratifiedPopulation:
    """The mixture of the groups' populations; equally numbered draws of the parts belong together."""

    parts: Sequence[Population] = field(repr=False)
    weights: FloatArray
    """The share of the people in each part, which sum to 1; shape (parts,)."""

    @property
    def discrete(self) -> bool:
        return any(part.discrete for part in self.parts)

    @property
    def yes_or_no(self) -> bool:
        return self.parts[0].yes_or_no

    def cdf(self, x: FloatArray) -> Draws:
        return self._mixed([part.cdf(x).values for part in self.parts])

    def quantile(self, levels: FloatArray) -> Draws:
        x, heights = self._values, self._heights
        if self.discrete:
            places = np.array([np.searchsorted(row, levels) for row in heights])
            return Draws(x[places.clip(max=len(x) - 1)])
        return Draws(np.array([np.interp(levels, row, x) for row in heights]))

    def density(self, x: FloatArray) -> Draws:
        if self.discrete:
            return Draws(self.cdf(x).values - self.cdf(x - 1).values)
        return self._mixed([part.density(x).values for part in self.parts])

    def points(self, levels: FloatArray) -> FloatArray:
        return self.mean_quantiles(levels)

    def mean_quantiles(self, levels: FloatArray) -> FloatArray:
        mean = self._heights.mean(axis=0)
        if self.discrete:
            return np.asarray(self._values[np.searchsorted(mean, levels).clip(max=len(mean) - 1)])
        return np.asarray(np.interp(levels, mean, self._values))

    @property
    def mean_value(self) -> Draws | None:
        means = [part.mean_value for part in self.parts]
        known = [each.values for each in means if each is not None]
        return self._mixed(known) if len(known) == len(means) else None

    @DeferredProperty
    def steps(self) -> tuple[float, ...]:
        """The steps of all parts."""
        return tuple(sorted({step for part in self.parts for step in part.steps}))

    @DeferredProperty
    def atoms(self) -> tuple[float, ...]:
        """The atoms of all parts."""
        return tuple(sorted({atom for part in self.parts for atom in part.atoms}))

    @property
    def atom_shares(self) -> Draws:
        atoms = np.array(self.atoms)
        return Draws(self.cdf(atoms).values - self.cdf(np.nextafter(atoms, -np.inf)).values)

    @property
    def comparison(self) -> None:
        return None

    def _mixed(self, values: Sequence[FloatArray]) -> Draws:
        total = np.zeros_like(values[0])
        for weight, each in zip(self.weights, values, strict=True):
            total += weight * each
        return Draws(total)

    @DeferredProperty
    def _grid(self) -> FloatArray:
        """Increasing points from end to end of what the draws consider possible, denser where more people are."""
        clouds = [part.quantile(_CLOUD_LEVELS).values.ravel() for part in self.parts]
        cloud = np.concatenate(clouds)
        masses = np.repeat(self.weights, [each.size for each in clouds])[np.isfinite(cloud)]
        cloud = cloud[np.isfinite(cloud)]
        order = np.argsort(cloud)
        cloud, masses = cloud[order], masses[order]
        low, high = cloud[0], cloud[-1]
        if self.discrete and high - low <= _MAX_INTEGERS:
            return np.arange(low, high + 1)
        middles = (np.cumsum(masses) - masses / 2) / masses.sum()
        size = _GRID if len(self.parts) <= _MANY_PARTS else _GRID_OF_MANY
        inner = np.interp(ndtr(np.linspace(-_OUTERMOST, _OUTERMOST, size)), middles, cloud)
        if self.discrete:
            inner = np.rint(inner)
        steps = np.array(self.steps)
        return np.unique(np.concatenate([inner, [low, high], steps, np.nextafter(steps, -np.inf)]))

    @DeferredProperty
    def _values(self) -> FloatArray:
        """The grid as values of people: whoever is between a step and the number before it is at the step."""
        grid, steps = self._grid.copy(), np.array(self.steps)
        steps = steps[(grid[0] <= steps) & (steps <= grid[-1])]  # of whole numbers nobody may have the outermost
        before = np.nextafter(steps, -np.inf)
        grid[np.searchsorted(grid, before)] = steps
        return grid

    @DeferredProperty
    def _heights(self) -> FloatArray:
        """The distribution function of each draw at the grid, shape (draws, points)."""
        return np.maximum.accumulate(self.cdf(self._grid).values, axis=1)


def stratified(parts: Sequence[Population | CategoryShares], weights: FloatArray) -> Population | CategoryShares:
    """The whole population of groups with these shares (parts,), none of which is 0."""
    categories = [part for part in parts if isinstance(part, CategoryShares)]
    if categories:
        shares = sum(weight * part.shares for weight, part in zip(weights, categories, strict=True))
        return CategoryShares(categories[0].names, np.asarray(shares))
    return StratifiedPopulation([part for part in parts if not isinstance(part, CategoryShares)], weights)
