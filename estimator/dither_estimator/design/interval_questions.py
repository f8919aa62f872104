"""The question that a mechanism on intervals asks, before it is known on which interval."""

from fractions import Fraction
from functools import lru_cache

from dither_client import Gaussian, IntervalQuery, Laplace, Query
from dither_estimator.design.gaussian import gaussian_question
from dither_estimator.design.optimum import Mechanism

__all__ = ["ON_INTERVALS", "interval_question", "with_fewer_levels"]

ON_INTERVALS: tuple[Mechanism, ...] = ("laplace", "gaussian")
_ENOUGH = 16
"""More levels on the same interval tell the same of where it should lie."""


def interval_question(
    mechanism: Mechanism, levels: int, epsilon: Fraction, rho: Fraction | None
) -> IntervalQuery | None:
    """A question of so many levels at ε, of `gaussian` at `rho` if that is given, to be put `on` an interval.

    None for mechanisms that ask for a cell.
    """
    if mechanism == "gaussian":
        return gaussian_question(levels, epsilon, rho)
    return Laplace(0.0, 1.0, levels, epsilon) if mechanism == "laplace" else None


@lru_cache(maxsize=4096)
def with_fewer_levels(question: Query) -> Query:
    """What to judge a question by: of many levels, the same with 16 on the same interval, with as much noise for it."""
    if not isinstance(question, IntervalQuery) or question.levels <= _ENOUGH:
        return question
    mechanism: Mechanism = "gaussian" if isinstance(question, Gaussian) else "laplace"
    fewer = interval_question(mechanism, _ENOUGH, question.epsilon, question.rho)
    assert fewer is not None
    return fewer.on(question.low, question.high, question.transform)
