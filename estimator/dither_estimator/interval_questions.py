"""The question that a mechanism on intervals asks, before it is known on which interval."""

from fractions import Fraction

from dither_client import IntervalQuery, Laplace
from dither_estimator.design_gaussian import gaussian_question
from dither_estimator.design_solution import Mechanism

__all__ = ["interval_question"]


def interval_question(
    mechanism: Mechanism, levels: int, epsilon: Fraction, rho: Fraction | None
) -> IntervalQuery | None:
    """A question of so many levels at ε, of `gaussian` at `rho` if that is given, to be put `on` an interval.

    None for mechanisms that ask for a cell.
    """
    if mechanism == "gaussian":
        return gaussian_question(levels, epsilon, rho)
    return Laplace(0.0, 1.0, levels, epsilon) if mechanism == "laplace" else None
