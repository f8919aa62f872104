"""Queries as short canonical bytes, for tickets: one question, one packing.

A packing is a header and the coordinates, big-endian. Header: mechanism (1 byte), transform (1), micro-ε (4), and the
largest answer (2), which is `levels` of `laplace` and the number of cuts of `randomized_response`. Coordinates are
IEEE 754 doubles: `low` and `high`, or the cuts. Before the cuts of `staircase` come a weight (4) and a set (8) for each
answer; cell `k` is in the set if bit `k` is 1.
"""

import struct
from fractions import Fraction

from dither_client import Laplace, Query, RandomizedResponse, Staircase
from dither_client.epsilon import MICRO

__all__ = ["n_answers", "pack_query", "unpack_query"]

_HEADER = struct.Struct(">BBIH")
_MECHANISMS = (Laplace.mechanism, RandomizedResponse.mechanism, Staircase.mechanism)
_ANSWER = struct.Struct(">IQ")
_TRANSFORMS = ("identity", "log")


def pack_query(query: Query) -> bytes:
    """The packing of `query`. Raises `TypeError` for a mechanism that has none."""
    answers = b""
    if isinstance(query, Laplace):
        coordinates: tuple[float, ...] = (query.low, query.high)
    elif isinstance(query, RandomizedResponse):
        coordinates = query.cuts
    elif isinstance(query, Staircase):
        coordinates = query.cuts
        pairs = zip(query.weights, query.sets, strict=True)
        answers = b"".join(_ANSWER.pack(weight, sum(1 << cell for cell in some)) for weight, some in pairs)
    else:
        raise TypeError(f"{type(query).__name__} has no packing")
    header = _HEADER.pack(
        _MECHANISMS.index(query.mechanism),
        _TRANSFORMS.index(query.transform),
        int(query.epsilon * MICRO),
        query.n_answers - 1,
    )
    return header + answers + struct.pack(f">{len(coordinates)}d", *coordinates)


def unpack_query(packed: bytes) -> Query:
    """The query that `pack_query` packed."""
    mechanism, transform, micro, largest = _HEADER.unpack_from(packed)
    name, start = _MECHANISMS[mechanism], _HEADER.size
    if name == Staircase.mechanism:
        start += (largest + 1) * _ANSWER.size
    coordinates = struct.unpack(f">{(len(packed) - start) // 8}d", packed[start:])
    epsilon = Fraction(micro, MICRO)
    if name == Laplace.mechanism:
        low, high = coordinates
        return Laplace(low, high, largest, epsilon, _TRANSFORMS[transform])
    if name == Staircase.mechanism:
        answers = list(_ANSWER.iter_unpack(packed[_HEADER.size : start]))
        sets = [[cell for cell in range(bits.bit_length()) if bits >> cell & 1] for _, bits in answers]
        return Staircase(coordinates, sets, [weight for weight, _ in answers], epsilon, _TRANSFORMS[transform])
    return RandomizedResponse(coordinates, epsilon, _TRANSFORMS[transform])


def n_answers(packed: bytes) -> int:
    """How many answers the packed query has, without unpacking it."""
    return int.from_bytes(packed[6:8], "big") + 1
