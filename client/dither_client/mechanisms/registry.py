"""Every mechanism by its name on the wire, and the reading of questions that clients, ledgers and tables share."""

from collections.abc import Mapping
from types import MappingProxyType

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.gaussian import Gaussian
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.laplace import Laplace
from dither_client.mechanisms.member_counts import Asked, MemberCounts
from dither_client.mechanisms.query import Query
from dither_client.mechanisms.randomized_response import RandomizedResponse
from dither_client.mechanisms.staircase import Staircase

__all__ = ["QUERY_TYPES", "parse_asked", "parse_query"]

QUERY_TYPES: Mapping[str, type[Query]] = MappingProxyType(
    {kind.mechanism: kind for kind in (Laplace, RandomizedResponse, Staircase, Gaussian, GroupedRandomizedResponse)}
)
"""The mechanisms that respondents are asked through."""


def parse_query(data: object) -> Query:
    """The query that a JSON object describes. Raises `InvalidQuery` for what no honest server would send."""
    if not isinstance(data, Mapping):
        raise InvalidQuery("a query must be a JSON object")
    kind = QUERY_TYPES.get(str(data.get("mechanism")))
    if kind is None:
        raise InvalidQuery(f"mechanism must be one of {', '.join(QUERY_TYPES)}")
    fields = {str(name): value for name, value in data.items() if name != "mechanism"}
    fields.setdefault("transform", "identity")
    expected = {"epsilon", "transform", *kind.fields}
    if fields.keys() != expected:
        raise InvalidQuery(f"a {kind.mechanism} query has exactly the fields {', '.join(sorted(expected))}")
    return kind(**fields)


def parse_asked(data: object) -> Asked:
    """The question that the JSON of a stored contribution answers. Raises `InvalidQuery`."""
    if isinstance(data, Mapping) and data.get("mechanism") == MemberCounts.mechanism:
        fields = {str(name): value for name, value in data.items() if name != "mechanism"}
        if fields.keys() != {"cuts", "size", "epsilon", "transform"}:
            raise InvalidQuery("a member_counts question has exactly the fields cuts, epsilon, size, transform")
        return MemberCounts(**fields)
    return parse_query(data)
