"""Randomised response over cells: answer the number of one's own cell, or now and then that of another."""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.query import (
    CUTS,
    MAX_CELLS,
    Query,
    Schema,
    Transform,
    check_cuts,
    check_epsilon,
    check_transform,
    common_fields,
)
from dither_client.mechanisms.sampling import RandBelow, randomized_response, system_randbelow

__all__ = ["RandomizedResponse", "randomized_channel"]


def randomized_channel(size: int, epsilon: Fraction) -> list[list[float]]:
    """`Q[own][answer]` of randomised response over so many."""
    other = math.exp(-epsilon)
    total = 1.0 + (size - 1) * other
    return [[(1.0 if own == answer else other) / total for answer in range(size)] for own in range(size)]


@dataclass(frozen=True, init=False, eq=False)
class RandomizedResponse(Query):
    """Cuts `c_1 < … < c_{J-1}` divide the line into J cells; the answer is the number of one of them.

    One's own is answered with probability `e^ε / (e^ε + J - 1)`, each other one with `1 / (e^ε + J - 1)`.
    Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "randomized_response"
    number: ClassVar[int] = 1
    asks: ClassVar[str] = (
        "In which cell, by randomised response. Answers are `0..len(cuts)`: how many cuts lie strictly below."
    )
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType({"cuts": CUTS})
    beside: ClassVar[Mapping[str, int]] = MappingProxyType({"laplace": 1})
    merges: ClassVar[bool] = True

    cuts: tuple[float, ...]
    epsilon: Fraction
    transform: Transform

    def __init__(self, cuts: Sequence[float], epsilon: Any, transform: Any = "identity") -> None:
        if isinstance(cuts, str) or not isinstance(cuts, Sequence):
            raise InvalidQuery("cuts must be a list of numbers")
        if not 1 <= len(cuts) < MAX_CELLS:
            raise InvalidQuery(f"there must be 1 to {MAX_CELLS - 1} cuts, not {len(cuts)}")
        vars(self).update(cuts=check_cuts(cuts), epsilon=check_epsilon(epsilon), transform=check_transform(transform))

    @property
    def edges(self) -> tuple[float, ...]:
        return self.cuts

    @property
    def n_answers(self) -> int:
        return len(self.cuts) + 1

    def channel(self) -> list[list[float]]:
        return randomized_channel(self.n_answers, self.epsilon)

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        return randomized_response(cell, self.n_answers, self.epsilon, randbelow)

    def to_json(self) -> dict[str, Any]:
        return {"cuts": list(self.cuts), **common_fields(self)}

    def pack(self) -> bytes:
        return struct.pack(f">{len(self.cuts)}d", *self.cuts)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        return cls(struct.unpack(f">{n_answers - 1}d", packed), epsilon, transform)

    def with_edges(self, edges: Sequence[float], transform: Transform) -> "RandomizedResponse":
        return RandomizedResponse(edges, self.epsilon, transform)
