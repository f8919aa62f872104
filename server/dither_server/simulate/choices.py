"""Which ε each respondent chooses before asking for a ticket: at random, as it should be, or by the value."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, ndtri

from dither_estimator.families import FloatArray
from dither_server.simulate.behaviours import InvalidBehaviour

__all__ = ["WARNING", "ChooseBy", "check_choosing", "draw_choices"]

ChooseBy = Literal["chance", "value"]
"""Uniformly at random, or such that higher values choose the smallest ε more often."""

WARNING = "the choice of ε depended on the value: this posterior is biased, and more answers do not help"


def check_choosing(choose_by: ChooseBy, choices: Sequence[Fraction]) -> None:
    """Raises `InvalidBehaviour` unless respondents can choose this way."""
    if choose_by not in get_args(ChooseBy):
        raise InvalidBehaviour(f"choose-by must be one of {', '.join(get_args(ChooseBy))}")
    if choose_by == "value" and len(choices) < 2:
        raise InvalidBehaviour("choose-by value needs several epsilon-choices")


def draw_choices(
    rng: np.random.Generator, values: FloatArray, choices: Sequence[Fraction], choose_by: ChooseBy
) -> list[Fraction] | None:
    """The ε that each holder of one of `values` (n,) chooses from the increasing `choices`; None if there is no choice.

    `chance`: each with equal probability. `value`: the smallest with probability `1 / (1 + exp(-z))`, the largest
    otherwise, with z the normal score of the value's rank: `(x - mu) / sigma` where values are normal.
    """
    if len(choices) < 2:
        return None
    if choose_by == "chance":
        picks = rng.integers(len(choices), size=len(values))
    else:
        from scipy.stats import rankdata  # half a second, needed only here

        scores = ndtri((rankdata(values) - 0.5) / len(values))
        picks = np.where(rng.random(len(values)) < expit(scores), 0, len(choices) - 1)
    return [choices[pick] for pick in picks.tolist()]
