"""A question about two or three of the several numbers of a respondent at once: which state are they in?"""

import struct
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from dither_client.errors import InvalidQuery
from dither_client.forgetting import forgetful
from dither_client.mechanisms.components import MAX_COMPONENTS, check_components, held_number
from dither_client.mechanisms.ordinary import pack_number_query, parse_number_query, unpack_number_query
from dither_client.mechanisms.query import (
    CUTS,
    Held,
    Query,
    Schema,
    Transform,
    check_cuts,
    check_epsilon,
    check_transform,
    common_fields,
    transformed,
)
from dither_client.mechanisms.sampling import RandBelow, system_randbelow

__all__ = ["JointQuery", "States", "state_of_cells"]

States = Literal["same_side", "odd_one_out", "cells"]
"""What is asked about the cells of the numbers; `JointQuery` says what each is."""

_TRANSFORMS: tuple[Transform, ...] = get_args(Transform)


class _Kind(NamedTuple):
    """A kind of question: how many numbers it is about, how many states there are, and which one a respondent is in."""

    components: int
    n_states: Callable[[Sequence[int]], int]
    state: Callable[[Sequence[int], Sequence[int]], int]
    """The state, given the cells that the numbers lie in and how many cells each has."""


def _same_side(cells: Sequence[int], _: Sequence[int]) -> int:
    return int(cells[0] == cells[1])


def _odd_one_out(cells: Sequence[int], _: Sequence[int]) -> int:
    first, second, third = cells
    if first == second:
        return 0 if second == third else 3
    return 2 if first == third else 1


def _pair(cells: Sequence[int], sizes: Sequence[int]) -> int:
    return cells[0] * sizes[1] + cells[1]


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "same_side": _Kind(2, lambda _: 2, _same_side),
        "odd_one_out": _Kind(3, lambda _: 4, _odd_one_out),
        "cells": _Kind(2, lambda sizes: sizes[0] * sizes[1], _pair),
    }
)
_SINGLE_CUTS = ("same_side", "odd_one_out")


def state_of_cells(states: str, cells: Sequence[int], sizes: Sequence[int]) -> int:
    """The state of those whose numbers lie in these cells, of as many as `sizes` says."""
    return _KINDS[states].state(cells, sizes)


@dataclass(frozen=True, init=False, eq=False)
class JointQuery(Query):
    """The numbers of some `components` are cut, and their cells are in one of some states, which is what is answered.

    - `same_side`, of two numbers with one cut each: 0 for different sides, 1 for the same side of both cuts.
    - `odd_one_out`, of three numbers with one cut each: which one is alone on its side (1, 2, 3), or 0 for none.
    - `cells`, of two numbers: J i + j for cell i of the first and cell j of the second, which has J cells.

    `cuts` are on the components' `transforms`. `answered_by` is an ordinary query with a cell for each state, whose
    channel answers the number of the state; its coordinates are not used. So the answer is as private as that channel,
    whatever the cuts are. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "joint"
    number: ClassVar[int] = 6
    asks: ClassVar[str] = (
        "In which state two or three numbers are, given their cells. The answer is that of the channel to the cell "
        "with the number of the state."
    )
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType(
        {
            "components": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": MAX_COMPONENTS - 1},
                "minItems": 2,
                "maxItems": 3,
                "description": "The numbers of the components, increasing, in the order of the terms.",
            },
            "states": {"type": "string", "enum": get_args(States), "description": "What is asked about the cells."},
            "cuts": {
                "type": "array",
                "items": {"type": "array", "items": CUTS["items"], "minItems": 1},
                "minItems": 2,
                "maxItems": 3,
                "description": "The cuts of each component, increasing, on its transformed scale.",
            },
            "transforms": {
                "type": "array",
                "items": {"type": "string", "enum": get_args(Transform)},
                "minItems": 2,
                "maxItems": 3,
                "description": "The transform of each component.",
            },
            "channel": {
                "type": "object",
                "description": "A randomized_response or staircase query with a cell for each state.",
            },
        }
    )

    components: tuple[int, ...]
    states: str
    cuts: tuple[tuple[float, ...], ...]
    transforms: tuple[Transform, ...]
    answered_by: Query
    epsilon: Fraction
    transform: Transform

    def __init__(
        self,
        components: Sequence[int],
        states: str,
        cuts: Sequence[Sequence[float]],
        transforms: Sequence[Transform],
        channel: Any,
        epsilon: Any = None,
        transform: Any = "identity",
    ) -> None:
        kind = _KINDS.get(str(states))
        if kind is None:
            raise InvalidQuery(f"states must be one of {', '.join(_KINDS)}")
        checked = check_components(components)
        for name, given in (("components", checked), ("cuts", cuts), ("transforms", transforms)):
            if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != kind.components:
                raise InvalidQuery(f"{name} of {states} must be a list of {kind.components}")
        for some in cuts:
            if isinstance(some, str) or not isinstance(some, Sequence) or not some:
                raise InvalidQuery("cuts must be a list of numbers for each component")
            if states in _SINGLE_CUTS and len(some) != 1:
                raise InvalidQuery(f"each component of {states} has one cut")
        if transform != "identity":
            raise InvalidQuery('transform must be "identity": each component has its own among transforms')
        answered_by = _checked_channel(channel)
        if epsilon is not None and check_epsilon(epsilon) != answered_by.epsilon:
            raise InvalidQuery("epsilon must be that of the channel")
        vars(self).update(
            components=checked,
            states=str(states),
            cuts=tuple(check_cuts(some) for some in cuts),
            transforms=tuple(check_transform(some) for some in transforms),
            answered_by=answered_by,
            epsilon=answered_by.epsilon,
            transform="identity",
        )
        n_states = kind.n_states(self.sizes)
        if answered_by.n_cells != n_states:
            raise InvalidQuery(f"the channel must have a cell for each of the {n_states} states")

    @property
    def about(self) -> tuple[int, ...]:
        return self.components

    @property
    def cuts_of_numbers(self) -> tuple[tuple[tuple[float, ...], Transform], ...]:
        return tuple(zip(self.cuts, self.transforms, strict=True))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each of the numbers has."""
        return tuple(len(some) + 1 for some in self.cuts)

    @property
    def edges(self) -> tuple[float, ...]:
        """The edges of the channel, whose cells are the states."""
        return self.answered_by.edges

    @property
    def n_answers(self) -> int:
        return self.answered_by.n_answers

    @property
    def channel_key(self) -> tuple[Hashable, ...]:
        return (self.answered_by.mechanism, *self.answered_by.channel_key)

    def channel(self) -> list[list[float]]:
        return self.answered_by.channel()

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        return self.answered_by.sample(cell, randbelow)

    @forgetful
    def cell(self, value: Held) -> int:
        """The state of a respondent with these numbers of all components. Raises `InvalidValue`."""
        asked = zip(self.components, self.cuts, self.transforms, strict=True)
        cells = [bisect_left(cuts, transformed(held_number(value, number), scale)) for number, cuts, scale in asked]
        return state_of_cells(self.states, cells, self.sizes)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (self.mechanism, self.components, self.states, self.cuts, self.transforms, self.answered_by)

    def to_json(self) -> dict[str, Any]:
        return {
            "components": list(self.components),
            "states": self.states,
            "cuts": [list(some) for some in self.cuts],
            "transforms": list(self.transforms),
            "channel": self.answered_by.to_json(),
            **common_fields(self),
        }

    def pack(self) -> bytes:
        head = [list(_KINDS).index(self.states), *self.components]
        parts = [bytes(head)]
        for cuts, transform in zip(self.cuts, self.transforms, strict=True):
            parts.append(struct.pack(f">BH{len(cuts)}d", _TRANSFORMS.index(transform), len(cuts), *cuts))
        return b"".join(parts) + pack_number_query(self.answered_by)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        states = list(_KINDS)[packed[0]]
        count = _KINDS[states].components
        components, place = list(packed[1 : 1 + count]), 1 + count
        cuts: list[tuple[float, ...]] = []
        transforms: list[Transform] = []
        for _ in range(count):
            scale, size = struct.unpack_from(">BH", packed, place)
            place += 3
            cuts.append(struct.unpack_from(f">{size}d", packed, place))
            transforms.append(_TRANSFORMS[scale])
            place += 8 * size
        channel = unpack_number_query(packed[place:], n_answers, epsilon, "identity")
        return cls(components, states, cuts, transforms, channel, None, transform)

    def with_edges(self, edges: Sequence[float], transform: Transform) -> "JointQuery":
        raise InvalidQuery("a question about several numbers has cuts for each of them")


def _checked_channel(channel: Any) -> Query:
    """A query whose answers depend on cells without an order, and on no transform. Raises `InvalidQuery`."""
    query = parse_number_query(channel)
    if query.mechanism not in ("randomized_response", "staircase"):
        raise InvalidQuery("the channel must be a randomized_response or staircase query")
    if query.transform != "identity":
        raise InvalidQuery('the transform of the channel must be "identity"')
    return query
