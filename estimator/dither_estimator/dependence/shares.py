"""Who is asked about one number and who about several.

The design of least variance asks nearly everybody about the cells of two numbers, for a population that is known. A
collection has to follow each number to know where to cut it, and the posterior begins with the answers about each
number alone. So half of the people are asked about one until all numbers are known well, and then a twentieth where
all have families, at 2% of the efficiency or less. Where one has none, it remains half: the posterior has only the
draws given those answers to choose from, so they must not be much wider than what all answers say.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from dither_estimator.dependence.cells_channel import best_pair_cells
from dither_estimator.dependence.design import MOST_COMPONENTS, joint_design
from dither_estimator.dependence.questions import PairCells
from dither_estimator.design.optimum import DesignError

__all__ = ["cells_near", "question_shares"]

_FEW_ALONE, _MANY_ALONE = 0.05, 0.5
"""The share of people who are asked about one number: once all numbers have families and are known well, and before."""
_CORRELATIONS = (-0.6, -0.3, 0.0, 0.3, 0.6)
"""The correlations for which questions about cells are made: at 0.8, the question for 0.3 is nearly the best."""


def cells_near(correlation: float, epsilon: Fraction) -> PairCells:
    """The question about the cells of two numbers for about this correlation. Raises `DesignError`."""
    nearest = min(_CORRELATIONS, key=lambda known: abs(known - correlation))
    try:
        return best_pair_cells(nearest, epsilon)
    except DesignError:
        return best_pair_cells(0.0, epsilon)


@lru_cache(maxsize=64)
def question_shares(components: int, few_alone: bool, epsilon: Fraction) -> Mapping[str, float]:
    """The shares of people by `JointQuestion.name`, and `""` for questions about one number; they sum to 1.

    `components` is how many numbers there are, `few_alone` whether a twentieth of the people, not half, suffice
    for questions about one number. The shares are those of
    uncorrelated numbers, beyond `MOST_COMPONENTS` those of so many. Raises `DesignError`.
    """
    design = joint_design(min(components, MOST_COMPONENTS), 0.0, epsilon)
    kinds = {
        kind.question.name: weight
        for kind, weight in zip(design.kinds, design.weights, strict=True)
        if kind.question is not None
    }
    alone, total = _FEW_ALONE if few_alone else _MANY_ALONE, sum(kinds.values())
    shares = {name: (1 - alone) * weight / total for name, weight in kinds.items()}
    return MappingProxyType({"": alone, **shares})
