"""Queries as short canonical bytes, for tickets: one question, one packing.

A packing is a header and the coordinates, big-endian. Header: mechanism (1 byte), transform (1), micro-ε (4), and the
largest answer (2), which is `levels` of `laplace` and `gaussian` and the number of cuts of `randomized_response`.
Coordinates are IEEE 754 doubles: `low` and `high`, then micro-ρ of `gaussian`; or the cuts.
"""

import struct
from fractions import Fraction

from dither_client import Gaussian, Laplace, Query, RandomizedResponse
from dither_client.epsilon import MICRO

__all__ = ["n_answers", "pack_query", "unpack_query"]

_HEADER = struct.Struct(">BBIH")
_MECHANISMS = (Laplace.mechanism, RandomizedResponse.mechanism, Gaussian.mechanism)
_TRANSFORMS = ("identity", "log")


def pack_query(query: Query) -> bytes:
    """The packing of `query`. Raises `TypeError` for a mechanism that has none."""
    if isinstance(query, Laplace):
        coordinates: tuple[float, ...] = (query.low, query.high)
    elif isinstance(query, RandomizedResponse):
        coordinates = query.cuts
    elif isinstance(query, Gaussian):
        coordinates = (query.low, query.high, float(query.rho * MICRO))
    else:
        raise TypeError(f"{type(query).__name__} has no packing")
    header = _HEADER.pack(
        _MECHANISMS.index(query.mechanism),
        _TRANSFORMS.index(query.transform),
        int(query.epsilon * MICRO),
        query.n_answers - 1,
    )
    return header + struct.pack(f">{len(coordinates)}d", *coordinates)


def unpack_query(packed: bytes) -> Query:
    """The query that `pack_query` packed."""
    mechanism, transform, micro, largest = _HEADER.unpack_from(packed)
    coordinates = struct.unpack(f">{(len(packed) - _HEADER.size) // 8}d", packed[_HEADER.size :])
    epsilon = Fraction(micro, MICRO)
    if _MECHANISMS[mechanism] == Laplace.mechanism:
        low, high = coordinates
        return Laplace(low, high, largest, epsilon, _TRANSFORMS[transform])
    if _MECHANISMS[mechanism] == Gaussian.mechanism:
        low, high, micro_rho = coordinates
        return Gaussian(low, high, largest, Fraction(int(micro_rho), MICRO), epsilon, _TRANSFORMS[transform])
    return RandomizedResponse(coordinates, epsilon, _TRANSFORMS[transform])


def n_answers(packed: bytes) -> int:
    """How many answers the packed query has, without unpacking it."""
    return int.from_bytes(packed[6:8], "big") + 1
