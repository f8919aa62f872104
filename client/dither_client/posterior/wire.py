"""The JSON of a posterior: the one definition of its names, its nesting and its types.

The estimator fills these in; the server sends and stores them, and derives its OpenAPI and the reference from them;
clients read them. The text below a field is its description in these documents.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

from dither_client.posterior.dataclass_json import from_json, to_json

__all__ = [
    "QUANTILES",
    "Bands",
    "ComponentReply",
    "DistributionSummary",
    "DriftTest",
    "FamilyEvidence",
    "GroupReply",
    "Misfit",
    "MisfitLook",
    "ParameterSummary",
    "PeriodReply",
    "PoisonBound",
    "PosteriorReply",
    "Regression",
    "from_json",
    "to_json",
]

QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
"""The quantiles that a summary gives, by the names of its fields."""

_DESCRIBED: Any = {"use_attribute_docstrings": True}
"""Pydantic's configuration of each class, used if pydantic is installed."""


_NORMAL = NormalDist()
_INFINITE_IF_NULL = {"infinite_if_null": True, "json_schema_extra": {"type": ["number", "null"]}}
_LEFT_OUT_IF_NONE = {"exclude_if": lambda value: value is None}


def _example(value: Any) -> dict[str, Any]:
    return {"examples": [value]}


@dataclass(frozen=True, slots=True)
class ParameterSummary:
    """A summary of the posterior of one number."""

    __pydantic_config__ = _DESCRIBED

    mean: float = field(metadata=_INFINITE_IF_NULL)
    """Null, in Python infinite, if floating point cannot hold it."""
    sd: float = field(metadata=_INFINITE_IF_NULL)
    """Null, in Python infinite, if floating point cannot hold it."""
    q05: float
    q25: float
    q50: float
    q75: float
    q95: float

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The central interval that holds `level` of the posterior: exact for 0.5 and 0.9, else by interpolation.

        The interpolation is linear in the normal score. Raises `ValueError`.
        """
        if not 0 < level < 1:
            raise ValueError("the level of an interval must be above 0 and below 1")
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def _quantile(self, probability: float) -> float:
        for name, known in QUANTILES.items():
            if math.isclose(probability, known):
                return float(getattr(self, name))
        scores = [_NORMAL.inv_cdf(known) for known in QUANTILES.values()]
        values = [getattr(self, name) for name in QUANTILES]
        score = _NORMAL.inv_cdf(probability)
        right = min(max(bisect_left(scores, score), 1), len(scores) - 1)
        share = (score - scores[right - 1]) / (scores[right] - scores[right - 1])
        return float(values[right - 1] + share * (values[right] - values[right - 1]))


@dataclass(frozen=True, slots=True)
class Bands:
    """The posterior of a curve, point by point."""

    __pydantic_config__ = _DESCRIBED

    mean: tuple[float, ...]
    q05: tuple[float, ...]
    q25: tuple[float, ...]
    q50: tuple[float, ...]
    q75: tuple[float, ...]
    q95: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DistributionSummary:
    """The posterior of the population's distribution, at points that hold all but a thousandth of it."""

    __pydantic_config__ = _DESCRIBED

    x: tuple[float, ...]
    """At most 257 increasing values, in the values' own units. Before an atom, unless it comes first, is the number
    below it, so that the distribution function jumps in between."""
    cdf: Bands
    """The share of the population at or below each point."""
    density: Bands
    """The density, atoms excepted; of integers, the probability of each."""


@dataclass(frozen=True, slots=True)
class MisfitLook:
    """A look at the check answers: the rank of their misfit among replicates, uniform if the family holds."""

    __pydantic_config__ = _DESCRIBED

    check_answers: int
    answers: int
    """The number of answers learnt by then."""
    p_value: float = field(metadata=_example(0.412))
    alpha: float = field(metadata=_example(0.016666666666666666))
    """The look raises an alarm if the p-value is at most this."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """The result of the goodness-of-fit check."""

    __pydantic_config__ = _DESCRIBED

    family: str = field(metadata=_example("normal"))
    check_answers: int
    """The number of answers used for checking, which are never learnt."""
    looks: tuple[MisfitLook, ...]
    alarm: bool
    next_look: int | None = field(metadata=_example(5000))
    """The number of check answers of the next look."""
    transform: str = field(default="identity", metadata=_example("identity"))
    """The scale on which the family was checked."""


NO_FAMILY = "nonparametric"
"""What a distribution without a family is called beside families."""


@dataclass(frozen=True, slots=True)
class FamilyEvidence:
    """How well one of several families, or a distribution without one, explains the answers."""

    __pydantic_config__ = _DESCRIBED

    family: str
    transform: str
    log_evidence: float
    """The log evidence of the answers in the order in which they came, in nats."""
    mc_error: float
    """Monte Carlo standard error of `log_evidence`."""
    probability: float
    """The posterior probability of this family, if all are equally probable a priori."""
    of: str | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """What of the values it describes, if not themselves: `the distance above 100`, `the way from 0 to 10`."""


@dataclass(frozen=True, slots=True)
class PoisonBound:
    """The most that a share of adversarial answers can have moved each parameter."""

    __pydantic_config__ = _DESCRIBED

    share: float = field(metadata=_example(0.01))
    shift: dict[str, float | None]
    """The largest shift of each parameter, in its own units; null if there is no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReply:
    """The posterior of one public group, where a collection has groups."""

    __pydantic_config__ = _DESCRIBED

    answers: int
    """The number of answers learnt of this group."""
    posterior: dict[str, ParameterSummary]
    """The group's parameters; empty without a family."""
    covariance: tuple[tuple[float, ...], ...]
    borrowed: dict[str, float] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """How much of each coordinate's estimate comes from the other groups: 0 for none, 1 for all. Left out where every
    group is estimated alone, as groups without a family are: they have no parameters through which to borrow. That of
    categories is one number, of the logarithms of their shares, averaged over the group's people."""
    quantiles: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """Quantiles of the group, as those of the population."""
    above: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the group above each value that the goal names."""
    mean_value: ParameterSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The mean of the group's values; left out where it does not exist."""
    distribution: DistributionSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The group's distribution, at fewer points than the population's; of more than 100 groups, only those of the 24
    with the most answers are there."""
    atoms: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the group at each declared atom."""
    categories: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the group in each category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodReply:
    """The posterior of one calendar period, where a collection has periods."""

    __pydantic_config__ = _DESCRIBED

    start: str = field(metadata=_example("2026-02-09"))
    """The period's first day, in UTC."""
    answers: int
    """The number of answers learnt of this period."""
    posterior: dict[str, ParameterSummary]
    """The parameters in this period, with what the periods before and after say about it."""
    covariance: tuple[tuple[float, ...], ...]
    quantiles: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """Quantiles of the population in this period, in the values' own units."""
    above: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population above each value that the goal names."""
    mean_value: ParameterSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The mean of the population's values; left out where it does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentReply:
    """The posterior of one component alone, where people have several numbers."""

    __pydantic_config__ = _DESCRIBED

    answers: int
    """The number of answers learnt about this component alone."""
    posterior: dict[str, ParameterSummary]
    """The component's parameters, on its transformed scale; empty without a family."""
    covariance: tuple[tuple[float, ...], ...]
    quantiles: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """Quantiles of the component in the population, in its own units."""
    above: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population above each value that the component's goal names."""
    mean_value: ParameterSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The mean of the component's values; left out where it does not exist."""
    distribution: DistributionSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The component's distribution."""
    atoms: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population at each declared atom."""


@dataclass(frozen=True, slots=True)
class Regression:
    """How the values of one component are distributed among people with a given value of another one.

    Each of `q05` to `q95` is a quantile of the values, point by point, with its own posterior: `q50` is the conditional
    median, `q25` and `q75` are the ends of the band that holds half of the people, `q05` and `q95` of nine tenths.
    """

    __pydantic_config__ = _DESCRIBED

    x: tuple[float, ...]
    """Increasing values of the component that is given, in its own units."""
    q05: Bands
    q25: Bands
    q50: Bands
    q75: Bands
    q95: Bands


@dataclass(frozen=True, slots=True)
class DriftTest:
    """Whether one distribution explains the answers of all periods, where a collection has periods without drift."""

    __pydantic_config__ = _DESCRIBED

    log_evidence: float
    """The log Bayes factor of drift against no drift, in nats, from the answers so far."""
    highest: float
    """The highest that it was at the end of any period so far."""
    period: str = field(metadata=_example("2026-W07"))
    """The period at whose end it was highest."""
    threshold: float = field(metadata=_example(3.2188758248682006))
    """In at most 4% of collections that do not change it is ever as high."""
    alarm: bool
    """Whether `highest` is at least `threshold`, or `change` at least `change_threshold`."""
    change: float | None = field(default=None, metadata=_example(1.9))
    """How many standard errors the score of one, two or four periods in a row was at most away from those before: less
    0.4 where it is not two, and less 0.4 of a parameter that is not the one of which the answers tell most."""
    change_period: str | None = field(default=None, metadata=_example("2026-W07"))
    """The period at whose end it was so far away."""
    change_threshold: float | None = field(default=None, metadata=_example(3.47))
    """In at most 4% of collections that do not change it is ever as far within 52 periods: in at most 5% there is an
    alarm of either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorReply:
    """The posterior of every answer learnt so far."""

    __pydantic_config__ = _DESCRIBED

    posterior: dict[str, ParameterSummary]
    covariance: tuple[tuple[float, ...], ...]
    answers: int
    """The number of answers learnt so far."""
    answers_by_epsilon: dict[str, int] = field(metadata=_example({"0.5": 310, "2": 894}))
    """How many of the answers came at each ε."""
    institutions: int
    """The number of institutions whose counts are learnt."""
    members: int = 0
    """The number of members that those institutions counted."""
    ess: float
    """Effective sample size of the particles."""
    log_evidence: float | None
    """The log evidence of the family; null without a family."""
    particles: int
    moves: int
    queries: int
    """The number of distinct questions answered."""
    poison: PoisonBound
    misfit: Misfit | None
    """Null where `misfit_check` is off."""
    families: tuple[FamilyEvidence, ...] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The evidence of each family, if several compete; without a family, of none and of those that might do; of none
    and a family that is named alone, if the answers refuse it."""
    verdict: str | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The preferred family, `none of these`, or `cannot tell yet`, where families are compared; `not compared` where
    nearly everybody has one value, or one of two."""
    quantiles: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """Quantiles of the population, in the values' own units, by level: 0.05 to 0.95 and those of the goal. A quantile
    that floating point cannot hold is left out."""
    above: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population above each value that the goal names."""
    mean_value: ParameterSummary | None = None
    """The mean of the population's values; null where it does not exist, or rests on the outermost thousandth."""
    distribution: DistributionSummary | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The population's distribution; left out where floating point cannot hold it."""
    atoms: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population at each declared atom."""
    categories: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The share of the population in each category."""
    groups: dict[str, GroupReply] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The posterior of each public group by its label, in the collection's order, where it has groups; the rest then
    describes all groups together. Empty in the first seconds at a process that does not learn the collection itself."""
    between_groups: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The standard deviation between groups of each coordinate, where groups borrow from each other."""
    periods: dict[str, PeriodReply] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The posterior of each calendar period by its label, from the first with answers to the last, where the collection
    has periods; with drift, the rest describes the last one, and without, all of them as one."""
    step: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The standard deviation of the change of each coordinate from one period to the next."""
    drift_test: DriftTest | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """Left out with drift, without periods, and while nobody knows where the values lie."""
    surprise: float | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """With drift, how likely answers of the latest period are that are as far from what those before foretell, if it is
    a usual step away from them: below 0.005 there is a warning. Left out while nobody answered in an earlier period."""
    components: dict[str, ComponentReply] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The posterior of each component by its name, in the order of the terms, where people have several numbers; the
    rest then describes no population."""
    correlations: dict[str, ParameterSummary] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """The correlation of the normal scores of each two components, by their names in order, such as `wage,age`."""
    regressions: dict[str, Regression] | None = field(default=None, metadata=_LEFT_OUT_IF_NONE)
    """How the first of two components goes with the second: `wage,age` is of wages, given ages."""
    updated_at: str = field(metadata=_example("2026-01-31T12:00:00.000Z"))
