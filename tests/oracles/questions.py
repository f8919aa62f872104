"""Questions of every mechanism, for tests that loop over `query_types()`."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import FloatArray

__all__ = ["QUESTIONS", "random_question"]

QUESTIONS: Mapping[str, Callable[[list[float], Fraction], Query]] = MappingProxyType(
    {
        "laplace": lambda points, epsilon: Laplace(points[0], points[-1], len(points) - 1, epsilon),
        "randomized_response": lambda points, epsilon: RandomizedResponse(points, epsilon),
    }
)
"""A question of each mechanism from two or more increasing points near which to cut."""


def random_question(rng: np.random.Generator, mechanism: str, points: FloatArray, epsilon: Fraction) -> Query:
    """One that cuts near 2 to 6 of `points`, values of the population. Raises `KeyError` for an unknown mechanism."""
    chosen = np.sort(rng.choice(points, int(rng.integers(2, 7)), replace=False))
    return QUESTIONS[mechanism](chosen.tolist(), epsilon)
