"""Where a population may lie before any answer."""

import math
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.support import LARGEST, Support

__all__ = ["PlacePrior"]

_MANY = 5
"""So many numbers that many people have are no codes for what is missing, but round ones, among which others lie."""
_LEAST_WIDTH = 1e-250
"""Coordinates of atoms that are closer than this, or equal as their bound is far away, say nothing of the others."""


@dataclass(frozen=True)
class PlacePrior:
    """Student t with 2 degrees of freedom, of `asinh((location - centre) / unit)` and of log scale."""

    centre: float
    unit: float
    spread: float
    log_scale: float
    log_scale_spread: float
    farthest: float = math.inf
    """No location is farther from 0, and no scale more than a third of this."""

    @classmethod
    def of(cls, support: Support, around: tuple[float, float] | None) -> "PlacePrior":
        """Where most values lie, if that is not known: within ±1e5 without bounds, 1e-4 to 1e7 beyond one."""
        if around is not None:
            low, high = around
            margin = 0.01 * (high - low)  # a bound itself has no coordinate
            return cls._between(support, low + margin, high - margin, 1.0, 1.0)
        inner = [atom for atom in support.atoms if len(support.around(atom)) == 2]
        if len(inner) >= _MANY and np.ptp(support.smooth_coordinate(np.array(inner))) > _LEAST_WIDTH:
            return cls._between(support, inner[0], inner[-1], 2.5, 2.0)
        if support.minimum is None and support.maximum is None:
            return cls(0.0, 1.0, 5.0, 1.0, 4.0)
        if support.maximum is None:
            return cls(3.0, 1.0, 1.5, -0.5, 1.2)
        if support.minimum is None:
            return cls(-3.0, 1.0, 1.5, -0.5, 1.2)
        return cls(0.0, 1.0, 1.0, -0.3, 1.2, support.farthest)

    @classmethod
    def _between(
        cls, support: Support, low: float, high: float, spread: float, log_scale_spread: float
    ) -> "PlacePrior":
        """Where most values lie if many are between two, to begin with."""
        start, end = support.smooth_coordinate(np.array([low, high])).tolist()
        half = (end - start) / 2
        return cls(start + half, half / 2, spread, math.log(half / 2), log_scale_spread, support.farthest)

    def locations(self, places: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return (self.centre + self.unit * np.sinh(places.clip(-700.0, 700.0))).clip(-LARGEST, LARGEST)

    def places(self, locations: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.arcsinh(((locations - self.centre) / self.unit).clip(-LARGEST, LARGEST))

    def log_density(self, tiles: FloatArray) -> FloatArray:
        place, log_scale = tiles[:, :2].T
        standard = np.array([place / self.spread, (log_scale - self.log_scale) / self.log_scale_spread])
        return -1.5 * np.log1p(standard**2 / 2).sum(axis=0)
