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
from dither_estimator.nonparametric.rounding import halfway, rounded, unit_of

__all__ = ["ANYWHERE", "LARGEST", "Support"]

LARGEST = 1e300
"""Values and coordinates beyond this count as this, so that differences of two are finite."""
_AT_BOUND, _AT_BOUND_SD = -6.0, 3.0
"""The prior mean and sd of the logarithm of the mass of a bound that is no atom: hardly anybody, or many.

A bound may be far from all people. Were a few of a hundred expected there, these would make most of a mean, since
answers can hardly tell that nobody is.
"""
_SD, _LEAST_OWN = 2.0, 1.0
"""The prior sd of the logarithm of an atom's mass, and of the least part of it that it does not share with others."""
_SHARING = 12.0
"""Atoms so many places apart share a part that is smaller by the factor e."""
_FARTHEST = 36.0
"""From this coordinate on a value below the larger of two bounds is, in floating point, that bound."""
_UNIT_IN_SCALES = 6.0
"""So many scales in a unit of rounded values are the most."""
_MOST_ON_SCALE = 101
"""A scale from 0 to 100 has so many values."""
_SMALLEST = float(np.finfo(float).smallest_subnormal)


@dataclass(frozen=True)
class Support:
    """Where values can lie. Raises `ValueError`.

    The coordinate y maps the values between minimum and maximum onto the real line: the value x itself without bounds,
    `log(x - minimum)`, `-log(maximum - x)`, or `log((x - minimum) / (maximum - x))`.

    Where values have only so many decimals, it is that of a number which is smoothly distributed, and of which the
    value is the rounded one. Then bounds are half a unit further apart.
    """

    minimum: float | None = None
    """None: unbounded."""
    maximum: float | None = None
    atoms: tuple[float, ...] = ()
    """Points that many people are known to have exactly, increasing."""
    decimals: int | None = None
    """How many decimals values have; None where they may have any."""

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
        """The largest absolute coordinate of a value that differs from a bound; infinite without two bounds."""
        return math.inf if self.minimum is None or self.maximum is None else _FARTHEST

    @cached_property
    def value_count(self) -> float:
        """How many values people can have; infinite where that is not limited."""
        if self.minimum is None or self.maximum is None or self.decimals is None:
            return math.inf
        start, end = self.ends
        return float(round((end - start) / unit_of(self.decimals)))

    @property
    def is_scale(self) -> bool:
        """Whether values are a few whole numbers, as ratings from 1 to 5 are."""
        return self.decimals == 0 and self.value_count <= _MOST_ON_SCALE

    def least_log_scale(self, y: float) -> float:
        """The logarithm of a scale that answers can tell from smaller ones, around a coordinate.

        Where values are rounded, a few lie in another unit than most if the scale is a sixth of a unit.
        """
        if self.decimals is None:
            return -math.inf
        slope = float(self.slope(self.smooth_value(np.array([y])))[0])
        return math.log(max(slope * unit_of(self.decimals) / _UNIT_IN_SCALES, _SMALLEST))

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
        covariance = shared * nearness + np.diag(np.where(alike, _SD**2 - shared, _AT_BOUND_SD**2))
        return np.linalg.cholesky(covariance)

    def coordinate(self, x: FloatArray) -> FloatArray:
        """The coordinates of values of any shape: of two people, the one with the larger value has the larger one.

        At or below the coordinate of x lie those whose value is at most x. Those of bounds and beyond are infinite, and
        so is that of the last number before the maximum: who is not at or below it has the maximum itself.
        """
        return self.smooth_coordinate(self.smooth(x))

    def smooth(self, x: FloatArray) -> FloatArray:
        """The largest numbers that are rounded to values of at most x, of any shape: x itself without rounding."""
        values = np.asarray(x, dtype=float).clip(-LARGEST, LARGEST)
        return values if self.decimals is None else halfway(values, self.decimals)

    def smooth_coordinate(self, x: FloatArray) -> FloatArray:
        """The coordinates of numbers of any shape that are not rounded."""
        values = np.asarray(x, dtype=float).clip(-LARGEST, LARGEST)
        if self.minimum is None and self.maximum is None:
            return values
        start, end = self.ends
        above, below = np.zeros(values.shape), np.zeros(values.shape)
        if self.minimum is not None:
            above = _log(values - start)
        if self.maximum is not None:
            below = _log(end - values)
        highest = math.nextafter(end, -math.inf)  # between it and the maximum there are no values
        outside = (values <= start) | (values >= highest)
        ends = np.where(values <= start, -np.inf, np.inf)
        return np.where(outside, ends, np.where(outside, 0.0, above) - np.where(outside, 0.0, below))

    def value(self, y: FloatArray) -> FloatArray:
        """The values at coordinates of any shape, rounded; as a float one may be equal to a bound."""
        return self.rounded(self.smooth_value(y))

    def rounded(self, x: FloatArray) -> FloatArray:
        """The nearest values to numbers of any shape: the numbers themselves without rounding."""
        return x if self.decimals is None else rounded(x, self.decimals).clip(self._lowest, self._highest)

    def values_between(self, low: float, high: float, most: int) -> FloatArray:
        """All values from one to another, (k,); none if there are more than `most`, or values are not rounded."""
        if self.decimals is None or not high - low < most * unit_of(self.decimals):
            return np.empty(0)
        number = round((high - low) / unit_of(self.decimals))
        return rounded(np.linspace(low, low + number * unit_of(self.decimals), number + 1), self.decimals)

    def smooth_value(self, y: FloatArray) -> FloatArray:
        """The numbers at coordinates of any shape, of which values are the rounded ones."""
        places = np.asarray(y, dtype=float)
        largest = math.log(LARGEST)
        if self.minimum is None and self.maximum is None:
            return places.clip(-LARGEST, LARGEST)
        start, end = self.ends
        if self.maximum is None:
            return np.minimum(start + np.exp(places.clip(-800, largest)), LARGEST)
        if self.minimum is None:
            return np.maximum(end - np.exp((-places).clip(-800, largest)), -LARGEST)
        width = end - start
        share = 1 / (1 + np.exp(np.abs(places).clip(0, 700)))  # from the nearer bound, which loses no digits
        return np.where(places < 0, start + width * share, end - width * share)

    def slope(self, x: FloatArray) -> FloatArray:
        """The derivative of `smooth_coordinate` at numbers of any shape; 0 at the bounds and beyond them."""
        values = np.asarray(x, dtype=float).clip(-LARGEST, LARGEST)
        if self.minimum is None and self.maximum is None:
            return np.ones(values.shape)
        start, end = self.ends
        slope = np.zeros(values.shape)
        if self.minimum is not None:
            slope += 1 / np.maximum(values - start, 1 / LARGEST)
        if self.maximum is not None:
            slope += 1 / np.maximum(end - values, 1 / LARGEST)
        return np.where((values > start) & (values < end), slope, 0.0)

    def around(self, atom: float) -> tuple[float, ...]:
        """The cuts that separate an atom from all other values: one at a bound, else two."""
        before, upto = self.next_cut(atom, -math.inf), float(self.smooth(np.array([atom]))[0])
        return (*((before,) if atom > self._lowest else ()), *((upto,) if atom < self._highest else ()))

    def next_cut(self, x: float, towards: float) -> float:
        """The cut that comes after a cut or a value, up or down, whichever is `towards`."""
        number = math.nextafter(x, towards)
        if self.decimals is None:
            return number
        upwards = towards > x
        cut = float(halfway(np.array([x]), self.decimals, 1 if upwards else -1)[0])
        return max(cut, number) if upwards else min(cut, number)

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

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Between which numbers those lie of which values are the rounded ones."""
        if self.decimals is None:
            return self._lowest, self._highest
        before = math.nextafter(self._lowest, -math.inf)
        low, high = halfway(np.array([before, self._highest]), self.decimals).tolist()
        return low, high

    def inside(self, x: FloatArray) -> FloatArray:
        """The nearest cuts that tell some values from others, strictly between the bounds.

        Those between rounded values are halfway, so that whoever has more decimals counts as the nearest value.
        """
        if self.decimals is None:
            return x.clip(math.nextafter(self._lowest, math.inf), math.nextafter(self._highest, -math.inf))
        return self.smooth(x).clip(self.next_cut(self.ends[0], math.inf), self.next_cut(self.ends[1], -math.inf))

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
