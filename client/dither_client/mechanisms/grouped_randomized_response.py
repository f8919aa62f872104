"""Randomised response over groups of categories: answer the number of one's own group, or now and then that of another.

Singletons are randomised response itself, two groups are a yes or a no, and random groups of equal size are subset
selection (Ye & Barg 2018). What is best depends on how frequent the categories are, so a server chooses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dither_client.errors import InvalidQuery, InvalidValue
from dither_client.forgetting import forgetful
from dither_client.mechanisms.query import Held, Query, Schema, Transform, check_epsilon, check_value, common_fields
from dither_client.mechanisms.randomized_response import randomized_channel
from dither_client.mechanisms.sampling import RandBelow, randomized_response, system_randbelow

__all__ = ["MAX_CATEGORIES", "GroupedRandomizedResponse"]

MAX_CATEGORIES = 64


@dataclass(frozen=True, init=False, eq=False)
class GroupedRandomizedResponse(Query):
    """The categories `0..K-1` are divided into g groups; the answer is the number of one of them.

    One's own is answered with probability `e^ε / (e^ε + g - 1)`, each other one with `1 / (e^ε + g - 1)`. A value is
    the number of a category, and each category is a cell. One question has one form: the categories of a group
    increase, and so do the groups' first ones. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "grouped_randomized_response"
    number: ClassVar[int] = 4
    of_categories: ClassVar[bool] = True
    asks: ClassVar[str] = "In which group of categories, by randomised response. Answers are `0..len(groups) - 1`."
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType(
        {
            "groups": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "minItems": 2,
                "maxItems": MAX_CATEGORIES,
                "description": "The categories of each group, from 0; every one of the collection's in one group.",
            }
        }
    )

    groups: tuple[tuple[int, ...], ...]
    epsilon: Fraction
    transform: Transform

    def __init__(self, groups: Sequence[Sequence[int]], epsilon: Any, transform: Any = "identity") -> None:
        if isinstance(groups, str) or not isinstance(groups, Sequence):
            raise InvalidQuery("groups must be a list")
        if transform != "identity":
            raise InvalidQuery('transform must be "identity", since categories have no scale')
        vars(self).update(groups=_check_groups(groups), epsilon=check_epsilon(epsilon), transform="identity")

    @classmethod
    def of_labels(cls, labels: Sequence[int], epsilon: Any) -> Self:
        """The question in which two categories are in one group if they have the same of `labels`, one for each."""
        groups: dict[int, list[int]] = {}
        for category, label in enumerate(labels):
            groups.setdefault(label, []).append(category)
        return cls(list(groups.values()), epsilon)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        found = {category: number for number, group in enumerate(self.groups) for category in group}
        return tuple(found[category] for category in range(len(found)))

    @property
    def edges(self) -> tuple[float, ...]:
        """Halfway between the numbers of the categories."""
        return tuple(category + 0.5 for category in range(len(self.labels) - 1))

    @property
    def n_cells(self) -> int:
        return len(self.labels)

    @property
    def n_answers(self) -> int:
        return len(self.groups)

    @property
    def channel_key(self) -> tuple[Any, ...]:
        return (self.groups, self.epsilon)

    def channel(self) -> list[list[float]]:
        rows = randomized_channel(self.n_answers, self.epsilon)
        return [list(rows[group]) for group in self.labels]

    @forgetful
    def cell(self, value: Held) -> int:
        """The value itself, which is the number of a category. Raises `InvalidValue`."""
        number = check_value(value)
        if not (number.is_integer() and 0 <= number < self.n_cells):
            raise InvalidValue(f"the value must be the number of a category, from 0 to {self.n_cells - 1}")
        return int(number)

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        return randomized_response(self.labels[cell], self.n_answers, self.epsilon, randbelow)

    def to_json(self) -> dict[str, Any]:
        return {"groups": [list(group) for group in self.groups], **common_fields(self)}

    def pack(self) -> bytes:
        return bytes(self.labels)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        return cls.of_labels(packed, epsilon)

    def with_edges(self, edges: Sequence[float], transform: Transform) -> "GroupedRandomizedResponse":
        raise InvalidQuery("categories have no edges")


def _check_groups(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence) or not group:
            raise InvalidQuery("each group must be a list of categories")
        if any(isinstance(category, bool) or not isinstance(category, int) for category in group):
            raise InvalidQuery("each group must hold whole numbers")
        if any(low >= high for low, high in pairwise(group)):
            raise InvalidQuery("the categories of a group must increase strictly")
    if not 2 <= len(groups) <= MAX_CATEGORIES:
        raise InvalidQuery(f"there must be 2 to {MAX_CATEGORIES} groups, not {len(groups)}")
    if any(low[0] >= high[0] for low, high in pairwise(groups)):
        raise InvalidQuery("the first categories of the groups must increase strictly")
    categories = sorted(category for group in groups for category in group)
    if len(categories) > MAX_CATEGORIES or categories != list(range(len(categories))):
        raise InvalidQuery(f"each category must be in one group, from 0 on, and there must be at most {MAX_CATEGORIES}")
    return tuple(tuple(group) for group in groups)
