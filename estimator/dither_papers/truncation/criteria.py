"""What a question is to be best for: the score functions of section 3.2 of Yıldırım 2024, and Dither's goals.

A score is any function of the information matrix about (μ, σ), shape (2, 2), that is to be maximised.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dither_estimator.design.goal import Goal, InvalidGoal, parse_goal
from dither_estimator.families import FloatArray
from dither_estimator.families.normal import Normal

__all__ = ["SCORES", "Precision", "Score", "WeightedHarmonic", "WeightedTrace", "find_score", "harmonic", "of_the_mean"]

Score = Callable[[FloatArray], float]
"""A function of an information matrix (2, 2) that is to be maximised."""

_MIN_DETERMINANT = 1e-14
"""Relative to the product of the diagonal; below, a matrix counts as singular."""


def of_the_mean(information: FloatArray) -> float:
    """The first entry, the score of the simulation study."""
    return float(information[0, 0])


@dataclass(frozen=True)
class WeightedTrace:
    """`w₁ F₁₁ + w₂ F₂₂`; with weights of 1 the trace."""

    mean: float = 1.0
    spread: float = 1.0

    def __call__(self, information: FloatArray) -> float:
        return float(self.mean * information[0, 0] + self.spread * information[1, 1])


@dataclass(frozen=True)
class WeightedHarmonic:
    """`(w₁/F₁₁ + w₂/F₂₂)⁻¹`, which ignores whether the matrix is singular; 0 without information about either."""

    mean: float = 1.0
    spread: float = 1.0

    def __call__(self, information: FloatArray) -> float:
        if min(information[0, 0], information[1, 1]) <= 0.0:
            return 0.0
        return float(1.0 / (self.mean / information[0, 0] + self.spread / information[1, 1]))


@dataclass(frozen=True)
class Precision:
    """`1 / Σ w_j (F⁻¹)_jj`, the reciprocal of what `dither design` minimises; 0 for a singular matrix."""

    mean: float = 1.0
    spread: float = 1.0

    def __call__(self, information: FloatArray) -> float:
        product, off = information[0, 0] * information[1, 1], information[0, 1]
        determinant = product - off**2
        if product <= 0.0 or determinant <= _MIN_DETERMINANT * product:
            return 0.0
        return float(determinant / (self.mean * information[1, 1] + self.spread * information[0, 0]))


harmonic = WeightedHarmonic()
"""`(1/F₁₁ + 1/F₂₂)⁻¹`, the score of the real-data study."""

SCORES: dict[str, Score] = {"mean": of_the_mean, "trace": WeightedTrace(), "harmonic": harmonic, "all": Precision()}


def find_score(asked: str | Goal | Score) -> Score:
    """The score that is meant: a name in `SCORES`, a goal of `dither design` such as `mu=1,sigma=2`, or one's own.

    A goal leaves the parameter without a weight unknown. Raises `InvalidGoal` for a text that is neither, and for a
    goal about the population's distribution.
    """
    if isinstance(asked, str) and asked in SCORES:
        return SCORES[asked]
    if not isinstance(asked, str | Goal):
        return asked
    family = Normal()
    goal = parse_goal(asked, family)
    if not goal.of_parameters:
        raise InvalidGoal("an interval is chosen for a goal about mu and sigma")
    return Precision(*goal.vector(family).tolist())
