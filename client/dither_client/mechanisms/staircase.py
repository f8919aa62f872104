"""Staircase mechanisms: answers that stand for sets of cells, every cell in equally many of them.

Kairouz, Oh & Viswanath, *Extremal mechanisms for local differential privacy*, 2016: on finitely many cells every
mechanism that is not a mixture of others has this form. Singletons of weight 1 are randomised response; all sets of k
cells are subset selection (Ye & Barg 2018).
"""

import math
import struct
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import mean
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
from dither_client.mechanisms.sampling import RandBelow, bernoulli_exp, system_randbelow

__all__ = ["MAX_SETS", "MAX_WEIGHT", "Staircase"]

MAX_SETS = 64
"""A staircase query with more cells or more answers than this is refused as too fine."""

MAX_WEIGHT = 1_000_000
"""A staircase query with a larger weight is refused."""

_ANSWER = struct.Struct(">IQ")
"""A weight, and a set: bit `k` is 1 if cell `k` is in it."""


@dataclass(frozen=True, init=False, eq=False)
class Staircase(Query):
    """Cuts `c_1 < … < c_{J-1}` divide the line into J cells; answer `y` stands for the set `S_y` of cells.

    With the weights `v_y`, `V = Σ v_y` and the coverage `c = Σ_{y: x ∈ S_y} v_y`, which must be the same for every cell
    `x`, answer `y` has the probability `v_y e^ε / (V + (e^ε - 1) c)` if one's own cell is in `S_y`, and
    `v_y / (V + (e^ε - 1) c)` if not. One question has one form: the cells of a set increase, so do the sets, and the
    weights have no common divisor. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "staircase"
    number: ClassVar[int] = 3
    asks: ClassVar[str] = (
        "One of some sets of cells, likelier one that holds the own cell. Answers are `0..len(sets) - 1`."
    )
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType(
        {
            "cuts": {**CUTS, "maxItems": MAX_SETS - 1},
            "sets": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "minItems": 2,
                "maxItems": MAX_SETS,
                "description": "The cells of each answer, from 0.",
            },
            "weights": {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": 2,
                "maxItems": MAX_SETS,
                "description": "One for each set, such that those that hold a cell have one sum.",
            },
        }
    )
    beside: ClassVar[Mapping[str, int]] = MappingProxyType({"randomized_response": MAX_CELLS, "laplace": 1})

    cuts: tuple[float, ...]
    sets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    epsilon: Fraction
    transform: Transform

    def __init__(
        self,
        cuts: Sequence[float],
        sets: Sequence[Sequence[int]],
        weights: Sequence[int],
        epsilon: Any,
        transform: Any = "identity",
    ) -> None:
        for name, given in (("cuts", cuts), ("sets", sets), ("weights", weights)):
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise InvalidQuery(f"{name} must be a list")
        if not 1 <= len(cuts) < MAX_SETS:
            raise InvalidQuery(f"there must be 1 to {MAX_SETS - 1} cuts, not {len(cuts)}")
        vars(self).update(
            cuts=check_cuts(cuts),
            sets=_check_sets(sets, len(cuts) + 1),
            weights=_check_weights(weights, len(sets)),
            epsilon=check_epsilon(epsilon),
            transform=check_transform(transform),
        )
        if len({self._coverage(cell) for cell in range(self.n_cells)}) > 1:
            raise InvalidQuery("the weights of the sets that hold a cell must have the same sum for every cell")

    @property
    def edges(self) -> tuple[float, ...]:
        return self.cuts

    @property
    def n_answers(self) -> int:
        return len(self.sets)

    @property
    def channel_key(self) -> tuple[Hashable, ...]:
        return (self.n_cells, self.sets, self.weights, self.epsilon)

    def channel(self) -> list[list[float]]:
        other = math.exp(-self.epsilon)
        total = sum(self.weights) * other + self._coverage(0) * -math.expm1(-self.epsilon)
        return [
            [
                weight * (1.0 if cell in some else other) / total
                for some, weight in zip(self.sets, self.weights, strict=True)
            ]
            for cell in range(self.n_cells)
        ]

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        # Rejection from the weights: accept a set that holds one's own cell always, another one with probability
        # exp(-ε). Every cell is accepted equally often, since all are covered equally.
        while True:
            proposal = bisect_right(self._steps, randbelow(self._steps[-1]))
            accepted = bernoulli_exp(self.epsilon.numerator, self.epsilon.denominator, randbelow)
            if accepted or cell in self.sets[proposal]:
                return proposal

    def to_json(self) -> dict[str, Any]:
        sets = [list(some) for some in self.sets]
        return {"cuts": list(self.cuts), "sets": sets, "weights": list(self.weights), **common_fields(self)}

    def pack(self) -> bytes:
        pairs = zip(self.weights, self.sets, strict=True)
        answers = b"".join(_ANSWER.pack(weight, sum(1 << cell for cell in some)) for weight, some in pairs)
        return answers + struct.pack(f">{len(self.cuts)}d", *self.cuts)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        start = n_answers * _ANSWER.size
        answers = list(_ANSWER.iter_unpack(packed[:start]))
        sets = [[cell for cell in range(bits.bit_length()) if bits >> cell & 1] for _, bits in answers]
        cuts = struct.unpack(f">{(len(packed) - start) // 8}d", packed[start:])
        return cls(cuts, sets, [weight for weight, _ in answers], epsilon, transform)

    def with_edges(self, edges: Sequence[float], transform: Transform) -> "Staircase":
        return Staircase(edges, self.sets, self.weights, self.epsilon, transform)

    def height(self, answer: int) -> float:
        """The mean of the answer's cells, as a share of the last cell's number."""
        return mean(self.sets[answer]) / (self.n_cells - 1)

    def _coverage(self, cell: int) -> int:
        return sum(weight for some, weight in zip(self.sets, self.weights, strict=True) if cell in some)

    @cached_property
    def _steps(self) -> list[int]:
        """The sums of the first 1, 2, … weights."""
        return list(accumulate(self.weights))


def _check_sets(sets: Sequence[Sequence[int]], n_cells: int) -> tuple[tuple[int, ...], ...]:
    if not 2 <= len(sets) <= MAX_SETS:
        raise InvalidQuery(f"there must be 2 to {MAX_SETS} sets, not {len(sets)}")
    for some in sets:
        if isinstance(some, str) or not isinstance(some, Sequence):
            raise InvalidQuery("each set must be a list of cells")
        if any(isinstance(cell, bool) or not isinstance(cell, int) or not 0 <= cell < n_cells for cell in some):
            raise InvalidQuery(f"each set must hold whole numbers from 0 to {n_cells - 1}")
        if any(low >= high for low, high in pairwise(some)):
            raise InvalidQuery("the cells of a set must increase strictly")
        if not 0 < len(some) < n_cells:
            raise InvalidQuery("each set must hold some of the cells, but not all of them")
    checked = tuple(tuple(some) for some in sets)
    if any(low >= high for low, high in pairwise(checked)):
        raise InvalidQuery("the sets must differ and be in increasing order")
    return checked


def _check_weights(weights: Sequence[int], n_sets: int) -> tuple[int, ...]:
    if len(weights) != n_sets:
        raise InvalidQuery(f"there must be {n_sets} weights, one for each set, not {len(weights)}")
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= MAX_WEIGHT:
            raise InvalidQuery(f"weights must be whole numbers from 1 to {MAX_WEIGHT:,}")
    if math.gcd(*weights) > 1:
        raise InvalidQuery("weights must have no common divisor")
    return tuple(weights)
