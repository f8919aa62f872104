"""Advice: what the best of the other mechanisms would save or cost, in one line."""

from dither_client import InvalidQuery
from dither_estimator.design.design import Design, DesignError, optimal_design
from dither_estimator.design.registry import MECHANISMS, Mechanism

__all__ = ["advice", "other_mechanism"]

_EQUAL_WITHIN = 1.005
"""Criteria that differ by less than this factor count as equal."""


def other_mechanism(design: Design) -> Design | None:
    """The best design of another mechanism for the same member, ε and goal, with its levels or cells free.

    Among nearly equal mechanisms, the first in `MECHANISMS`, which is the simplest. None if no other mechanism has a
    design there.
    """
    others = [mechanism for mechanism in MECHANISMS if mechanism != design.mechanism]
    designs = [found for other in others if (found := _design(design, other)) is not None]
    enough = _EQUAL_WITHIN * min((other.criterion for other in designs), default=0.0)
    return next((other for other in designs if other.criterion <= enough), None)


def _design(design: Design, mechanism: Mechanism) -> Design | None:
    """The design of a mechanism; None if there is none, as for `gaussian` at the smallest ε."""
    try:
        return optimal_design(
            design.family, design.theta, mechanism, design.epsilon, design.goal, transform=design.transform
        )
    except (DesignError, InvalidQuery):
        return None


def advice(design: Design) -> str | None:
    """How many respondents the best other mechanism needs for the same precision, relative to this design.

    None if no other mechanism has a design there, or needs as many.
    """
    other = other_mechanism(design)
    if other is None:
        return None
    ratio = other.criterion / design.criterion
    if 0.995 <= ratio < _EQUAL_WITHIN:
        return None
    if ratio < 0.995:
        amount = f"{1 - ratio:.0%} fewer respondents"
    elif ratio < 2:
        amount = f"{ratio - 1:.0%} more respondents"
    else:
        amount = f"{ratio:.1f} times as many respondents"
    return f"{other.mechanism} would need {amount} for the same precision"
