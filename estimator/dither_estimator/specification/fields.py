"""The fields of a specification, one by one: each reads what JSON says and raises `SpecificationError`."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from dither_client import Transform
from dither_client.mechanisms.epsilon import epsilon_text, wire_epsilon
from dither_client.mechanisms.member_counts import MAX_CUTS
from dither_client.mechanisms.query import MAX_EPSILON
from dither_estimator.checks.goodness_of_fit import MisfitCheck
from dither_estimator.design.laplace import PAPER_LEVELS
from dither_estimator.design.registry import MECHANISMS, STATING_RHO, Mechanism
from dither_estimator.families import Family, find_family
from dither_estimator.priors.prior import Prior, parse_prior

__all__ = [
    "Policy",
    "SpecificationError",
    "epsilon_of",
    "given",
    "only_levels",
    "read_choice",
    "read_discriminate",
    "read_epsilon",
    "read_epsilon_choices",
    "read_family",
    "read_integer",
    "read_member_cuts",
    "read_misfit_check",
    "read_policy",
    "read_prior",
    "read_rho",
]

DEFAULT_CHECK_SHARE = 0.2
DEFAULT_LOOKS = (500, 5_000, 50_000)
"""Numbers of check answers: at a share of 0.2 about a fifth of 2,500, 25,000 and 250,000 answers in all."""
MAX_LOOKS = 20
MAX_LOOK = 1_000_000_000
DEFAULT_DISCRIMINATE = 0.3

MAX_CHOICES = 16
"""The most ε a collection can leave to its respondents' choice: each has questions of its own."""


class SpecificationError(ValueError):
    """A specification that cannot be used; the text says in one sentence what is wrong and what is allowed."""


@dataclass(frozen=True)
class Policy:
    """How questions are chosen: by expected variance reduction, by one posterior draw, or always the same interval."""

    name: Literal["adaptive", "thompson", "fixed"]
    interval: tuple[float, float] | None = None
    """`low` and `high` of `fixed`, on the transformed scale."""


def given(data: Mapping[str, Any], field: str, default: str) -> Any:
    """The field's value, also one that is false: only null stands for the default."""
    value = data.get(field)
    return default if value is None else value


def read_family(name: Any) -> Family:
    """The family of that name."""
    try:
        return find_family(name)
    except ValueError as error:
        raise SpecificationError(str(error)) from None


def read_choice(field: str, value: Any, allowed: tuple[str, ...]) -> Any:
    """The value, if it is one of `allowed`."""
    if value not in allowed:
        raise SpecificationError(f"{field} must be one of {', '.join(allowed)}")
    return value


def read_epsilon(field: str, value: Any) -> Fraction:
    """ε of one answer, at most `MAX_EPSILON`; raises `InvalidEpsilon` for what is no positive decimal."""
    if value is None:
        raise SpecificationError(f"{field} is required: a number above 0")
    epsilon = wire_epsilon(value, field)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(f"{field} must be at most {MAX_EPSILON}")
    return epsilon


def read_epsilon_choices(default: Any, values: Any) -> tuple[Fraction, ...]:
    """What respondents may choose from, increasing, with the `default` among them."""
    epsilon = read_epsilon("epsilon", default)
    if values is None:
        return (epsilon,)
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_CHOICES:
        raise SpecificationError(f"epsilon_choices must be a list of 1 to {MAX_CHOICES} numbers above 0")
    choices = tuple(sorted({read_epsilon("each of epsilon_choices", value) for value in values}))
    if epsilon not in choices:
        raise SpecificationError("epsilon, which those who do not choose get, must be one of epsilon_choices")
    return choices


def read_rho(data: Mapping[str, Any], mechanism: Mechanism) -> Fraction | None:
    """ρ, if it is given in place of ε; raises `InvalidEpsilon` for what is no positive decimal."""
    if data.get("rho") is None:
        return None
    if mechanism not in STATING_RHO:
        raise SpecificationError(f"rho goes with the mechanism {' or '.join(STATING_RHO)} alone: give epsilon")
    if data.get("epsilon") is not None or data.get("epsilon_choices") is not None:
        raise SpecificationError("give either epsilon or rho, and epsilon_choices with epsilon alone")
    return wire_epsilon(data["rho"], "rho")


def epsilon_of(mechanism: Mechanism, rho: Fraction, levels: int | None) -> Fraction:
    """The largest ε of a question of a mechanism that states ρ, with this one, of so many levels if they are given."""
    bounds = MECHANISMS[mechanism].rho_bounds
    assert bounds is not None
    epsilon = bounds.largest_epsilon(rho, levels)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(
            f"rho must be smaller: its epsilon, {epsilon_text(epsilon)}, would be above {MAX_EPSILON}"
        )
    return epsilon


def only_levels(levels: int | None, policy: Policy) -> int | None:
    """The number of levels of every question; None where the design chooses."""
    return levels or (None if policy.interval is None else PAPER_LEVELS)


def read_integer(field: str, value: Any, default: Any, low: int, high: int) -> Any:
    """The integer from `low` to `high`; `default` if there is none."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SpecificationError(f"{field} must be an integer from {low:,} to {high:,}")
    return value


def read_policy(value: Any) -> Policy:
    """The policy that a text such as `fixed:-1:1` names."""
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


def read_misfit_check(family: Family, share: Any, looks: Any) -> MisfitCheck | None:
    """The misfit check with that share of the respondents and those looks; None if there is none."""
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


def read_member_cuts(transform: Transform, rho: Fraction | None, values: Any) -> tuple[float, ...] | None:
    """Where institutions count their members, given in the values' own units, on the transformed scale."""
    if values is None:
        return None
    if rho is not None:
        raise SpecificationError("member_cuts need epsilon: the counts of members have no rho")
    wrong = SpecificationError(f"member_cuts must be a list of 1 to {MAX_CUTS} finite numbers that increase strictly")
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_CUTS:
        raise wrong
    if any(isinstance(x, bool) or not isinstance(x, int | float | Decimal) for x in values):
        raise wrong
    try:
        cuts = np.array([float(x) for x in values])
    except OverflowError:
        raise wrong from None
    if transform == "log":
        if not (cuts > 0).all():
            raise SpecificationError("member_cuts must lie above 0 when transform is log")
        cuts = np.log(cuts)
    if not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise wrong
    return tuple(cuts.tolist())


def read_discriminate(data: Mapping[str, Any], policy: Policy) -> float:
    """The share of the questions that are chosen to tell `families` apart; 0 without any."""
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


def read_prior(family: Family, transform: Transform, data: Mapping[str, Any]) -> Prior:
    """The prior that is given, that of the `range`, or the family's default. Raises `InvalidPrior` too."""
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
