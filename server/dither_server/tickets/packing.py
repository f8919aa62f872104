"""Queries as short canonical bytes for tickets: each query has exactly one packing.

A packing is a header and what the mechanism packs (`Query.pack`), big-endian. Header: mechanism (1 byte), transform
(1), micro-ε (4), and the largest answer (2). The high bit of the transform's byte is set where the answer is for
the goodness-of-fit check and not for learning.
"""

import struct
from fractions import Fraction
from typing import Literal, get_args

from dither_client import Query, Transform
from dither_client.mechanisms.epsilon import MICRO
from dither_client.mechanisms.registry import QUERY_TYPES

__all__ = ["Purpose", "n_answers", "pack_query", "purpose_of", "unpack_query"]

Purpose = Literal["training", "check"]
"""The purpose of an answer: `training` answers are learnt, `check` answers only check the family's fit."""

_HEADER = struct.Struct(">BBIH")
_MECHANISMS = {kind.number: kind for kind in QUERY_TYPES.values()}
_TRANSFORMS: tuple[Transform, ...] = get_args(Transform)
_CHECK = 0x80


def pack_query(query: Query, purpose: Purpose = "training") -> bytes:
    """The packing of `query` for this purpose."""
    header = _HEADER.pack(
        query.number,
        _TRANSFORMS.index(query.transform) | (_CHECK if purpose == "check" else 0),
        int(query.epsilon * MICRO),
        query.n_answers - 1,
    )
    return header + query.pack()


def unpack_query(packed: bytes) -> Query:
    """The query that `pack_query` packed, for either purpose."""
    number, flagged, micro, largest = _HEADER.unpack_from(packed)
    transform = _TRANSFORMS[flagged & ~_CHECK]
    return _MECHANISMS[number].unpack(packed[_HEADER.size :], largest + 1, Fraction(micro, MICRO), transform)


def n_answers(packed: bytes) -> int:
    """The number of possible answers to a packed query, read without unpacking it."""
    return (packed[6] << 8 | packed[7]) + 1


def purpose_of(packed: bytes) -> Purpose:
    """The purpose of the answer to a packed query."""
    return "check" if packed[1] & _CHECK else "training"
