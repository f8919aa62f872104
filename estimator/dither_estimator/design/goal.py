"""The goal of a collection: weights on the variances of parameters, or of what is asked about the population.

A goal names parameters of a family, or functions of the distribution, which every family has: its quantiles, the shares
above some values, and the whole distribution.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from dither_client import Transform
from dither_estimator.families import Family, FloatArray

__all__ = ["DISTRIBUTION", "MAX_NAMED", "Goal", "InvalidGoal", "parse_goal"]


MAX_WEIGHT = 1e6
"""With larger weights, rounding would determine a parameter of small weight."""
_LEAST_WEIGHT = 1e-30
"""Products of smaller ones are no floats."""
MAX_NAMED = 16
"""The most quantiles, and the most values, that a goal names."""
MIN_LEVEL = 1e-4
"""Quantiles nearer to either end are known from so few people that nothing but a family can tell them."""
_MAX_NUMBER = 1e300

Weighted = tuple[tuple[float, float], ...]
"""Numbers with their weights."""


class InvalidGoal(ValueError):
    """The goal names what there is not, or a weight is not a valid number."""


@dataclass(frozen=True)
class Goal:
    """A design minimises the sum of these variances, each with its weight; only the positive weights are kept.

    A goal has weights of parameters or of functions of the distribution, not of both.
    """

    weights: tuple[tuple[str, float], ...] = ()
    """The weight of each parameter's variance, in the order of the family's parameters."""
    quantiles: Weighted = ()
    """The weight of each quantile's variance: pairs of level and weight, levels increasing."""
    above: Weighted = ()
    """The weight of the variance of the share above each value: pairs of value, in its own units, and weight."""
    distribution: float = 0.0
    """The weight of the mean variance `∫ Var F(x) dF(x)` of the distribution function over the population."""
    transform: Transform = "identity"
    """The scale on which the family holds, and to which the values of `above` are brought."""

    def vector(self, family: Family) -> FloatArray:
        """The weights in the order of the family's parameters, shape (d,)."""
        given = dict(self.weights)
        return np.array([given.get(name, 0.0) for name in family.names])

    @property
    def of_parameters(self) -> bool:
        """Whether the goal names parameters, not functions of the distribution."""
        return bool(self.weights)

    @property
    def of_shares(self) -> bool:
        """Whether the goal is about shares of the people, whose variances have no unit.

        A goal of quantiles alone weights their variances, on the scale on which the family holds. Beside shares, which
        have another unit, a quantile counts as the share of the people below it: its variance times the squared density
        there.
        """
        return bool(self.above) or self.distribution > 0

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the quantiles that it names."""
        return tuple(level for level, _ in self.quantiles)

    @property
    def values(self) -> tuple[float, ...]:
        """The values, in their own units, above which it asks for the share."""
        return tuple(value for value, _ in self.above)

    @property
    def cuts(self) -> tuple[float, ...]:
        """The values of `values`, on the scale on which the family holds."""
        return tuple(math.log(value) for value in self.values) if self.transform == "log" else self.values

    def with_cuts(self, cuts: Sequence[float]) -> "Goal":
        """The same goal about shares above other points, given on the scale on which the family holds."""
        if not self.above:
            return self
        weighted = zip(cuts, (weight for _, weight in self.above), strict=True)
        return replace(self, above=tuple((float(cut), weight) for cut, weight in weighted), transform="identity")

    def to_json(self) -> dict[str, Any]:
        """The mapping that `parse_goal` reads, with every weight."""
        if self.of_parameters:
            return dict(self.weights)
        named = {"quantiles": self.quantiles, "above": self.above}
        parts: dict[str, Any] = {
            name: {_exact(number): weight for number, weight in some} for name, some in named.items() if some
        }
        return parts | ({"distribution": self.distribution} if self.distribution else {})

    def __str__(self) -> str:
        """The text that `parse_goal` reads."""
        if self.of_parameters:
            return ",".join(f"{name}={weight:.12g}" for name, weight in self.weights)
        parts = [f"quantiles={_listed(self.quantiles)}"] if self.quantiles else []
        parts += [f"above={_listed(self.above)}"] if self.above else []
        parts += [f"distribution={self.distribution:.12g}"] if self.distribution else []
        return ",".join(parts)


DISTRIBUTION = Goal(distribution=1.0)
"""The goal to learn the whole distribution."""


def parse_goal(goal: object, family: Family, transform: Transform = "identity") -> Goal:
    """Parse a goal as specifications, files and the command line have it.

    A text is `all`, a parameter's name, weights such as `mu=1,sigma=2`, `distribution`, `quantiles=0.5,0.9:2` or
    `above=1000`, and these three together, separated by commas, each number with a weight after a colon if it is not 1.
    A mapping is `{"mu": 1, "sigma": 2}`, or has `quantiles` and `above`, each a list or a mapping of weights, and
    `distribution`, a weight. `all` gives each parameter of the family weight 1; without parameters it is the whole
    distribution. Raises `InvalidGoal`.
    """
    if isinstance(goal, Goal):
        return _of_parameters(dict(goal.weights), family) if goal.of_parameters else goal
    if isinstance(goal, str):
        goal = _read(goal.strip(), family)
    if not isinstance(goal, Mapping):
        raise InvalidGoal(_allowed(family))
    if set(goal) <= _FUNCTIONS.keys() and goal:
        return _of_functions(goal, family, transform)
    return _of_parameters(goal, family)


def _read(text: str, family: Family) -> Mapping[str, Any]:
    """The mapping that a text writes."""
    if text == "all":
        return dict.fromkeys(family.names, 1.0) or {"distribution": 1.0}
    if text == "distribution":
        return {text: 1.0}
    if "=" not in text:
        return {text: 1.0}
    parts: dict[str, list[str]] = {}
    name = ""
    for part in text.split(","):
        if "=" in part:
            name, part = part.split("=", 1)
            name = name.strip()
            if name in parts:
                raise InvalidGoal(f"the goal names {'a parameter' if name in family.names else 'the same'} twice")
        parts.setdefault(name, []).append(part.strip())
    return {name: _read_numbers(name, numbers, family) for name, numbers in parts.items()}


def _read_numbers(name: str, texts: list[str], family: Family) -> Any:
    """A weight; for quantiles and values, numbers with their weights."""
    try:
        if name not in ("quantiles", "above"):
            [number] = texts
            return float(number)
        pairs = [(float(number), float(weight or 1)) for number, _, weight in (text.partition(":") for text in texts)]
    except ValueError:
        raise InvalidGoal(_allowed(family)) from None
    return _distinct(name, pairs)


def _of_parameters(weights: Mapping[Any, Any], family: Family) -> Goal:
    if not set(weights) <= set(family.names):
        raise InvalidGoal(_allowed(family))
    for name, weight in weights.items():
        _check_weight(name, weight)
    positive = tuple((name, float(weights[name])) for name in family.names if weights.get(name, 0) > 0)
    if not positive:
        raise InvalidGoal("the goal needs a positive weight on at least one parameter")
    return Goal(positive)


def _of_functions(given: Mapping[str, Any], family: Family, transform: Transform) -> Goal:
    fields = {name: _FUNCTIONS[name](name, value) for name, value in given.items()}
    goal = Goal(transform=transform, **fields)
    if not (goal.quantiles or goal.of_shares):
        raise InvalidGoal("the goal needs a positive weight on at least one of quantiles, above and distribution")
    if not all(MIN_LEVEL <= level <= 1 - MIN_LEVEL for level in goal.levels):
        raise InvalidGoal(f"each of the goal's quantiles must be a share from {MIN_LEVEL:g} to {1 - MIN_LEVEL:g}")
    if transform == "log" and not all(value > 0 for value in goal.values):
        raise InvalidGoal("the goal's values must lie above 0 when transform is log: above them is everybody")
    if family.parameters and not family.location_scale and not all(_asks(family, cut) for cut in goal.cuts):
        raise InvalidGoal(f"the goal asks for the share above a value that no member of {family.name} can have")
    return goal if goal.above else replace(goal, transform="identity")


def _weight(name: str, value: Any) -> float:
    return float(_check_weight(name, value))


def _weighted(name: str, value: Any) -> Weighted:
    """The numbers of a list, or of a mapping of weights, with positive weights; increasing."""
    if isinstance(value, Mapping):
        pairs = [(_number(name, number), _weight(name, weight)) for number, weight in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(_number(name, number), 1.0) for number in value]
    else:
        raise InvalidGoal(f"{name} of the goal must be a list of numbers, or an object with a weight for each")
    if not 1 <= len(pairs) <= MAX_NAMED:
        raise InvalidGoal(f"{name} of the goal must be 1 to {MAX_NAMED} numbers")
    return tuple(sorted((number, weight) for number, weight in _distinct(name, pairs).items() if weight > 0))


def _distinct(name: str, pairs: Sequence[tuple[float, float]]) -> dict[float, float]:
    weights = dict(pairs)
    if len({f"{number:.12g}" for number in weights}) < len(pairs):  # as results name them
        raise InvalidGoal(f"the goal names one of {name} twice, to 12 digits")
    return weights


def _number(name: str, value: Any) -> float:
    """A number, which as the name of a weight is a text."""
    wrong = InvalidGoal(f"each of the goal's {name} must be a number, at most {_MAX_NUMBER:g} in size")
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise wrong
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise wrong from None
    if not abs(number) <= _MAX_NUMBER:
        raise wrong
    return number + 0.0  # no -0.0


def _check_weight(name: str, weight: Any) -> Any:
    number = isinstance(weight, int | float | Decimal) and not isinstance(weight, bool)
    if not (number and 0 <= weight <= MAX_WEIGHT):
        raise InvalidGoal(f"the goal's weight of {name} must be a number from 0 to {MAX_WEIGHT:g}")
    if 0 < weight < _LEAST_WEIGHT:
        raise InvalidGoal(f"the goal's weight of {name} must be 0 or at least {_LEAST_WEIGHT:g}")
    return weight


_FUNCTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "quantiles": _weighted,
    "above": _weighted,
    "distribution": _weight,
}


def _asks(family: Family, cut: float) -> bool:
    """Whether some member of the family has people on both sides of the cut."""
    steps = np.linspace(-20.0, 20.0, 21)
    offsets = np.stack(np.meshgrid(*[steps] * len(family.parameters)), axis=-1).reshape(-1, len(family.parameters))
    members = family.constrain(family.unconstrain(family.standard[np.newaxis]) + offsets)
    below = family.cdf(members, np.array([cut]))[:, 0]
    return bool(((below > 0) & (below < 1)).any())


def _listed(weighted: Weighted) -> str:
    return ",".join(_exact(number) + (f":{weight:.12g}" if weight != 1 else "") for number, weight in weighted)


def _exact(number: float) -> str:
    """The number in few digits if these are exact, else in as many as it needs."""
    short = f"{number:.12g}"
    return short if float(short) == number else repr(number)


def _allowed(family: Family) -> str:
    functions = "distribution, quantiles=0.5 or above=1000"
    if not family.names:
        return f"goal must be {functions} without a family"
    example = ",".join(f"{name}=1" for name in family.names)
    return f"goal must be all, one of {', '.join(family.names)}, weights such as {example}, or {functions}"
