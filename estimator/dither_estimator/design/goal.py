"""What a collection wants to know: weights on the parameters' variances."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_estimator.families import Family, FloatArray

__all__ = ["Goal", "InvalidGoal", "parse_goal"]


MAX_WEIGHT = 1e6
"""Weights further apart than this would leave a parameter to rounding."""


class InvalidGoal(ValueError):
    """The goal names no parameter of the family, or weighs one by something that is no weight."""


@dataclass(frozen=True)
class Goal:
    """Weights by parameter: a design minimises the weighted sum of the parameters' variances.

    `weights` holds the positive ones alone, in the order of the family's parameters; the others are 0.
    """

    weights: tuple[tuple[str, float], ...]

    def vector(self, family: Family) -> FloatArray:
        """The weights in the order of the family's parameters, shape (d,)."""
        given = dict(self.weights)
        return np.array([given.get(name, 0.0) for name in family.names])

    def __str__(self) -> str:
        return ",".join(f"{name}={weight!r}" for name, weight in self.weights)


def parse_goal(goal: object, family: Family) -> Goal:
    """The goal that `"all"`, a parameter's name, `"mu=1,sigma=2"` or a mapping of weights describes.

    `all` gives each parameter of the family weight 1. Raises `InvalidGoal`.
    """
    if isinstance(goal, Goal):
        return _checked(dict(goal.weights), family)
    if isinstance(goal, Mapping):
        return _checked(goal, family)
    if not isinstance(goal, str):
        raise InvalidGoal(_allowed(family))
    text = goal.strip()
    if text == "all":
        return _checked(dict.fromkeys(family.names, 1.0), family)
    if "=" not in text:
        return _checked({text: 1.0}, family)
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name in weights:
            raise InvalidGoal("the goal names a parameter twice")
        try:
            weights[name] = float(number)
        except ValueError:
            raise InvalidGoal(_allowed(family)) from None
    return _checked(weights, family)


def _checked(weights: Mapping[Any, Any], family: Family) -> Goal:
    if not set(weights) <= set(family.names):
        raise InvalidGoal(_allowed(family))
    for name, weight in weights.items():
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (number and math.isfinite(weight) and 0 <= weight <= MAX_WEIGHT):
            raise InvalidGoal(f"the goal's weight of {name} must be a number from 0 to {MAX_WEIGHT:g}")
    positive = tuple((name, float(weights[name])) for name in family.names if weights.get(name, 0) > 0)
    if not positive:
        raise InvalidGoal("the goal needs a positive weight on at least one parameter")
    return Goal(positive)


def _allowed(family: Family) -> str:
    example = ",".join(f"{name}=1" for name in family.names)
    return f"goal must be all, one of {', '.join(family.names)}, or weights such as {example}"
