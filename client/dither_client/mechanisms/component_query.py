"""A question about one of the several numbers of a respondent, which is asked as if there were no other."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dither_client.errors import InvalidQuery
from dither_client.forgetting import forgetful
from dither_client.mechanisms.components import MAX_COMPONENTS, check_components, held_number
from dither_client.mechanisms.ordinary import pack_number_query, parse_number_query, unpack_number_query
from dither_client.mechanisms.query import (
    Held,
    Query,
    Schema,
    Transform,
    check_epsilon,
    check_transform,
    common_fields,
)
from dither_client.mechanisms.sampling import RandBelow, system_randbelow

__all__ = ["ComponentQuery"]


@dataclass(frozen=True, init=False, eq=False)
class ComponentQuery(Query):
    """An ordinary `query` about the number of one `component`: its cells, channel and answers are the query's.

    ε and the transform are the query's, too. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "component"
    number: ClassVar[int] = 5
    asks: ClassVar[str] = "About the number of one component, as the query inside asks. Answers are that query's."
    fields: ClassVar[Mapping[str, Schema]] = MappingProxyType(
        {
            "component": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_COMPONENTS - 1,
                "description": "The component's number, in the order of the terms.",
            },
            "query": {"type": "object", "description": "A query of another mechanism, about that number."},
        }
    )

    component: int
    query: Query
    epsilon: Fraction
    transform: Transform

    def __init__(self, component: int, query: Any, epsilon: Any = None, transform: Any = None) -> None:
        inner = parse_number_query(query)
        [checked] = check_components([component])
        if epsilon is not None and check_epsilon(epsilon) != inner.epsilon:
            raise InvalidQuery("epsilon must be that of the query about the component")
        if transform is not None and check_transform(transform) != inner.transform:
            raise InvalidQuery("transform must be that of the query about the component")
        vars(self).update(
            component=checked, query=inner, epsilon=inner.epsilon, transform=inner.transform, rho=inner.rho
        )

    @property
    def about(self) -> tuple[int, ...]:
        return (self.component,)

    @property
    def edges(self) -> tuple[float, ...]:
        return self.query.edges

    @property
    def n_answers(self) -> int:
        return self.query.n_answers

    @property
    def channel_key(self) -> tuple[Hashable, ...]:
        return (self.query.mechanism, *self.query.channel_key)

    def channel(self) -> list[list[float]]:
        return self.query.channel()

    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        return self.query.sample(cell, randbelow)

    @forgetful
    def cell(self, value: Held) -> int:
        """The cell that holds the component's number among those of all components. Raises `InvalidValue`."""
        return self.query.cell(held_number(value, self.component))

    def to_json(self) -> dict[str, Any]:
        return {"component": self.component, "query": self.query.to_json(), **common_fields(self)}

    def pack(self) -> bytes:
        return bytes([self.component]) + pack_number_query(self.query)

    @classmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        return cls(packed[0], unpack_number_query(packed[1:], n_answers, epsilon, transform))

    def with_edges(self, edges: Sequence[float], transform: Transform) -> "ComponentQuery":
        return ComponentQuery(self.component, self.query.with_edges(edges, transform))

    def height(self, answer: int) -> float:
        return self.query.height(answer)
