"""The posterior's history and particles, the questions and the answers.

The posterior itself is `dither_client.posterior.wire.PosteriorReply`.
"""

from typing import Literal

from pydantic import BaseModel, Field

from dither_client.posterior.wire import ParameterSummary
from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import Query

__all__ = [
    "AnswersItem",
    "AnswersReply",
    "HistoryItem",
    "HistoryReply",
    "ParticlesReply",
    "QueriesItem",
    "QueriesReply",
]


class HistoryItem(BaseModel):
    """The posterior after a number of answers, and a question that was asked then."""

    answers: int
    at: str = Field(examples=[EXAMPLE_TIME])
    posterior: dict[str, ParameterSummary]
    ess: float
    query: Query


class HistoryReply(BaseModel):
    """The posterior over time: one row whenever the answers have grown by about 2%."""

    history: list[HistoryItem]


class ParticlesReply(BaseModel):
    """The posterior as weighted particles."""

    parameters: list[str] = Field(examples=[["mu", "sigma"]])
    particles: list[list[float]]
    weights: list[float]


class QueriesItem(BaseModel):
    """A question, and how often it was answered."""

    id: str
    query: Query
    group: str | None = Field(default=None, description="Whose answers they are, where the collection has groups.")
    period: str | None = Field(
        default=None, description="When it was asked, where the collection has periods.", examples=["2026-W07"]
    )
    answers: int
    counts: list[int] | None = Field(
        default=None, description="The count of each answer, for those who may read the posterior."
    )


class QueriesReply(BaseModel):
    """Every question answered so far for one purpose."""

    queries: list[QueriesItem]


class AnswersItem(BaseModel):
    """One stored answer."""

    ticket: str = Field(description="Names the ticket that it answered: a hash, which tells nothing else of it.")
    query_id: str
    purpose: Literal["training", "check"] = Field(
        description="Whether it is learnt, or used for the goodness-of-fit check."
    )
    group: str | None = Field(default=None, description="Whose answer it is; left out where there are no groups.")
    period: str | None = Field(
        default=None,
        description="When its question was asked; left out where there are no periods.",
        examples=["2026-W07"],
    )
    answer: int
    received_at: str = Field(examples=[EXAMPLE_TIME])


class AnswersReply(BaseModel):
    """A page of answers, in no particular order; `next` is the cursor of the next page."""

    answers: list[AnswersItem]
    next: str | None
    closed: bool | None = Field(
        default=None, description="With `day`: whether no more answers of that day can come. Otherwise null."
    )
