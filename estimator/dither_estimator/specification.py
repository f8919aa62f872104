"""The statistical part of a collection's specification: what is estimated, from which answers, asked how."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from dither_client import DitherError, InvalidQuery, Query, RandomizedResponse, Transform
from dither_client.epsilon import epsilon_text, wire_epsilon
from dither_client.queries import MAX_CELLS, MAX_EPSILON
from dither_estimator.design import DesignError, Mechanism, optimal_design
from dither_estimator.design_gaussian import largest_epsilon, largest_rho
from dither_estimator.families import Family, find_family
from dither_estimator.goals import Goal, InvalidGoal, parse_goal
from dither_estimator.interval_questions import interval_question
from dither_estimator.misfit import MisfitCheck
from dither_estimator.priors import InvalidPrior, Prior, parse_prior
from dither_estimator.rivals import InvalidFamilies, Rival, first_family, parse_rivals

__all__ = ["Policy", "Specification", "SpecificationError"]

SERVICE_FIELDS = frozenset({"name", "opens_at", "closes_at", "max_answers", "admission", "visibility"})
"""Fields of a collection that the statistics have no use for."""

EXACT_FIELDS = frozenset({"epsilon", "epsilon_choices", "rho"})
"""Fields whose numbers are the decimals that were written, and never pass through a float."""

_FIELDS = (
    "family", "transform", "prior", "range", "epsilon", "epsilon_choices", "rho", "goal", "policy", "mechanism",
    "levels", "particles", "misfit_check", "misfit_looks", "families", "discriminate",
)  # fmt: skip

DEFAULT_PARTICLES = 1_000

DEFAULT_CHECK_SHARE = 0.2
DEFAULT_LOOKS = (500, 5_000, 50_000)
"""Numbers of check answers: at a share of 0.2 about a fifth of 2,500, 25,000 and 250,000 answers in all."""
MAX_LOOKS = 20
MAX_LOOK = 1_000_000_000
DEFAULT_DISCRIMINATE = 0.3

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
    misfit_check: MisfitCheck | None
    """None where there is none."""
    rivals: tuple[Rival, ...]
    """Families that are compared with `family` over the same answers."""
    discriminate: float
    """The share of the questions that are chosen to tell the families apart; 0 without rivals."""
    rho: Fraction | None = None
    """Of every question of `gaussian`, if it was given in place of ε, which is then the largest of any question."""

    def fixed_query(self, epsilon: Fraction) -> Query | None:
        """The question of policy `fixed` at ε, whose `levels` default to the papers' noise; None for other policies."""
        if self.policy.interval is None:
            return None
        low, high = self.policy.interval
        question = interval_question(self.mechanism, self.levels or _PAPER_LEVELS, epsilon, self.rho)
        if question is not None:
            return question.on(low, high, self.transform)
        cuts = [(low + high) / 2] if self.levels == 1 else np.linspace(low, high, self.levels or 2).tolist()
        return RandomizedResponse(cuts, epsilon, self.transform)

    @property
    def largest_rho(self) -> Fraction | None:
        """The ρ of zero-concentrated differential privacy that no question goes beyond; None if none is stated."""
        if self.mechanism != "gaussian" or self.rho is not None:
            return self.rho
        levels = _only_levels(self.levels, self.policy)
        return max(largest_rho(epsilon, levels) for epsilon in self.epsilon_choices)

    def _check_questions(self) -> None:
        """Raises `SpecificationError` or `InvalidQuery` unless the questions that are asked for can be made."""
        if self.mechanism == "staircase" and self.policy.name == "fixed":
            raise SpecificationError("policy must be adaptive or thompson for staircase, which asks about no interval")
        if self.mechanism == "gaussian":
            _ = self.largest_rho
        for epsilon in self.epsilon_choices:
            if self.fixed_query(epsilon) is not None or self.levels is None:
                continue
            try:
                optimal_design(
                    self.family, self.family.standard, self.mechanism, epsilon, self.goal, self.levels, rho=self.rho
                )
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
        try:
            data = first_family(data)
        except InvalidFamilies as error:
            raise SpecificationError(str(error)) from None
        family = _family(data.get("family"))
        transform = _choice(f"transform of {family.name}", _given(data, "transform", "identity"), family.transforms)
        try:
            mechanism = _choice("mechanism", _given(data, "mechanism", "laplace"), get_args(Mechanism))
            prior = _prior(family, transform, data)
            policy = _policy(_given(data, "policy", "adaptive"))
            levels = _integer("levels", data.get("levels"), None, 1, MAX_CELLS - 1)
            rho = _rho(data, mechanism)
            epsilon = data.get("epsilon") if rho is None else _epsilon_of(rho, _only_levels(levels, policy))
            specification = cls(
                family=family,
                transform=transform,
                prior=prior,
                epsilon=_epsilon("epsilon", epsilon),
                goal=parse_goal(_given(data, "goal", "all"), family),
                policy=policy,
                mechanism=mechanism,
                levels=levels,
                particles=_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, 1_000_000),
                epsilon_choices=_epsilon_choices(epsilon, data.get("epsilon_choices")),
                misfit_check=_misfit_check(family, data.get("misfit_check"), data.get("misfit_looks")),
                rivals=parse_rivals(data, prior, transform),
                discriminate=_discriminate(data, policy),
                rho=rho,
            )
            specification._check_questions()
        except (InvalidPrior, InvalidGoal, InvalidFamilies, DitherError) as error:
            raise SpecificationError(str(error)) from None
        return specification


def _given(data: Mapping[str, Any], field: str, default: str) -> Any:
    """The field's value, also one that is false: only null stands for the default."""
    value = data.get(field)
    return default if value is None else value


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


def _rho(data: Mapping[str, Any], mechanism: Mechanism) -> Fraction | None:
    """ρ, if it is given in place of ε."""
    if data.get("rho") is None:
        return None
    if mechanism != "gaussian":
        raise SpecificationError("rho goes with the mechanism gaussian alone: give epsilon")
    if data.get("epsilon") is not None or data.get("epsilon_choices") is not None:
        raise SpecificationError("give either epsilon or rho, and epsilon_choices with epsilon alone")
    return wire_epsilon(data["rho"], "rho")


def _epsilon_of(rho: Fraction, levels: int | None) -> Fraction:
    epsilon = largest_epsilon(rho, levels)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(
            f"rho must be smaller: its epsilon, {epsilon_text(epsilon)}, would be above {MAX_EPSILON}"
        )
    return epsilon


def _only_levels(levels: int | None, policy: Policy) -> int | None:
    """The number of levels of every question; None where the design chooses."""
    return levels or (None if policy.interval is None else _PAPER_LEVELS)


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


def _misfit_check(family: Family, share: Any, looks: Any) -> MisfitCheck | None:
    if share is None or share is False:
        if looks is not None:
            raise SpecificationError("misfit_looks is for collections with misfit_check")
        return None
    if family.name == "bernoulli":
        raise SpecificationError("misfit_check is not for bernoulli, which fits every population of zeros and ones")
    if share is True:
        share = DEFAULT_CHECK_SHARE
    if isinstance(share, str) or not isinstance(share, int | float | Decimal) or not 0 < share <= 0.5:
        raise SpecificationError("misfit_check must be true, false, or a share above 0 and at most 0.5")
    return MisfitCheck(float(share), _looks(looks))


def _looks(values: Any) -> tuple[int, ...]:
    if values is None:
        return DEFAULT_LOOKS
    wrong = SpecificationError(
        f"misfit_looks must be a list of 1 to {MAX_LOOKS} numbers of check answers, whole, above 0 and increasing"
    )
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_LOOKS:
        raise wrong
    if any(isinstance(x, bool) or not isinstance(x, int) or not 0 < x <= MAX_LOOK for x in values):
        raise wrong
    if any(low >= high for low, high in pairwise(values)):
        raise wrong
    return tuple(values)


def _discriminate(data: Mapping[str, Any], policy: Policy) -> float:
    value = data.get("discriminate")
    if value is None:
        return 0.0 if data.get("families") is None or policy.name == "fixed" else DEFAULT_DISCRIMINATE
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 <= value <= 1:
        raise SpecificationError("discriminate must be a number from 0 to 1, the share of the questions")
    if data.get("families") is None:
        raise SpecificationError("discriminate needs families to compare")
    if value > 0 and policy.name == "fixed":
        raise SpecificationError("discriminate must be 0 with a fixed policy, which asks one question alone")
    return float(value)


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
