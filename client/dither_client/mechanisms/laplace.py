"""The papers' mechanism on a lattice: clip to an interval, round to a level, add discrete Laplace noise, clip again."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from dither_client.mechanisms.interval import INTERVAL, IntervalQuery
from dither_client.mechanisms.query import Schema, Transform, check_epsilon, common_fields
from dither_client.mechanisms.sampling import RandBelow, discrete_laplace

__all__ = ["Laplace"]


@dataclass(frozen=True, init=False, eq=False)
class Laplace(IntervalQuery):
    """An `IntervalQuery` with two-sided geometric noise, `P(Z = z)` proportional to `exp(-ε |z| / levels)`.

    With `levels = 1` this is randomised response on the side of a threshold. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "laplace"
    in_words: ClassVar[str] = "Laplace"
    number: ClassVar[int] = 0
    asks: ClassVar[str] = "On which point of an interval, with discrete Laplace noise. Answers are `0..levels`."
    fields: ClassVar[Mapping[str, Schema]] = INTERVAL

    low: float
    high: float
    levels: int
    epsilon: Fraction
    transform: Transform

    def __init__(self, low: float, high: float, levels: int, epsilon: Any, transform: Any = "identity") -> None:
        vars(self).update(epsilon=check_epsilon(epsilon))
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

    def with_levels(self, levels: int) -> "Laplace":
        return Laplace(self.low, self.high, levels, self.epsilon, self.transform)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        low, high = struct.unpack(">dd", packed)
        return cls(low, high, n_answers - 1, epsilon, transform)

    def noise(self, randbelow: RandBelow) -> int:
        return discrete_laplace(self.epsilon.numerator, self.epsilon.denominator * self.levels, randbelow)

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "levels": self.levels, **common_fields(self)}
