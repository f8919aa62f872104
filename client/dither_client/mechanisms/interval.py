"""What the mechanisms on a lattice share: an interval cut by equally spaced points, and integer noise between clips."""

import math
import struct
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.query import MAX_CELLS, Query, Schema, Transform, check_coordinate, check_transform
from dither_client.mechanisms.sampling import RandBelow, system_randbelow

__all__ = ["INTERVAL", "IntervalQuery", "check_levels"]

INTERVAL: Mapping[str, Schema] = MappingProxyType(
    {
        "low": {"type": "number", "description": "On the transformed scale."},
        "high": {"type": "number"},
        "levels": {"type": "integer", "minimum": 1, "maximum": MAX_CELLS},
    }
)
"""The fields of an interval and its levels."""


_ENDS = struct.Struct(">dd")


class IntervalQuery(Query):
    """An interval `[low, high]` cut by `levels + 1` equally spaced points.

    The value is clipped to the interval and rounded to the nearest point, an integer `k` in `0..levels` (ties go down);
    the mechanism's integer noise is added and the sum is clipped to `0..levels`.
    """

    low: float
    high: float
    levels: int

    def _set_interval(self, low: Any, high: Any, levels: Any, transform: Any) -> None:
        """Raises `InvalidQuery`."""
        vars(self).update(
            levels=check_levels(levels),
            low=check_coordinate("low", low),
            high=check_coordinate("high", high),
            transform=check_transform(transform),
        )
        if self.low >= self.high:
            raise InvalidQuery("low must be below high")
        if not math.isfinite(self.high - self.low):
            raise InvalidQuery("the interval is too wide")
        points = (self.low, *self.edges, self.high)
        if any(below >= above for below, above in pairwise(points)):
            raise InvalidQuery("the interval is too narrow for its levels")

    @cached_property
    def edges(self) -> tuple[float, ...]:
        width = self.high - self.low
        return tuple(self.low + width * ((2 * k - 1) / (2 * self.levels)) for k in range(1, self.levels + 1))

    @property
    def n_answers(self) -> int:
        return self.levels + 1

    @abstractmethod
    def on(self, low: float, high: float, transform: Transform) -> Self:
        """The same mechanism with the same levels and noise on another interval. Raises `InvalidQuery`."""

    @abstractmethod
    def with_levels(self, levels: int) -> Self:
        """The same mechanism on the same interval with other levels, and as private. Raises `InvalidQuery`."""

    def with_edges(self, edges: Sequence[float], transform: Transform) -> Self:
        """These dyadic edges must be equally spaced; one, `j 2^k` with j odd, is that of the interval `(j ± 1) 2^k`."""
        if len(edges) != self.levels:
            raise InvalidQuery(f"{self.levels} levels have as many edges, not {len(edges)}")
        if self.levels > 1:
            rung = edges[1] - edges[0]
            low = edges[0] - rung / 2
            return self.on(low, low + rung * self.levels, transform)
        [cut] = edges
        if cut == 0:
            return self.on(-1.0, 1.0, transform)
        numerator, denominator = cut.as_integer_ratio()
        unit = (numerator & -numerator) / denominator
        return self.on(cut - unit, cut + unit, transform)

    def pack(self) -> bytes:
        return _ENDS.pack(self.low, self.high)

    @abstractmethod
    def noise(self, randbelow: RandBelow) -> int:
        """The noise, drawn exactly."""

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        return min(max(cell + self.noise(randbelow), 0), self.levels)


def check_levels(levels: Any) -> int:
    """A number of levels. Raises `InvalidQuery`."""
    if isinstance(levels, bool) or not isinstance(levels, int):
        raise InvalidQuery("levels must be an integer")
    if not 1 <= levels <= MAX_CELLS:
        raise InvalidQuery(f"levels must be 1 to {MAX_CELLS}")
    return levels
