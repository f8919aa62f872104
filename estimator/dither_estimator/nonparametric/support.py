"""Where values can lie: the coordinate in which a distribution is smooth, and the points that many people have exactly.

A value equal to a cut lies below it (`Query.edges`). So the cell of a point a begins at the number before a, and ends
at a.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from dither_client import Transform
from dither_estimator.families import FloatArray

__all__ = ["ANYWHERE", "LARGEST", "Support"]

LARGEST = 1e300
"""Values and coordinates beyond this count as this, so that differences of two are finite."""
_AT_BOUND = -3.0
_SD, _LEAST_OWN = 2.0, 1.0
"""The prior sd of the logarithm of a point's mass, and of the least part of it that it does not share with others."""
_SHARING = 12.0
"""Atoms so many places apart share a part that is smaller by the factor e."""
_FARTHEST = 36.0
"""From this coordinate on a value below the larger of two bounds is, in floating point, that bound."""
_SMALLEST = float(np.finfo(float).smallest_subnormal)


@dataclass(frozen=True)
class Support:
    """Where values can lie. Raises `ValueError`.

    The coordinate y maps the values between minimum and maximum onto the real line: the value x itself without bounds,
    `log(x - minimum)`, `-log(maximum - x)`, or `log((x - minimum) / (maximum - x))`.
    """

    minimum: float | None = None
    """None: unbounded."""
    maximum: float | None = None
    atoms: tuple[float, ...] = ()
    """Points that many people are known to have exactly, increasing."""

    def __post_init__(self) -> None:
        numbers = [*self.atoms, *(bound for bound in (self.minimum, self.maximum) if bound is not None)]
        if not all(abs(number) <= LARGEST for number in numbers):
            raise ValueError("bounds and atoms must be finite numbers, not too large")
        if not self._lowest < self._highest:
            raise ValueError("the minimum must be below the maximum")
        if any(low >= high for low, high in pairwise(self.atoms)):
            raise ValueError("atoms must increase strictly")
        if not all(self._lowest <= atom <= self._highest for atom in self.atoms):
            raise ValueError("atoms must lie between minimum and maximum")

    @cached_property
    def points(self) -> tuple[float, ...]:
        """All points that people may have exactly, increasing: the atoms and the bounds.

        Nobody says of spendings from 0 on that many are 0, but then it has to be found out: on the scale of logarithms
        the distribution would have no lower end.
        """
        bounds = (bound for bound in (self.minimum, self.maximum) if bound is not None)
        return tuple(sorted({*self.atoms, *bounds}))

    @cached_property
    def farthest(self) -> float:
        """No value that can be told from a bound has a larger coordinate, up to its sign; infinite but between two."""
        return math.inf if self.minimum is None or self.maximum is None else _FARTHEST

    @cached_property
    def log_odds(self) -> FloatArray:
        """The prior mean of the logarithm of each point's mass, relative to that of all values that are no points.

        All atoms together are as likely as the rest; at a bound that is no atom there are hardly any people.
        """
        of_atom = -math.log(max(len(self.atoms), 1))
        return np.array([of_atom if point in self.atoms else _AT_BOUND for point in self.points])

    @cached_property
    def log_odds_root(self) -> FloatArray:
        """The lower triangular root of the prior covariance of these logarithms, shape (points, points).

        Three atoms or more are alike to some degree, most of all neighbours: if many people have 30 and 50 exactly,
        and such a number is 40, many have it, too. The more are named, the likelier they are of one kind. Without
        this, so many shares of which answers tell little would be known too well, and too small.
        """
        count = max(len(self.atoms), 2)
        shared = (_SD**2 - _LEAST_OWN**2) * (count - 2) / (count - 1)
        places = np.arange(len(self.points))
        alike = np.isin(self.points, self.atoms)
        nearness = np.exp(-np.abs(places[:, np.newaxis] - places) / _SHARING) * np.outer(alike, alike)
        covariance = shared * nearness + np.diag(_SD**2 - shared * alike)
        return np.linalg.cholesky(covariance)

    def coordinate(self, x: FloatArray) -> FloatArray:
        """The coordinates of values of any shape; those of values at the bounds and beyond them are infinite.

        So is that of the last number before the maximum: who is not at or below it has the maximum itself.
        """
        values = np.asarray(x, dtype=float).clip(-LARGEST, LARGEST)
        if self.minimum is None and self.maximum is None:
            return values
        above, below = np.zeros(values.shape), np.zeros(values.shape)
        if self.minimum is not None:
            above = _log(values - self.minimum)
        if self.maximum is not None:
            below = _log(self.maximum - values)
        highest = math.nextafter(self._highest, -math.inf)  # between it and the maximum there are no values
        outside = (values <= self._lowest) | (values >= highest)
        ends = np.where(values <= self._lowest, -np.inf, np.inf)
        return np.where(outside, ends, np.where(outside, 0.0, above) - np.where(outside, 0.0, below))

    def value(self, y: FloatArray) -> FloatArray:
        """The values at coordinates of any shape, rounded; as a float one may be equal to a bound."""
        places = np.asarray(y, dtype=float)
        largest = math.log(LARGEST)
        if self.minimum is None and self.maximum is None:
            return places.clip(-LARGEST, LARGEST)
        if self.maximum is None:
            return np.minimum(self._lowest + np.exp(places.clip(-800, largest)), LARGEST)
        if self.minimum is None:
            return np.maximum(self._highest - np.exp((-places).clip(-800, largest)), -LARGEST)
        width = self.maximum - self.minimum
        share = 1 / (1 + np.exp(np.abs(places).clip(0, 700)))  # from the nearer bound, which loses no digits
        return np.where(places < 0, self.minimum + width * share, self.maximum - width * share)

    def slope(self, x: FloatArray) -> FloatArray:
        """The derivative of the coordinate at values of any shape; 0 at the bounds and beyond them."""
        values = np.asarray(x, dtype=float).clip(-LARGEST, LARGEST)
        if self.minimum is None and self.maximum is None:
            return np.ones(values.shape)
        slope = np.zeros(values.shape)
        if self.minimum is not None:
            slope += 1 / np.maximum(values - self.minimum, 1 / LARGEST)
        if self.maximum is not None:
            slope += 1 / np.maximum(self.maximum - values, 1 / LARGEST)
        return np.where((values > self._lowest) & (values < self._highest), slope, 0.0)

    def around(self, atom: float) -> tuple[float, ...]:
        """The cuts that separate an atom from all other values: one at a bound, else two."""
        before = math.nextafter(atom, -math.inf)
        return (*((before,) if atom > self._lowest else ()), *((atom,) if atom < self._highest else ()))

    def beside(self, numbers: Collection[float]) -> "Support":
        """The same support with these numbers as atoms, too."""
        return replace(self, atoms=tuple(sorted({*self.atoms, *numbers})))

    def bounds(self, transform: Transform) -> tuple[float, float]:
        """Minimum and maximum on the transformed scale; infinite where there is none, or it has no logarithm."""
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if transform == "identity":
            return low, high
        return math.log(low) if low > 0 else -math.inf, math.log(high) if 0 < high < math.inf else math.inf

    def inside(self, x: FloatArray) -> FloatArray:
        """The nearest values strictly between the bounds."""
        return x.clip(math.nextafter(self._lowest, math.inf), math.nextafter(self._highest, -math.inf))

    @property
    def _lowest(self) -> float:
        return -LARGEST if self.minimum is None else self.minimum

    @property
    def _highest(self) -> float:
        return LARGEST if self.maximum is None else self.maximum


ANYWHERE = Support()
"""The real line."""


def _log(distances: FloatArray) -> FloatArray:
    return np.log(np.maximum(distances, _SMALLEST))
