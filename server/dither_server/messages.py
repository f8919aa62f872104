"""The shapes of what goes over HTTP, for validation and for OpenAPI. Collections' specifications are in `specs.py`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dither_server.access import Role
from dither_server.collections import State
from dither_server.specs import Admission, Visibility
from dither_server.tickets import MAX_TICKET

__all__ = [
    "MAX_COUNT",
    "AnswersReply",
    "BatchBody",
    "BatchReply",
    "BatchReplyItem",
    "GaussianQuery",
    "HistoryReply",
    "LaplaceQuery",
    "ParticlesReply",
    "PosteriorReply",
    "QueriesReply",
    "RandomizedResponseQuery",
    "ReceiptReply",
    "ResponseBody",
    "StaircaseQuery",
    "StateBody",
    "StatusReply",
    "TermsList",
    "TermsReply",
    "TicketReply",
    "TicketsBody",
    "TicketsReply",
    "TokenBody",
    "TokenList",
    "TokenReply",
    "TokenSecretReply",
]

MAX_COUNT = 10_000
"""Tickets, or responses, in one call."""

_TICKET = "q0AHvVvxzmWCd2XKpE2bTQAAAAFqz…"
_RECEIPT = "4f2a9c0d7be15d3386ca01f7e9b24c68"
_TIME = "2026-01-31T12:00:00.000Z"
_QUERY = {
    "mechanism": "laplace",
    "low": 6.0,
    "high": 6.25,
    "levels": 1,
    "epsilon": 1,
    "transform": "log",
}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LaplaceQuery(BaseModel):
    """On which point of an interval, with discrete Laplace noise. Answers are `0..levels`."""

    mechanism: Literal["laplace"]
    low: float = Field(description="On the transformed scale.")
    high: float
    levels: int = Field(ge=1, le=1024)
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class RandomizedResponseQuery(BaseModel):
    """In which cell, by randomised response. Answers are `0..len(cuts)`: how many cuts lie strictly below."""

    mechanism: Literal["randomized_response"]
    cuts: list[float] = Field(min_length=1, max_length=1023, description="Increasing, on the transformed scale.")
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class StaircaseQuery(BaseModel):
    """One of some sets of cells, likelier one that holds the own cell. Answers are `0..len(sets) - 1`."""

    mechanism: Literal["staircase"]
    cuts: list[float] = Field(min_length=1, max_length=63, description="Increasing, on the transformed scale.")
    sets: list[list[int]] = Field(min_length=2, max_length=64, description="The cells of each answer, from 0.")
    weights: list[int] = Field(
        min_length=2, max_length=64, description="One for each set, such that those that hold a cell have one sum."
    )
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class GaussianQuery(BaseModel):
    """On which point of an interval, with discrete Gaussian noise. Answers are `0..levels`."""

    mechanism: Literal["gaussian"]
    low: float = Field(description="On the transformed scale.")
    high: float
    levels: int = Field(ge=1, le=1024)
    rho: int | float = Field(gt=0, le=50, description="ρ of zero-concentrated privacy, the exact decimal.")
    epsilon: int | float = Field(gt=0, le=50, description="The pure ε of the clipped noise, or more: what it costs.")
    transform: Literal["identity", "log"]


Query = LaplaceQuery | RandomizedResponseQuery | StaircaseQuery | GaussianQuery


class TicketsBody(_Body):
    """How many tickets; one, in a reply of its own shape, if left out."""

    count: int | None = Field(default=None, ge=1, le=MAX_COUNT, examples=[100])
    epsilon: int | float | str | None = Field(
        default=None,
        description="One of the collection's `epsilon_choices`, chosen without regard to the value; its `epsilon` if "
        "left out. A string is read as the decimal it writes.",
        examples=[0.5],
    )


class TicketReply(BaseModel):
    """The right to answer one question once."""

    ticket: str = Field(examples=[_TICKET])
    query: Query = Field(examples=[_QUERY])
    expires_at: str = Field(examples=[_TIME])


class TicketsReply(BaseModel):
    """Many tickets, each with a question of its own."""

    tickets: list[TicketReply]


class ResponseBody(_Body):
    """A private answer, which the respondent's own device has drawn."""

    ticket: str = Field(max_length=MAX_TICKET, description="As it was issued.", examples=[_TICKET])
    answer: int = Field(ge=0, le=1024, description="One of the answers to the ticket's query.", examples=[1])


class ReceiptReply(BaseModel):
    """The answer is stored for good; the same ticket and answer always get the same receipt."""

    receipt: str = Field(examples=[_RECEIPT])


class BatchBody(_Body):
    """Many answers, each with a fate of its own."""

    responses: list[ResponseBody] = Field(max_length=MAX_COUNT)


class BatchReplyItem(BaseModel):
    """What became of one answer: a receipt, or a problem's type and detail."""

    status: int = Field(examples=[201])
    receipt: str | None = Field(default=None, examples=[_RECEIPT])
    type: str | None = None
    detail: str | None = None


class BatchReply(BaseModel):
    """What became of each answer, in order."""

    responses: list[BatchReplyItem]


class StateBody(_Body):
    """The state to be in; closed is final."""

    state: State = Field(examples=["paused"])


class TermsReply(BaseModel):
    """What anyone may know of a collection."""

    id: str = Field(examples=["k3xw8c2nqa"])
    name: str = Field(examples=["Weekly wages"])
    family: str = Field(examples=["normal"])
    transform: Literal["identity", "log"]
    epsilon: int | float = Field(examples=[1])
    epsilon_choices: list[int | float] | None = Field(
        description="What respondents choose from before they ask for a ticket; null if `epsilon` is for everyone."
    )
    rho: int | float | None = Field(description="ρ of zero-concentrated privacy, where the mechanism states one.")
    mechanism: str = Field(examples=["laplace"])
    goal: Any = Field(examples=["all"])
    policy: str = Field(examples=["adaptive"])
    levels: int | None
    state: State
    answers: int = Field(description="Stored so far.", examples=[1204])
    created_at: str = Field(examples=[_TIME])
    opens_at: str | None
    closes_at: str | None
    max_answers: int | None
    admission: Admission
    visibility: Visibility
    advice: str | None
    notice: str | None = Field(description="What a respondent has to know before choosing; null if nothing is chosen.")


class TermsList(BaseModel):
    """Every collection, the newest first."""

    collections: list[TermsReply]


class ParameterSummary(BaseModel):
    """Of one parameter's posterior."""

    mean: float
    sd: float
    q05: float
    q25: float
    q50: float
    q75: float
    q95: float


class MisfitLook(BaseModel):
    """A look at the check answers: the rank of their misfit among replicates, uniform if the family holds."""

    check_answers: int
    answers: int = Field(description="Learnt by then.")
    p_value: float = Field(examples=[0.412])
    alpha: float = Field(description="An alarm if the p-value is not above this.", examples=[0.016666666666666666])


class Misfit(BaseModel):
    """What the misfit check has found."""

    family: str = Field(examples=["normal"])
    check_answers: int = Field(description="Answers that are never learnt.")
    looks: list[MisfitLook]
    alarm: bool
    next_look: int | None = Field(description="The number of check answers of the next look.", examples=[5000])


class FamilyEvidence(BaseModel):
    """How well one of several families explains the answers."""

    family: str
    transform: str
    log_evidence: float = Field(description="Of the answers in the order in which they came, in nats.")
    mc_error: float = Field(description="Monte Carlo standard error of `log_evidence`.")
    probability: float = Field(description="Of this family, all weighing the same before the answers.")


class PoisonBound(BaseModel):
    """By how much a share of adversarial answers can have moved each parameter."""

    share: float = Field(examples=[0.01])
    shift: dict[str, float | None] = Field(description="In the parameter's own units; null where there is no bound.")


class PosteriorReply(BaseModel):
    """The posterior of every answer learnt so far."""

    posterior: dict[str, ParameterSummary]
    covariance: list[list[float]]
    answers: int = Field(description="Learnt so far.")
    answers_by_epsilon: dict[str, int] = Field(
        description="How many of them came at each ε.", examples=[{"0.5": 310, "2": 894}]
    )
    ess: float = Field(description="Effective sample size of the particles.")
    log_evidence: float
    particles: int
    moves: int
    queries: int = Field(description="Distinct questions answered.")
    poison: PoisonBound
    misfit: Misfit | None = Field(description="Null where `misfit_check` is off.")
    families: list[FamilyEvidence] | None = Field(default=None, description="If several are compared.")
    verdict: str | None = Field(
        default=None, description="If several are compared: which is preferred, or `cannot tell yet`."
    )
    updated_at: str = Field(examples=[_TIME])


class HistoryItem(BaseModel):
    """The posterior after so many answers, and a question that was asked then."""

    answers: int
    at: str = Field(examples=[_TIME])
    posterior: dict[str, ParameterSummary]
    ess: float
    query: Query


class HistoryReply(BaseModel):
    """The posterior's trajectory: a row when the answers have grown by about 2%."""

    history: list[HistoryItem]


class ParticlesReply(BaseModel):
    """The posterior itself, as weighted particles."""

    parameters: list[str] = Field(examples=[["mu", "sigma"]])
    particles: list[list[float]]
    weights: list[float]


class QueriesItem(BaseModel):
    """One question, and how often it was answered."""

    id: str
    query: Query
    answers: int
    counts: list[int] | None = Field(default=None, description="By answer; for those who may read the posterior.")


class QueriesReply(BaseModel):
    """Every question answered so far for one purpose."""

    queries: list[QueriesItem]


class AnswersItem(BaseModel):
    """One stored answer."""

    query_id: str
    purpose: Literal["training", "check"] = Field(description="Whether it is learnt, or for the misfit check.")
    answer: int
    received_at: str = Field(examples=[_TIME])


class AnswersReply(BaseModel):
    """A page of answers, in no particular order; `next` leads to the following page."""

    answers: list[AnswersItem]
    next: str | None


class TokenBody(_Body):
    """A token to be made."""

    role: Role = Field(examples=["analyst"])
    name: str = Field(default="", max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["Ada"])


class TokenReply(BaseModel):
    """A token without its secret."""

    id: str
    role: Role
    name: str
    created_at: str = Field(examples=[_TIME])


class TokenSecretReply(TokenReply):
    """A new token; its secret is shown this once."""

    token: str = Field(examples=["dither_analyst_…"])


class TokenList(BaseModel):
    """Every token that can be revoked."""

    tokens: list[TokenReply]


class StatusReply(BaseModel):
    """A word on how the server is."""

    status: str = Field(examples=["ok"])
