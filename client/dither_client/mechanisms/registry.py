"""Every mechanism by its name on the wire, and the reading of questions that clients, ledgers and tables share."""

from collections.abc import Mapping
from types import MappingProxyType

from dither_client.errors import InvalidQuery
from dither_client.mechanisms.component_query import ComponentQuery
from dither_client.mechanisms.joint_query import JointQuery
from dither_client.mechanisms.member_counts import Asked, MemberCounts
from dither_client.mechanisms.ordinary import ORDINARY, parse_among
from dither_client.mechanisms.query import Query

__all__ = ["QUERY_TYPES", "parse_asked", "parse_query"]

QUERY_TYPES: Mapping[str, type[Query]] = MappingProxyType(
    {**ORDINARY, **{kind.mechanism: kind for kind in (ComponentQuery, JointQuery)}}
)
"""The mechanisms that respondents are asked through."""


def parse_query(data: object) -> Query:
    """The query that a JSON object describes. Raises `InvalidQuery` for what no honest server would send."""
    return parse_among(QUERY_TYPES, data)


def parse_asked(data: object) -> Asked:
    """The question that the JSON of a stored contribution answers. Raises `InvalidQuery`."""
    if isinstance(data, Mapping) and data.get("mechanism") == MemberCounts.mechanism:
        fields = {str(name): value for name, value in data.items() if name != "mechanism"}
        if fields.keys() != {"cuts", "size", "epsilon", "transform"}:
            raise InvalidQuery("a member_counts question has exactly the fields cuts, epsilon, size, transform")
        return MemberCounts(**fields)
    return parse_query(data)
