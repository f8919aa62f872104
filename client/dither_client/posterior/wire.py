"""The JSON of a posterior: the one definition of its names, its nesting and its types.

The estimator fills these in, the server sends and stores them, and derives its OpenAPI and the reference from them;
clients read them. What is below a field is its description there.
"""

from dataclasses import dataclass, field
from typing import Any

from dither_client.posterior.dataclass_json import from_json, to_json

__all__ = [
    "QUANTILES",
    "FamilyEvidence",
    "Misfit",
    "MisfitLook",
    "ParameterSummary",
    "PoisonBound",
    "PosteriorReply",
    "from_json",
    "to_json",
]

QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
"""The quantiles that a summary gives, by the names of its fields."""

_DESCRIBED: Any = {"use_attribute_docstrings": True}
"""What pydantic is told of each class, where there is pydantic."""


def _none(value: object) -> bool:
    return value is None


_LEFT_OUT_IF_NONE = {"exclude_if": _none}


def _example(value: Any) -> dict[str, Any]:
    return {"examples": [value]}


@dataclass(frozen=True, slots=True)
class ParameterSummary:
    """Of one parameter's posterior."""

    __pydantic_config__ = _DESCRIBED

    mean: float
    sd: float
    q05: float
    q25: float
    q50: float
    q75: float
    q95: float


@dataclass(frozen=True, slots=True)
class MisfitLook:
    """A look at the check answers: the rank of their misfit among replicates, uniform if the family holds."""

    __pydantic_config__ = _DESCRIBED

    check_answers: int
    answers: int
    """Learnt by then."""
    p_value: float = field(metadata=_example(0.412))
    alpha: float = field(metadata=_example(0.016666666666666666))
    """An alarm if the p-value is not above this."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """What the misfit check has found."""

    __pydantic_config__ = _DESCRIBED

    family: str = field(metadata=_example("normal"))
    check_answers: int
    """Answers that are never learnt."""
    looks: tuple[MisfitLook, ...]
    alarm: bool
    next_look: int | None = field(metadata=_example(5000))
    """The number of check answers of the next look."""


@dataclass(frozen=True, slots=True)
class FamilyEvidence:
    """How well one of several families explains the answers."""

    __pydantic_config__ = _DESCRIBED

    family: str
    transform: str
    log_evidence: float
    """Of the answers in the order in which they came, in nats."""
    mc_error: float
    """Monte Carlo standard error of `log_evidence`."""
    probability: float
    """Of this family, all weighing the same before the answers."""


@dataclass(frozen=True, slots=True)
class PoisonBound:
    """By how much a share of adversarial answers can have moved each parameter."""

    __pydantic_config__ = _DESCRIBED

    share: float = field(metadata=_example(0.01))
    shift: dict[str, float | None]
    """In the parameter's own units; null where there is no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorReply:
    """The posterior of every answer learnt so far."""

    __pydantic_config__ = _DESCRIBED

    posterior: dict[str, ParameterSummary]
    covariance: tuple[tuple[float, ...], ...]
    answers: int
    """Learnt so far."""
    answers_by_epsilon: dict[str, int] = field(metadata=_example({"0.5": 310, "2": 894}))
    """How many of them came at each ε."""
    institutions: int
    """How many of them have shared counts of their members that are learnt."""
    members: int = 0
    """How many members those counted."""
    ess: float
    """Effective sample size of the particles."""
    log_evidence: float
    particles: int
    moves: int
    queries: int
    """Distinct questions answered."""
    poison: PoisonBound
    misfit: Misfit | None
    """Null where `misfit_check` is off."""
    families: tuple[FamilyEvidence, ...] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """If several are compared."""
    verdict: str | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """If several are compared: which is preferred, or `cannot tell yet`."""
    updated_at: str = field(metadata=_example("2026-01-31T12:00:00.000Z"))
