"""Discrete Gaussian noise on a lattice: clip to an interval, round to a level, add the noise, clip again."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dither_client.errors import InvalidEpsilon, InvalidQuery
from dither_client.mechanisms.epsilon import MICRO, epsilon_text, json_epsilon, wire_epsilon
from dither_client.mechanisms.gaussian_epsilon import clipped_probabilities, gaussian_epsilon
from dither_client.mechanisms.interval import INTERVAL, IntervalQuery
from dither_client.mechanisms.query import EXACT, Schema, Transform, check_epsilon, common_fields
from dither_client.mechanisms.sampling import RandBelow, discrete_gaussian

__all__ = ["Gaussian"]

_FIELDS = struct.Struct(">ddd")


@dataclass(frozen=True, init=False, eq=False)
class Gaussian(IntervalQuery):
    """An `IntervalQuery` with noise `P(Z = z)` proportional to `exp(-z² / (2σ²))`, σ² = levels² / (2ρ).

    An answer is ρ-zCDP, and as it is clipped it has a finite pure ε, too, which is what it costs: the query is refused
    unless `epsilon` is at least `gaussian_epsilon(levels, rho)`. Both have at most six decimals. With `levels = 1` this
    is randomised response on the side of a threshold. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "gaussian"
    in_words: ClassVar[str] = "Gaussian"
    number: ClassVar[int] = 2
    asks: ClassVar[str] = "On which point of an interval, with discrete Gaussian noise. Answers are `0..levels`."
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType(
        {**INTERVAL, "rho": {**EXACT, "description": "ρ of zero-concentrated privacy, the exact decimal."}}
    )
    costs: ClassVar[str] = "The pure ε of the clipped noise, or more: what it costs."

    low: float
    high: float
    levels: int
    rho: Fraction
    epsilon: Fraction
    transform: Transform

    def __init__(
        self, low: float, high: float, levels: int, rho: Any, epsilon: Any, transform: Any = "identity"
    ) -> None:
        self._set_interval(low, high, levels, transform)
        try:
            vars(self).update(rho=wire_epsilon(rho, "rho"))
        except InvalidEpsilon as error:
            raise InvalidQuery(str(error)) from None
        vars(self).update(epsilon=check_epsilon(epsilon))
        least = gaussian_epsilon(self.levels, self.rho)
        if self.epsilon < least:
            raise InvalidQuery(
                f"epsilon must be at least {epsilon_text(least)}, the pure ε of {self.levels} levels with this rho"
            )

    @property
    def channel_key(self) -> tuple[int, Fraction]:
        return (self.levels, self.rho)

    def channel(self) -> list[list[float]]:
        tails, inner = clipped_probabilities(self.levels, self.rho)
        last = self.levels
        return [
            [tails[level], *(inner[abs(level - answer)] for answer in range(1, last)), tails[last - level]]
            for level in range(last + 1)
        ]

    def on(self, low: float, high: float, transform: Transform) -> "Gaussian":
        return Gaussian(low, high, self.levels, self.rho, self.epsilon, transform)

    def with_levels(self, levels: int) -> "Gaussian":
        epsilon = gaussian_epsilon(levels, self.rho)
        return Gaussian(self.low, self.high, levels, self.rho, epsilon, self.transform)

    def pack(self) -> bytes:
        return _FIELDS.pack(self.low, self.high, float(self.rho * MICRO))

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        low, high, micro_rho = _FIELDS.unpack(packed)
        return cls(low, high, n_answers - 1, Fraction(int(micro_rho), MICRO), epsilon, transform)

    def noise(self, randbelow: RandBelow) -> int:
        return discrete_gaussian(self.levels**2 * self.rho.denominator, 2 * self.rho.numerator, randbelow)

    def to_json(self) -> dict[str, Any]:
        interval = {"low": self.low, "high": self.high, "levels": self.levels}
        return {**interval, "rho": json_epsilon(self.rho), **common_fields(self)}
