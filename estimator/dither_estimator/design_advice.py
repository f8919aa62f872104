"""One line on what the other mechanism would save or cost."""

from dither_estimator.design import Design, optimal_design
from dither_estimator.design_solution import Mechanism

__all__ = ["advice", "other_mechanism"]

_OTHER: dict[Mechanism, Mechanism] = {
    "laplace": "randomized_response",
    "randomized_response": "laplace",
    "gaussian": "randomized_response",
}


def other_mechanism(design: Design) -> Design:
    """The optimal design of the other mechanism for the same member, ε and goal, its levels or cells free."""
    mechanism = _OTHER[design.mechanism]
    return optimal_design(
        design.family, design.theta, mechanism, design.epsilon, design.goal, transform=design.transform
    )


def advice(design: Design) -> str:
    """How many respondents the other mechanism would need for the same precision, compared with this design."""
    other = other_mechanism(design)
    ratio = other.criterion / design.criterion
    if ratio < 0.995:
        amount = f"{1 - ratio:.0%} fewer respondents"
    elif ratio < 1.005:
        amount = "as many respondents"
    elif ratio < 2:
        amount = f"{ratio - 1:.0%} more respondents"
    else:
        amount = f"{ratio:.1f} times as many respondents"
    return f"{other.mechanism} would need {amount} for the same precision"
