"""The respondent's side of Dither: queries, exact noise, the ledger, and the clients of a server."""

from dither_client.errors import (
    AlreadyAnswered,
    AnswerExpired,
    BadResponse,
    DitherError,
    InvalidEpsilon,
    InvalidQuery,
    InvalidValue,
    LedgerError,
    OverCap,
    Problem,
    ServerError,
    Unreachable,
)
from dither_client.laplace import Laplace
from dither_client.queries import Query, Transform, parse_query
from dither_client.randomized_response import RandomizedResponse

__all__ = [
    "AlreadyAnswered",
    "AnswerExpired",
    "BadResponse",
    "DitherError",
    "InvalidEpsilon",
    "InvalidQuery",
    "InvalidValue",
    "Laplace",
    "LedgerError",
    "OverCap",
    "Problem",
    "Query",
    "RandomizedResponse",
    "ServerError",
    "Transform",
    "Unreachable",
    "parse_query",
]
