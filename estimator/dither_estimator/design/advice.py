"""One line on what the best of the other mechanisms would save or cost."""

from dither_client import InvalidQuery
from dither_estimator.design.design import Design, DesignError, optimal_design
from dither_estimator.design.registry import MECHANISMS, Mechanism

__all__ = ["advice", "other_mechanism"]

_ALIKE = 1.005
"""Criteria that differ by less than this factor are told as equal."""


def other_mechanism(design: Design) -> Design | None:
    """The best design of another mechanism for the same member, ε and goal, its levels or cells free.

    Of mechanisms that are alike, the one that comes first in `MECHANISMS`, the simpler one. None if no other has a
    design there.
    """
    others = [mechanism for mechanism in MECHANISMS if mechanism != design.mechanism]
    designs = [found for other in others if (found := _design(design, other)) is not None]
    enough = _ALIKE * min((other.criterion for other in designs), default=0.0)
    return next((other for other in designs if other.criterion <= enough), None)


def _design(design: Design, mechanism: Mechanism) -> Design | None:
    """None where the mechanism has none, as `gaussian` at the smallest ε."""
    try:
        return optimal_design(
            design.family, design.theta, mechanism, design.epsilon, design.goal, transform=design.transform
        )
    except (DesignError, InvalidQuery):
        return None


def advice(design: Design) -> str | None:
    """How many respondents the best other mechanism would need for the same precision, compared with this design.

    None if no other mechanism has a design there.
    """
    other = other_mechanism(design)
    if other is None:
        return None
    ratio = other.criterion / design.criterion
    if ratio < 0.995:
        amount = f"{1 - ratio:.0%} fewer respondents"
    elif ratio < _ALIKE:
        amount = "as many respondents"
    elif ratio < 2:
        amount = f"{ratio - 1:.0%} more respondents"
    else:
        amount = f"{ratio:.1f} times as many respondents"
    return f"{other.mechanism} would need {amount} for the same precision"
