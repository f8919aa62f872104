"""Queries as short canonical bytes for tickets: each query has exactly one packing.

A packing is a header, the answers of `staircase`, and the coordinates, all big-endian.

- Header: mechanism (1 byte), transform (1), micro-ε (4), and the largest answer (2), which is `levels` of `laplace` and
  `gaussian` and the number of cuts of `randomized_response`. The high bit of the transform's byte is set if the answer
  is for the goodness-of-fit check and not for learning.
- Answers, for `staircase` only: a weight (4) and a set (8) for each answer; cell `k` is in the set if bit `k` is 1.
- Coordinates: IEEE 754 doubles. `laplace` has `low` and `high`, `gaussian` has micro-ρ as well, the others have cuts.
"""

import struct
from fractions import Fraction
from typing import Literal

from dither_client import Gaussian, Laplace, Query, RandomizedResponse, Staircase
from dither_client.mechanisms.epsilon import MICRO

__all__ = ["Purpose", "n_answers", "pack_query", "purpose_of", "unpack_query"]

Purpose = Literal["training", "check"]
"""The purpose of an answer: `training` answers are learnt, `check` answers only check the family's fit."""

_HEADER = struct.Struct(">BBIH")
_MECHANISMS = (Laplace.mechanism, RandomizedResponse.mechanism, Gaussian.mechanism, Staircase.mechanism)
_ANSWER = struct.Struct(">IQ")
_TRANSFORMS = ("identity", "log")
_CHECK = 0x80


def pack_query(query: Query, purpose: Purpose = "training") -> bytes:
    """The packing of `query` for this purpose. Raises `TypeError` for a mechanism without a packing."""
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
    """The query that `pack_query` packed, for either purpose."""
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
    """The number of possible answers to a packed query, read without unpacking it."""
    return (packed[6] << 8 | packed[7]) + 1


def purpose_of(packed: bytes) -> Purpose:
    """The purpose of the answer to a packed query."""
    return "check" if packed[1] & _CHECK else "training"
