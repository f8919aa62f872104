"""Queries as short canonical bytes, for tickets: one question, one packing.

A packing is a header and the coordinates, big-endian. Header: mechanism (1 byte), transform (1), micro-ε (4), and the
largest answer (2), which is `levels` of `laplace` and `gaussian` and the number of cuts of `randomized_response`.
Coordinates are IEEE 754 doubles: `low` and `high`, then micro-ρ of `gaussian`; or the cuts. Before the cuts of
`staircase` come a weight (4) and a set (8) for each answer; cell `k` is in the set if bit `k` is 1. The high bit of the
transform's byte is set where the answer is for the misfit check, and not for learning.
"""

import struct
from fractions import Fraction
from typing import Literal

from dither_client import Gaussian, Laplace, Query, RandomizedResponse, Staircase
from dither_client.mechanisms.epsilon import MICRO

__all__ = ["Purpose", "n_answers", "pack_query", "purpose_of", "unpack_query"]

Purpose = Literal["training", "check"]
"""What an answer is for: to be learnt, or to check the family, and then never to be learnt."""

_HEADER = struct.Struct(">BBIH")
_MECHANISMS = (Laplace.mechanism, RandomizedResponse.mechanism, Gaussian.mechanism, Staircase.mechanism)
_ANSWER = struct.Struct(">IQ")
_TRANSFORMS = ("identity", "log")
_CHECK = 0x80


def pack_query(query: Query, purpose: Purpose = "training") -> bytes:
    """The packing of `query` asked for that purpose. Raises `TypeError` for a mechanism that has none."""
    answers = b""
    if isinstance(query, Laplace):
        coordinates: tuple[float, ...] = (query.low, query.high)
    elif isinstance(query, RandomizedResponse):
        coordinates = query.cuts
    elif isinstance(query, Gaussian):
        coordinates = (query.low, query.high, float(query.rho * MICRO))
    elif isinstance(query, Staircase):
        coordinates = query.cuts
        pairs = zip(query.weights, query.sets, strict=True)
        answers = b"".join(_ANSWER.pack(weight, sum(1 << cell for cell in some)) for weight, some in pairs)
    else:
        raise TypeError(f"{type(query).__name__} has no packing")
    header = _HEADER.pack(
        _MECHANISMS.index(query.mechanism),
        _TRANSFORMS.index(query.transform) | (_CHECK if purpose == "check" else 0),
        int(query.epsilon * MICRO),
        query.n_answers - 1,
    )
    return header + answers + struct.pack(f">{len(coordinates)}d", *coordinates)


def unpack_query(packed: bytes) -> Query:
    """The query that `pack_query` packed, whatever for."""
    mechanism, flagged, micro, largest = _HEADER.unpack_from(packed)
    transform = _TRANSFORMS[flagged & ~_CHECK]
    name, start = _MECHANISMS[mechanism], _HEADER.size
    if name == Staircase.mechanism:
        start += (largest + 1) * _ANSWER.size
    coordinates = struct.unpack(f">{(len(packed) - start) // 8}d", packed[start:])
    epsilon = Fraction(micro, MICRO)
    if name == Laplace.mechanism:
        low, high = coordinates
        return Laplace(low, high, largest, epsilon, transform)
    if name == Gaussian.mechanism:
        low, high, micro_rho = coordinates
        return Gaussian(low, high, largest, Fraction(int(micro_rho), MICRO), epsilon, transform)
    if name == Staircase.mechanism:
        answers = list(_ANSWER.iter_unpack(packed[_HEADER.size : start]))
        sets = [[cell for cell in range(bits.bit_length()) if bits >> cell & 1] for _, bits in answers]
        return Staircase(coordinates, sets, [weight for weight, _ in answers], epsilon, transform)
    return RandomizedResponse(coordinates, epsilon, transform)


def n_answers(packed: bytes) -> int:
    """How many answers the packed query has, without unpacking it."""
    return (packed[6] << 8 | packed[7]) + 1


def purpose_of(packed: bytes) -> Purpose:
    """What the answer to the packed query is for."""
    return "check" if packed[1] & _CHECK else "training"
