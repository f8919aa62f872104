"""The respondent's side of Dither, and the analyst's: queries, exact noise, the ledger, and the clients of a server."""

from importlib import import_module
from typing import TYPE_CHECKING

from dither_client.errors import (
    AlreadyAnswered,
    AnswerExpired,
    BadResponse,
    DitherError,
    InvalidAddress,
    InvalidEpsilon,
    InvalidGroup,
    InvalidQuery,
    InvalidTable,
    InvalidValue,
    LedgerError,
    NotYourTurn,
    OverCap,
    Problem,
    ServerError,
    Unreachable,
)
from dither_client.extras import MissingExtra
from dither_client.mechanisms.component_query import ComponentQuery
from dither_client.mechanisms.components import Component
from dither_client.mechanisms.gaussian import Gaussian
from dither_client.mechanisms.gaussian_epsilon import gaussian_epsilon, gaussian_rho
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.interval import IntervalQuery
from dither_client.mechanisms.joint_query import JointQuery
from dither_client.mechanisms.laplace import Laplace
from dither_client.mechanisms.member_counts import MemberCounts
from dither_client.mechanisms.query import Query, Transform
from dither_client.mechanisms.randomized_response import RandomizedResponse
from dither_client.mechanisms.registry import parse_query
from dither_client.mechanisms.staircase import Staircase
from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior
from dither_client.protocol.flow import Retry
from dither_client.protocol.messages import Receipt, Shared, Terms

if TYPE_CHECKING:
    from dither_client.admin import Admin
    from dither_client.analyst import Analyst, AnsweredQuery, InstitutionCounts
    from dither_client.client import AsyncClient, Client
    from dither_client.ledger.memory import MemoryLedger
    from dither_client.ledger.protocol import Charge, LedgerProtocol
    from dither_client.ledger.sqlite import Ledger

__all__ = [
    "Admin",
    "AlreadyAnswered",
    "Analyst",
    "AnswerExpired",
    "AnsweredQuery",
    "AsyncClient",
    "BadResponse",
    "Charge",
    "Client",
    "Component",
    "ComponentQuery",
    "DitherError",
    "Gaussian",
    "GroupedRandomizedResponse",
    "InstitutionCounts",
    "IntervalQuery",
    "InvalidAddress",
    "InvalidEpsilon",
    "InvalidGroup",
    "InvalidQuery",
    "InvalidTable",
    "InvalidValue",
    "JointQuery",
    "Laplace",
    "Ledger",
    "LedgerError",
    "LedgerProtocol",
    "MemberCounts",
    "MemoryLedger",
    "MissingExtra",
    "NotYourTurn",
    "OverCap",
    "Particles",
    "Posterior",
    "Problem",
    "Query",
    "RandomizedResponse",
    "Receipt",
    "Retry",
    "ServerError",
    "Shared",
    "Staircase",
    "Terms",
    "Transform",
    "Unreachable",
    "gaussian_epsilon",
    "gaussian_rho",
    "parse_query",
]

_NEED_HTTP = {
    "Admin": "admin",
    "Analyst": "analyst",
    "AnsweredQuery": "analyst",
    "AsyncClient": "client",
    "Charge": "ledger.protocol",
    "Client": "client",
    "InstitutionCounts": "analyst",
    "Ledger": "ledger.sqlite",
    "LedgerProtocol": "ledger.protocol",
    "MemoryLedger": "ledger.memory",
}
"""The module of each name that needs HTTP: imported on first use, since whoever only reads a query needs none."""

if not TYPE_CHECKING:  # a checker would take every name for one that there is

    def __getattr__(name: str) -> object:
        if name not in _NEED_HTTP:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_NEED_HTTP[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NEED_HTTP})
