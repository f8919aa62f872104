"""The mechanisms that ask about one value of a respondent, and the reading of their questions."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.gaussian import Gaussian
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.laplace import Laplace
from dither_client.mechanisms.query import Query, Transform, check_epsilon, check_transform
from dither_client.mechanisms.randomized_response import RandomizedResponse
from dither_client.mechanisms.staircase import Staircase

__all__ = ["ORDINARY", "pack_number_query", "parse_among", "parse_number_query", "unpack_number_query"]

ORDINARY: Mapping[str, type[Query]] = MappingProxyType(
    {kind.mechanism: kind for kind in (Laplace, RandomizedResponse, Staircase, Gaussian, GroupedRandomizedResponse)}
)
"""The ordinary mechanisms by their names on the wire."""

_OF_NUMBERS = MappingProxyType({name: kind for name, kind in ORDINARY.items() if not kind.of_categories})


def parse_among(kinds: Mapping[str, type[Query]], data: object) -> Query:
    """The query of one of these `kinds` that a JSON object describes. Raises `InvalidQuery`."""
    if not isinstance(data, Mapping):
        raise InvalidQuery("a query must be a JSON object")
    kind = kinds.get(str(data.get("mechanism")))
    if kind is None:
        raise InvalidQuery(f"mechanism must be one of {', '.join(kinds)}")
    fields = {str(name): value for name, value in data.items() if name != "mechanism"}
    fields.setdefault("transform", "identity")
    expected = {"epsilon", "transform", *kind.fields}
    if fields.keys() != expected:
        raise InvalidQuery(f"a {kind.mechanism} query has exactly the fields {', '.join(sorted(expected))}")
    query = kind(**fields)
    for name, check in (("epsilon", check_epsilon), ("transform", check_transform)):
        if fields[name] is None:  # which code may leave out of some questions
            check(None)
    return query


def parse_number_query(data: object) -> Query:
    """An ordinary query about a number, or the one that a JSON object describes. Raises `InvalidQuery`."""
    if isinstance(data, Query):
        if _OF_NUMBERS.get(data.mechanism) is not type(data):
            raise InvalidQuery(f"mechanism must be one of {', '.join(_OF_NUMBERS)}")
        return data
    return parse_among(_OF_NUMBERS, data)


def unpack_number_query(packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Query:
    """The query that `pack_number_query` packed."""
    [kind] = [kind for kind in _OF_NUMBERS.values() if kind.number == packed[0]]
    return kind.unpack(packed[1:], n_answers, epsilon, transform)


def pack_number_query(query: Query) -> bytes:
    """Which mechanism an ordinary query is of, in one byte, and its own fields."""
    return bytes([query.number]) + query.pack()
