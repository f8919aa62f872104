"""The statistical part of a collection's specification: what is estimated, from which answers, asked how."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from dither_client import DitherError, InvalidQuery, Laplace, Query, RandomizedResponse, Transform
from dither_client.epsilon import wire_epsilon
from dither_client.queries import MAX_CELLS, MAX_EPSILON
from dither_estimator.design import DesignError, Mechanism, optimal_design
from dither_estimator.families import Family, find_family
from dither_estimator.goals import Goal, InvalidGoal, parse_goal
from dither_estimator.priors import InvalidPrior, Prior, parse_prior

__all__ = ["Policy", "Specification", "SpecificationError"]

SERVICE_FIELDS = frozenset({"name", "opens_at", "closes_at", "max_answers", "admission", "visibility"})
"""Fields of a collection that the statistics have no use for."""

_FIELDS = (
    "family", "transform", "prior", "range", "epsilon", "epsilon_choices", "goal", "policy", "mechanism", "levels",
    "particles",
)  # fmt: skip

DEFAULT_PARTICLES = 1_000

MAX_CHOICES = 16
"""The most ε a collection can leave to its respondents' choice: each has questions of its own."""

_PAPER_LEVELS = 64
"""At this many levels the mechanism is the papers' clipped Laplace to within anything that can be measured."""


class SpecificationError(ValueError):
    """A specification that cannot be used; the text says in one sentence what is wrong and what is allowed."""


@dataclass(frozen=True)
class Policy:
    """How questions are chosen: by expected variance reduction, by one posterior draw, or always the same interval."""

    name: Literal["adaptive", "thompson", "fixed"]
    interval: tuple[float, float] | None = None
    """`low` and `high` of `fixed`, on the transformed scale."""


@dataclass(frozen=True)
class Specification:
    """A validated specification; `from_json` makes it."""

    family: Family
    transform: Transform
    prior: Prior
    epsilon: Fraction
    goal: Goal
    policy: Policy
    mechanism: Mechanism
    levels: int | None
    """Levels of `laplace`, cells less one of `randomized_response`; None leaves them to the design."""
    particles: int
    epsilon_choices: tuple[Fraction, ...]
    """What respondents may choose from, increasing: `epsilon`, which those who do not choose get, and others."""

    def fixed_query(self, epsilon: Fraction) -> Query | None:
        """The question of policy `fixed` at ε, whose `levels` default to the papers' noise; None for other policies."""
        if self.policy.interval is None:
            return None
        low, high = self.policy.interval
        if self.mechanism == "laplace":
            return Laplace(low, high, self.levels or _PAPER_LEVELS, epsilon, self.transform)
        cuts = [(low + high) / 2] if self.levels == 1 else np.linspace(low, high, self.levels or 2).tolist()
        return RandomizedResponse(cuts, epsilon, self.transform)

    def _check_questions(self) -> None:
        """Raises `SpecificationError` or `InvalidQuery` unless the questions that are asked for can be made."""
        if self.mechanism == "staircase" and self.policy.name == "fixed":
            raise SpecificationError("policy must be adaptive or thompson for staircase, which asks about no interval")
        for epsilon in self.epsilon_choices:
            if self.fixed_query(epsilon) is not None or self.levels is None:
                continue
            try:
                optimal_design(self.family, self.family.standard, self.mechanism, epsilon, self.goal, self.levels)
            except (DesignError, InvalidQuery) as error:
                raise SpecificationError(f"levels cannot be {self.levels} here: {error}") from None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Specification":
        """The specification that a JSON object describes; service fields are passed over.

        Raises `SpecificationError`.
        """
        if not isinstance(data, Mapping):
            raise SpecificationError("a specification must be a JSON object")
        unknown = sorted(set(map(str, data)) - SERVICE_FIELDS - set(_FIELDS))
        if unknown:
            raise SpecificationError(f"unknown field in the specification; allowed are {', '.join(_FIELDS)}")
        family = _family(data.get("family"))
        transform = _choice(f"transform of {family.name}", data.get("transform") or "identity", family.transforms)
        try:
            specification = cls(
                family=family,
                transform=transform,
                prior=_prior(family, transform, data),
                epsilon=_epsilon("epsilon", data.get("epsilon")),
                goal=parse_goal(data.get("goal") or "all", family),
                policy=_policy(data.get("policy") or "adaptive"),
                mechanism=_choice("mechanism", data.get("mechanism") or "laplace", get_args(Mechanism)),
                levels=_integer("levels", data.get("levels"), None, 1, MAX_CELLS - 1),
                particles=_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, 1_000_000),
                epsilon_choices=_epsilon_choices(data.get("epsilon"), data.get("epsilon_choices")),
            )
            specification._check_questions()
        except (InvalidPrior, InvalidGoal, DitherError) as error:
            raise SpecificationError(str(error)) from None
        return specification


def _family(name: Any) -> Family:
    try:
        return find_family(name)
    except ValueError as error:
        raise SpecificationError(str(error)) from None


def _choice(field: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise SpecificationError(f"{field} must be one of {', '.join(allowed)}")
    return value


def _epsilon(field: str, value: Any) -> Fraction:
    if value is None:
        raise SpecificationError(f"{field} is required: a number above 0")
    epsilon = wire_epsilon(value)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(f"{field} must be at most {MAX_EPSILON}")
    return epsilon


def _epsilon_choices(default: Any, values: Any) -> tuple[Fraction, ...]:
    epsilon = _epsilon("epsilon", default)
    if values is None:
        return (epsilon,)
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_CHOICES:
        raise SpecificationError(f"epsilon_choices must be a list of 1 to {MAX_CHOICES} numbers above 0")
    choices = tuple(sorted({_epsilon("each of epsilon_choices", value) for value in values}))
    if epsilon not in choices:
        raise SpecificationError("epsilon, which those who do not choose get, must be one of epsilon_choices")
    return choices


def _integer(field: str, value: Any, default: Any, low: int, high: int) -> Any:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SpecificationError(f"{field} must be an integer from {low:,} to {high:,}")
    return value


def _policy(value: Any) -> Policy:
    if value in ("adaptive", "thompson"):
        return Policy(value)
    parts = value.split(":") if isinstance(value, str) else []
    if len(parts) == 3 and parts[0] == "fixed":
        try:
            low, high = float(parts[1]), float(parts[2])
        except ValueError:
            low, high = np.nan, np.nan
        if np.isfinite([low, high]).all() and low < high:
            return Policy("fixed", (low, high))
    raise SpecificationError("policy must be adaptive, thompson or fixed:LOW:HIGH with LOW below HIGH")


def _prior(family: Family, transform: Transform, data: Mapping[str, Any]) -> Prior:
    prior, limits = data.get("prior"), data.get("range")
    if prior is not None and limits is not None:
        raise SpecificationError("give either prior or range, not both")
    if prior is not None:
        return parse_prior(family, prior)
    if limits is None:
        return parse_prior(family, family.default_prior(transform))
    return parse_prior(family, family.range_prior(*_range(transform, limits)))


def _range(transform: Transform, limits: Any) -> tuple[float, float]:
    """The range on the transformed scale."""
    try:
        low, high = (float(end) for end in limits)
        usable = not isinstance(limits, str) and bool(np.isfinite([low, high]).all()) and low < high
    except (TypeError, ValueError, OverflowError):
        usable = False
    if not usable:
        raise SpecificationError("range must be [low, high], two finite numbers with low below high")
    if transform == "identity":
        return low, high
    if low <= 0:
        raise SpecificationError("range must lie above 0 when transform is log")
    return float(np.log(low)), float(np.log(high))
