"""What has been learnt: the posterior, its history, its particles, the questions and the answers."""

from typing import Literal

from pydantic import BaseModel, Field

from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import Query

__all__ = [
    "AnswersItem",
    "AnswersReply",
    "FamilyEvidence",
    "HistoryItem",
    "HistoryReply",
    "Misfit",
    "MisfitLook",
    "ParameterSummary",
    "ParticlesReply",
    "PoisonBound",
    "PosteriorReply",
    "QueriesItem",
    "QueriesReply",
]


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
    institutions: int = Field(description="How many of them have shared counts of their members that are learnt.")
    members: int = Field(default=0, description="How many members those counted.")
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
    updated_at: str = Field(examples=[EXAMPLE_TIME])


class HistoryItem(BaseModel):
    """The posterior after so many answers, and a question that was asked then."""

    answers: int
    at: str = Field(examples=[EXAMPLE_TIME])
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
    received_at: str = Field(examples=[EXAMPLE_TIME])


class AnswersReply(BaseModel):
    """A page of answers, in no particular order; `next` leads to the following page."""

    answers: list[AnswersItem]
    next: str | None
