"""The papers' mechanism on a lattice: clip to an interval, round to a level, add discrete Laplace noise, clip again."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from dither_client.errors import InvalidQuery
from dither_client.queries import (
    MAX_CELLS,
    Query,
    Transform,
    check_coordinate,
    check_epsilon,
    check_transform,
    common_fields,
)
from dither_client.sampling import RandBelow, discrete_laplace, system_randbelow

__all__ = ["Laplace"]


@dataclass(frozen=True, init=False, eq=False)
class Laplace(Query):
    """An interval `[low, high]` cut by `levels + 1` equally spaced points.

    The value is clipped to the interval and rounded to the nearest point, an integer `k` in `0..levels` (ties go down);
    two-sided geometric noise with `P(Z = z)` proportional to `exp(-ε |z| / levels)` is added and the sum is clipped to
    `0..levels`. With `levels = 1` this is randomised response on the side of a threshold. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "laplace"
    fields: ClassVar[tuple[str, ...]] = ("low", "high", "levels")

    low: float
    high: float
    levels: int
    epsilon: Fraction
    transform: Transform

    def __init__(self, low: float, high: float, levels: int, epsilon: Any, transform: Any = "identity") -> None:
        if isinstance(levels, bool) or not isinstance(levels, int):
            raise InvalidQuery("levels must be an integer")
        if not 1 <= levels <= MAX_CELLS:
            raise InvalidQuery(f"levels must be 1 to {MAX_CELLS}")
        object.__setattr__(self, "low", check_coordinate("low", low))
        object.__setattr__(self, "high", check_coordinate("high", high))
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))
        object.__setattr__(self, "transform", check_transform(transform))
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

    def channel(self) -> list[list[float]]:
        rate = float(self.epsilon) / self.levels
        alpha = math.exp(-rate)
        inner = math.tanh(rate / 2)  # (1 - α) / (1 + α)
        last = self.levels
        return [
            [
                math.exp(-rate * abs(level - answer)) * (inner if 0 < answer < last else 1 / (1 + alpha))
                for answer in range(last + 1)
            ]
            for level in range(last + 1)
        ]

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        noise = discrete_laplace(self.epsilon.numerator, self.epsilon.denominator * self.levels, randbelow)
        return min(max(cell + noise, 0), self.levels)

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "levels": self.levels, **common_fields(self)}
