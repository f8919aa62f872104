"""The respondent's side of Dither, and the analyst's: queries, exact noise, the ledger, and the clients of a server."""

from dither_client.admin import Admin
from dither_client.analyst import Analyst, AnsweredQuery, InstitutionCounts
from dither_client.client import AsyncClient, Client
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
from dither_client.ledger.memory import MemoryLedger
from dither_client.ledger.protocol import Charge, LedgerProtocol
from dither_client.ledger.sqlite import Ledger
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
