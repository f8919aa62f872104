"""The fields of a specification, one by one: each function reads one from JSON or raises `SpecificationError`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal
from unicodedata import normalize

import numpy as np

from dither_client import Transform
from dither_client.mechanisms.epsilon import epsilon_text, wire_epsilon
from dither_client.mechanisms.grouped_randomized_response import MAX_CATEGORIES, GroupedRandomizedResponse
from dither_client.mechanisms.query import MAX_EPSILON
from dither_client.typed_numbers import MAX_DECIMALS
from dither_estimator.design.goal import Goal, parse_goal
from dither_estimator.design.laplace import PAPER_LEVELS
from dither_estimator.design.registry import MECHANISMS, STATING_RHO, Mechanism
from dither_estimator.families import Family, find_family
from dither_estimator.families.categorical import Categorical
from dither_estimator.families.nonparametric import Nonparametric
from dither_estimator.families.several import Several
from dither_estimator.nonparametric.support import LARGEST, Support
from dither_estimator.specification.texts import is_line

__all__ = [
    "CATEGORICAL",
    "DEFAULT_PARTICLES",
    "MAXIMUM_OF_LOGARITHMS",
    "MAX_LEVELS",
    "NONPARAMETRIC",
    "SEVERAL",
    "Policy",
    "SpecificationError",
    "epsilon_of",
    "given",
    "only_levels",
    "read_around",
    "read_bounds",
    "read_categories",
    "read_choice",
    "read_epsilon",
    "read_epsilon_choices",
    "read_family",
    "read_goal",
    "read_integer",
    "read_policy",
    "read_range",
    "read_rho",
    "read_support",
    "refuse_fields_of_families",
    "refuse_fields_of_numbers",
]

NONPARAMETRIC = Nonparametric()
CATEGORICAL = Categorical()
SEVERAL = Several()
MAX_ATOMS = 16
DEFAULT_PARTICLES = 1_000
_NARROWEST_RANGE = 1e-12
"""The least width of a range in the coordinate, as a share of its size."""
_RANGE_MARGIN = 0.01
"""The share of a range that is left out at each end: a bound has no coordinate."""
MAXIMUM_OF_LOGARITHMS = "maximum must be above 0 when transform is log: raise maximum or leave transform out"
MAX_LEVELS = 64
"""The most levels of a question about a distribution: each cell of each question is a row of what is computed."""
_MIN_NUMBERS = 4_096
"""The fewest numbers that lie between minimum and maximum, since cuts are different numbers."""
_OF_FAMILIES = ("prior", "families", "misfit_check", "misfit_looks", "discriminate", "member_cuts")
"""Fields that say something about a family."""

_OF_NUMBERS = ("range", "minimum", "maximum", "atoms", "levels", "rho", "unit", "period_of_value", "decimals")
"""Fields that say something about numbers, which categories are not."""
MAX_CATEGORY = 100
"""The most characters of a category's text."""

MAX_CHOICES = 16
"""The most values of ε that respondents may choose from: each has questions of its own."""


class SpecificationError(ValueError):
    """A specification cannot be used; the message says in one sentence what is wrong and what is allowed."""


@dataclass(frozen=True)
class Policy:
    """How questions are chosen: by expected variance reduction, by posterior draws, or always on the same interval."""

    name: Literal["adaptive", "thompson", "fixed"]
    interval: tuple[float, float] | None = None
    """`low` and `high` of the policy `fixed`, on the transformed scale."""


def given(data: Mapping[str, Any], field: str, default: str) -> Any:
    """The field's value, even if falsy; only null or a missing field stands for the default."""
    value = data.get(field)
    return default if value is None else value


def read_family(name: Any) -> Family:
    """The family with this name; `NONPARAMETRIC` if it is that, or if there is none, and `CATEGORICAL`."""
    if name is None or name == NONPARAMETRIC.name:
        return NONPARAMETRIC
    if name == CATEGORICAL.name:
        return CATEGORICAL
    try:
        return find_family(name)
    except ValueError as error:
        others = "" if str(name).startswith("student_t:") else f", or {NONPARAMETRIC.name} or {CATEGORICAL.name}"
        raise SpecificationError(f"{error}{others}") from None


def read_support(data: Mapping[str, Any]) -> Support:
    """Where the values of a distribution without a family lie, and the atoms among them; from 0 on with `log`.

    Values that may be typed with so many `decimals` have no more.
    """
    transform = read_choice("transform", given(data, "transform", "identity"), NONPARAMETRIC.transforms)
    atoms = () if data.get("atoms") is None else data["atoms"]
    if not isinstance(atoms, list | tuple) or len(atoms) > MAX_ATOMS:
        raise SpecificationError(f"atoms must be a list of at most {MAX_ATOMS} numbers")
    if transform == "log" and data.get("maximum") is not None and _finite("maximum", data["maximum"]) <= 0:
        raise SpecificationError(MAXIMUM_OF_LOGARITHMS)
    decimals = read_integer("decimals", data.get("decimals"), None, 0, MAX_DECIMALS)
    return replace(_support(data, {"minimum": 0.0} if transform == "log" else {}, atoms), decimals=decimals)


def read_bounds(data: Mapping[str, Any]) -> Support:
    """The bounds that devices hold values to where there is a family, which says by itself where values lie."""
    if data.get("atoms") is not None:
        raise SpecificationError("atoms cannot go with a family: leave family out, or leave atoms out")
    return _support(data, {}, ())


def _support(data: Mapping[str, Any], usual: Mapping[str, float], atoms: Sequence[Any]) -> Support:
    limits = dict(usual)
    limits |= {name: _finite(name, data[name]) for name in ("minimum", "maximum") if data.get(name) is not None}
    low, high = limits.get("minimum", -math.inf), limits.get("maximum", math.inf)
    if low < high < low + _MIN_NUMBERS * math.ulp(max(abs(low), abs(high))):
        raise SpecificationError(
            "minimum and maximum must be further apart: numbers of their size are so coarse that fewer than "
            f"{_MIN_NUMBERS:,} lie between them"
        )
    points = sorted({_finite("each of atoms", atom) for atom in atoms})
    if len({f"{point:.12g}" for point in points}) < len(points):
        raise SpecificationError("atoms must differ in their first 12 digits, by which results name them")
    try:
        return Support(limits.get("minimum"), limits.get("maximum"), tuple(points))
    except ValueError as error:
        raise SpecificationError(str(error)) from None


def read_categories(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts of the categories, in the order in which they are numbered."""
    values = data.get("categories")
    if not isinstance(values, list | tuple) or not 2 <= len(values) <= MAX_CATEGORIES:
        raise SpecificationError(f"categories must be a list of 2 to {MAX_CATEGORIES} texts")
    for value in values:
        if not isinstance(value, str) or not is_line(value) or value != value.strip():
            raise SpecificationError("each of categories must be a printable text without blanks around it")
        if len(value) > MAX_CATEGORY:
            raise SpecificationError(f"each of categories must have at most {MAX_CATEGORY} characters")
    if len({normalize("NFC", value) for value in values}) < len(values):
        raise SpecificationError("categories must all be different, in more than how their letters are composed")
    return tuple(values)


def refuse_fields_of_numbers(data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if a field or a value is given that categories cannot have."""
    for name in (*_OF_FAMILIES, *_OF_NUMBERS):
        if _is_given(data, name):
            raise SpecificationError(f"{name} cannot go with categories, which are no numbers: leave {name} out")
    own = {
        "transform": "identity",
        "goal": "categories",
        "policy": "adaptive",
        "mechanism": GroupedRandomizedResponse.mechanism,
    }
    for name, only in own.items():
        if given(data, name, only) not in (only, "all" if name == "goal" else only):
            raise SpecificationError(f"{name} must be {only} for categories, or be left out")


def read_around(support: Support, data: Mapping[str, Any]) -> tuple[float, float] | None:
    """The `range` of most values of a distribution without a family, in their own units."""
    if data.get("range") is None:
        return None
    low, high = read_range("identity", data["range"])
    if data.get("minimum") is None and support.minimum is not None and low < support.minimum:
        raise SpecificationError("range must not begin below 0 when transform is log")
    least, most = support.bounds("identity")
    if low < least:
        raise SpecificationError("range must not begin below minimum")
    if high > most:
        raise SpecificationError("range must not end above maximum")
    usable = max(abs(low), abs(high)) <= LARGEST
    if usable:
        ends = low + (high - low) * np.array([_RANGE_MARGIN, 1 - _RANGE_MARGIN])
        first, last = support.smooth_coordinate(ends).tolist()
        usable = last - first > max(_NARROWEST_RANGE * max(abs(first), abs(last)), 1 / LARGEST)
    if not usable:
        raise SpecificationError(f"range must be of numbers that are at most {LARGEST:g} and not all but equal")
    return low, high


def refuse_fields_of_families(data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if a field or a value is given that needs a family."""
    for name in _OF_FAMILIES:
        if _is_given(data, name):
            raise SpecificationError(f"{name} needs a family: give family, such as normal, or leave {name} out")
    if given(data, "policy", "adaptive") == "thompson":
        raise SpecificationError("policy thompson needs a family: give family, such as normal, or leave policy out")


def _is_given(data: Mapping[str, Any], name: str) -> bool:
    """Whether a field says anything: without a check of the fit it may be false."""
    return data.get(name) is not None and not (name == "misfit_check" and data[name] is False)


def read_goal(support: Support, goal: Any) -> Goal:
    """The goal of a collection without a family. Raises `InvalidGoal` too."""
    found = parse_goal("distribution" if goal is None else goal, NONPARAMETRIC)
    low, high = support.bounds("identity")
    if not all(low <= value < high for value in found.values):
        raise SpecificationError("the goal must ask for shares above values from minimum on, below maximum")
    return found


def _finite(name: str, value: Any) -> float:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if not number or not -LARGEST <= value <= LARGEST:
        raise SpecificationError(f"{name} must be a number, at most {LARGEST:g} in size")
    return float(value) + 0.0  # no -0.0


def read_choice(field: str, value: Any, allowed: tuple[str, ...]) -> Any:
    """Return the value if it is one of `allowed`."""
    if value not in allowed:
        raise SpecificationError(f"{field} must be one of {', '.join(allowed)}")
    return value


def read_epsilon(field: str, value: Any) -> Fraction:
    """Read ε of one answer, at most `MAX_EPSILON`; raises `InvalidEpsilon` unless it is a positive decimal."""
    if value is None:
        raise SpecificationError(f"{field} is required: a number above 0")
    epsilon = wire_epsilon(value, field)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(f"{field} must be at most {MAX_EPSILON}")
    return epsilon


def read_epsilon_choices(default: Any, values: Any) -> tuple[Fraction, ...]:
    """The values of ε that respondents may choose from, increasing, including the `default`."""
    epsilon = read_epsilon("epsilon", default)
    if values is None:
        return (epsilon,)
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_CHOICES:
        raise SpecificationError(f"epsilon_choices must be a list of 1 to {MAX_CHOICES} numbers above 0")
    choices = tuple(sorted({read_epsilon("each of epsilon_choices", value) for value in values}))
    if epsilon not in choices:
        raise SpecificationError("epsilon, the default for those who do not choose, must be one of epsilon_choices")
    return choices


def read_rho(data: Mapping[str, Any], mechanism: Mechanism) -> Fraction | None:
    """Read ρ if it is given instead of ε; raises `InvalidEpsilon` unless it is a positive decimal."""
    if data.get("rho") is None:
        return None
    if mechanism not in STATING_RHO:
        raise SpecificationError(f"rho is for the mechanism {' or '.join(STATING_RHO)} only: give epsilon")
    if data.get("epsilon") is not None or data.get("epsilon_choices") is not None:
        raise SpecificationError("give either epsilon or rho, and epsilon_choices only with epsilon")
    return wire_epsilon(data["rho"], "rho")


def epsilon_of(mechanism: Mechanism, rho: Fraction, levels: int | None) -> Fraction:
    """The largest ε of a question with this ρ, for a mechanism that states ρ, and with this many levels if given."""
    bounds = MECHANISMS[mechanism].rho_bounds
    assert bounds is not None
    epsilon = bounds.largest_epsilon(rho, levels)
    if epsilon > MAX_EPSILON:
        raise SpecificationError(
            f"rho must be smaller: its epsilon, {epsilon_text(epsilon)}, would be above {MAX_EPSILON}"
        )
    return epsilon


def only_levels(levels: int | None, policy: Policy) -> int | None:
    """The number of levels of every question; None if the design chooses it."""
    return levels or (None if policy.interval is None else PAPER_LEVELS)


def read_integer(field: str, value: Any, default: Any, low: int, high: int) -> Any:
    """An integer from `low` to `high`; `default` if the value is None."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SpecificationError(f"{field} must be an integer from {low:,} to {high:,}")
    return value


def read_policy(value: Any) -> Policy:
    """Read a policy such as `adaptive` or `fixed:-1:1`."""
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


def read_range(transform: Transform, limits: Any) -> tuple[float, float]:
    """The range of most values, on the transformed scale."""
    try:
        usable = isinstance(limits, list | tuple) and not any(isinstance(end, bool | str) for end in limits)
        low, high = (float(end) for end in limits)
        usable = usable and bool(np.isfinite([low, high]).all()) and low < high
    except (TypeError, ValueError, OverflowError):
        usable = False
    if not usable:
        raise SpecificationError("range must be [low, high], two finite numbers with low below high")
    if transform == "identity":
        return low, high
    if low <= 0:
        raise SpecificationError("range must lie above 0 when transform is log")
    return float(np.log(low)), float(np.log(high))
