"""Queries as short canonical bytes for tickets: each query has exactly one packing.

A packing is a header and what the mechanism packs (`Query.pack`), big-endian. Header: mechanism (1 byte), transform
(1), micro-ε (4), and the largest answer (2). The high bit of the transform's byte is set where the answer is for
the goodness-of-fit check and not for learning. The next bit is set where the respondent gave a group: its number (2)
follows the header then. The next is set where answers are told apart by period: the number of that in which the ticket
was issued (2) comes next. Tickets do not have it, since they have their time of issue.
"""

import struct
from fractions import Fraction
from typing import Literal, get_args

from dither_client import Query, Transform
from dither_client.mechanisms.epsilon import MICRO
from dither_client.mechanisms.registry import QUERY_TYPES

__all__ = [
    "NO_GROUP",
    "NO_PERIOD",
    "Purpose",
    "group_of",
    "in_group",
    "in_period",
    "n_answers",
    "pack_query",
    "period_of",
    "purpose_of",
    "query_id_of",
    "row_id",
    "unpack_query",
]

Purpose = Literal["training", "check"]
"""The purpose of an answer: `training` answers are learnt, `check` answers only check the family's fit."""

NO_GROUP = 0
"""The number of no group; the labels of a collection's groups are numbered from 1, in their order."""

NO_PERIOD = 0
"""The number of no period; periods are numbered from 1, which holds the first day of 1970."""

_HEADER = struct.Struct(">BBIH")
_NUMBER = struct.Struct(">H")
"""The number of a group or of a period: days have numbers until the year 2149."""
_MECHANISMS = {kind.number: kind for kind in QUERY_TYPES.values()}
_TRANSFORMS: tuple[Transform, ...] = get_args(Transform)
_CHECK = 0x80
_GROUPED = 0x40
_DATED = 0x20
_OF_GROUP = ":"
"""Separates a query's id, which is hexadecimal, from the number of the group that it is asked of."""
_OF_PERIOD = "@"
"""Separates all that from the number of the period in which it is asked."""


def pack_query(query: Query, purpose: Purpose = "training") -> bytes:
    """The packing of `query` for this purpose."""
    header = _HEADER.pack(
        query.number,
        _TRANSFORMS.index(query.transform) | (_CHECK if purpose == "check" else 0),
        int(query.epsilon * MICRO),
        query.n_answers - 1,
    )
    return header + query.pack()


def in_group(packed: bytes, group: int) -> bytes:
    """A query that `pack_query` packed, asked of a respondent of the group with this number."""
    if group == NO_GROUP:
        return packed
    head, rest = bytearray(packed[: _HEADER.size]), packed[_HEADER.size :]
    head[1] |= _GROUPED
    return bytes(head) + _NUMBER.pack(group) + rest


def in_period(packed: bytes, period: int) -> bytes:
    """A packed query, for any group, asked in the period with this number."""
    if period == NO_PERIOD:
        return packed
    start = _HEADER.size + (_NUMBER.size if packed[1] & _GROUPED else 0)
    head = bytearray(packed[:start])
    head[1] |= _DATED
    return bytes(head) + _NUMBER.pack(period) + packed[start:]


def unpack_query(packed: bytes) -> Query:
    """The query that `pack_query` packed, for either purpose, any group and any period."""
    number, flagged, micro, largest = _HEADER.unpack_from(packed)
    transform = _TRANSFORMS[flagged & ~(_CHECK | _GROUPED | _DATED)]
    start = _HEADER.size + _NUMBER.size * ((flagged & _GROUPED > 0) + (flagged & _DATED > 0))
    return _MECHANISMS[number].unpack(packed[start:], largest + 1, Fraction(micro, MICRO), transform)


def n_answers(packed: bytes) -> int:
    """The number of possible answers to a packed query, read without unpacking it."""
    return (packed[6] << 8 | packed[7]) + 1


def purpose_of(packed: bytes) -> Purpose:
    """The purpose of the answer to a packed query."""
    return "check" if packed[1] & _CHECK else "training"


def row_id(query_id: str, group: int, period: int = NO_PERIOD) -> str:
    """The id of the row of a query that is asked of the group, and in the period, with these numbers."""
    grouped = query_id if group == NO_GROUP else f"{query_id}{_OF_GROUP}{group}"
    return grouped if period == NO_PERIOD else f"{grouped}{_OF_PERIOD}{period}"


def query_id_of(row: str) -> str:
    """The query's own id, from that of its row for any group and any period."""
    return row.partition(_OF_PERIOD)[0].partition(_OF_GROUP)[0]


def group_of(packed: bytes) -> int:
    """The number of the group that a packed query is asked of; `NO_GROUP` for none."""
    return int(_NUMBER.unpack_from(packed, _HEADER.size)[0]) if packed[1] & _GROUPED else NO_GROUP


def period_of(packed: bytes) -> int:
    """The number of the period in which a packed query is asked; `NO_PERIOD` for none."""
    if not packed[1] & _DATED:
        return NO_PERIOD
    return int(_NUMBER.unpack_from(packed, _HEADER.size + (_NUMBER.size if packed[1] & _GROUPED else 0))[0])
