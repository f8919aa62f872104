"""The papers' mechanism on a lattice: clip to an interval, round to a level, add discrete Laplace noise, clip again."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither_client.mechanisms.interval import IntervalQuery
from dither_client.mechanisms.query import Transform, check_epsilon, common_fields
from dither_client.mechanisms.sampling import RandBelow, discrete_laplace

__all__ = ["Laplace"]


@dataclass(frozen=True, init=False, eq=False)
class Laplace(IntervalQuery):
    """An `IntervalQuery` with two-sided geometric noise, `P(Z = z)` proportional to `exp(-ε |z| / levels)`.

    With `levels = 1` this is randomised response on the side of a threshold. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "laplace"
    fields: ClassVar[tuple[str, ...]] = ("low", "high", "levels")

    low: float
    high: float
    levels: int
    epsilon: Fraction
    transform: Transform

    def __init__(self, low: float, high: float, levels: int, epsilon: Any, transform: Any = "identity") -> None:
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))
        self._set_interval(low, high, levels, transform)

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

    def on(self, low: float, high: float, transform: Transform) -> "Laplace":
        return Laplace(low, high, self.levels, self.epsilon, transform)

    def noise(self, randbelow: RandBelow) -> int:
        return discrete_laplace(self.epsilon.numerator, self.epsilon.denominator * self.levels, randbelow)

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "levels": self.levels, **common_fields(self)}
