"""Questions of every mechanism, for tests that loop over `QUERY_TYPES`."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib import import_module
from types import MappingProxyType

import numpy as np

from dither_client import ComponentQuery, JointQuery, Laplace, Query, RandomizedResponse, parse_query
from dither_client.mechanisms.grouped_randomized_response import MAX_CATEGORIES, GroupedRandomizedResponse
from dither_client.mechanisms.staircase import MAX_SETS
from dither_estimator.families import FloatArray

__all__ = ["QUESTIONS", "random_question"]


def _staircase(points: list[float], epsilon: Fraction) -> Query:
    """Every cell for itself and with the next one, the last with the first: each cell is covered three times."""
    cells = len(points) + 1
    sets = sorted({(cell,) for cell in range(cells)} | {tuple(sorted((c, (c + 1) % cells))) for c in range(cells)})
    fields = {"cuts": points, "sets": [list(some) for some in sets], "weights": [1] * len(sets)}
    return parse_query({"mechanism": "staircase", **fields, "epsilon": epsilon})


def _gaussian(points: list[float], epsilon: Fraction) -> Query:
    """At an ε of about as much as is asked for, and 0.05 at least."""
    levels, goal = len(points) - 1, max(float(epsilon), 0.05)
    rho = Fraction(round(0.9e6 * goal**2 / (1.3 + goal)), 1_000_000)
    law = import_module("dither_client.mechanisms.gaussian_epsilon")
    fields = {"low": points[0], "high": points[-1], "levels": levels, "rho": rho}
    return parse_query({"mechanism": "gaussian", **fields, "epsilon": law.gaussian_epsilon(levels, rho)})


def _grouped_randomized_response(points: list[float], epsilon: Fraction) -> Query:
    """As many categories as cells between the points, 64 at most: most groups have two, and one or two have one."""
    categories = min(len(points) + 1, MAX_CATEGORIES)
    groups = categories // 2 + 1
    return GroupedRandomizedResponse.of_labels([category % groups for category in range(categories)], epsilon)


def _joint(points: list[float], epsilon: Fraction) -> Query:
    """The cells of two numbers, 30 at most in all, by a staircase; one number is cut at two of the points."""
    first, second = points[:2], points[: MAX_SETS // 6 - 1]
    channel = _staircase([float(cut) for cut in range(3 * (len(second) + 1) - 1)], epsilon)
    return JointQuery([0, 2], "cells", [first, second], ["identity", "log"], channel)


QUESTIONS: Mapping[str, Callable[[list[float], Fraction], Query]] = MappingProxyType(
    {
        "component": lambda points, epsilon: ComponentQuery(
            1, Laplace(points[0], points[-1], len(points) - 1, epsilon)
        ),
        "gaussian": _gaussian,
        "grouped_randomized_response": _grouped_randomized_response,
        "joint": _joint,
        "laplace": lambda points, epsilon: Laplace(points[0], points[-1], len(points) - 1, epsilon),
        "randomized_response": lambda points, epsilon: RandomizedResponse(points, epsilon),
        "staircase": _staircase,
    }
)
"""A question of each mechanism from two or more increasing points near which to cut."""


def random_question(rng: np.random.Generator, mechanism: str, points: FloatArray, epsilon: Fraction) -> Query:
    """One that cuts near 2 to 6 of `points`, values of the population. Raises `KeyError` for an unknown mechanism."""
    chosen = np.sort(rng.choice(points, int(rng.integers(2, 7)), replace=False))
    return QUESTIONS[mechanism](chosen.tolist(), epsilon)
