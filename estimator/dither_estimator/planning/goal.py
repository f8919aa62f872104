"""The goal with which a given precision needs the fewest respondents."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy.typing as npt

from dither_estimator.design.design import DesignError
from dither_estimator.design.goal import Goal
from dither_estimator.planning.precision import precision_of_answers
from dither_estimator.specification.specification import Specification

__all__ = ["cheapest_goal"]

_WEIGHT_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def cheapest_goal(
    specification: Specification, theta: npt.ArrayLike, targets: Mapping[str, float], confidence: float | None = None
) -> Goal:
    """The goal weights that minimise `Precision.respondents(targets, confidence)`, on a grid of half decades.

    Coordinate descent from equal weights; the number is nearly a convex function of their logarithms. Every parameter
    keeps a positive weight, because no parameter can be estimated if nothing is known about another.
    """
    names = specification.family.names

    def cost(places: tuple[int, ...]) -> float:
        goal = _goal(names, places)
        try:
            precision = precision_of_answers(replace(specification, goal=goal), theta)
            return precision.respondents(targets, confidence)
        except DesignError:
            return math.inf

    best = (_WEIGHT_GRID.index(1.0),) * len(names)
    least, improved = cost(best), len(names) > 1
    while improved:
        improved = False
        for j in range(1, len(names)):
            for step in (-1, 1):
                while 0 <= best[j] + step < len(_WEIGHT_GRID):
                    places = (*best[:j], best[j] + step, *best[j + 1 :])
                    if (number := cost(places)) >= least:
                        break
                    best, least, improved = places, number, True
    return _goal(names, best)


def _goal(names: tuple[str, ...], places: tuple[int, ...]) -> Goal:
    return Goal(tuple((name, _WEIGHT_GRID[place]) for name, place in zip(names, places, strict=True)))
