"""Randomly restricted randomised response: an answer is one of the likely categories, or one of the rest.

Whoever has one of the rest first names it or one of the likely ones, by randomised response at `ε₁`, and replaces it
by randomised response among the rest at `ε₂`, the largest with which the whole is ε-private:

    e^ε₂ = (r - 1) / (e^(ε₁ - ε) r - 1), or ε where that is less or r ≤ e^(ε - ε₁), for r categories in the rest.

Categories are in falling order of their shares, so that the likely ones are the first.
"""

import math

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["FIRST_STEP", "channels_of_sizes", "randomized_response", "restricted_channel", "second_epsilon"]

FIRST_STEP = 0.8
"""`ε₁ / ε`: one of the two values in the paper's experiments."""


def randomized_response(categories: int, e: float) -> FloatArray:
    """`P(answer | category)` of randomised response at ε = log e, shape (categories, categories)."""
    return (np.ones((categories, categories)) + (e - 1) * np.eye(categories)) / (e + categories - 1)


def second_epsilon(rest: int, epsilon: float, first: float = FIRST_STEP) -> float:
    """`ε₂` for so many categories in the rest, at least 1, where `ε₁ = first ε`."""
    room = math.exp((1 - first) * epsilon)
    return epsilon if rest <= room else min(epsilon, math.log(room * (rest - 1) / (rest - room)) if rest > 1 else 0.0)


def restricted_channel(
    categories: int, likely: int, epsilon: float, first: float = FIRST_STEP, second: float | None = None
) -> FloatArray:
    """`P(answer | category)`, shape (answers, categories), with `likely` of the categories in the restriction.

    With all of them it is randomised response at ε. `second` replaces the `ε₂` above.
    """
    rest = categories - likely
    if rest == 0:
        return randomized_response(categories, math.exp(epsilon))
    outer = randomized_response(likely + 1, math.exp(first * epsilon))
    inner = randomized_response(rest, math.exp(second_epsilon(rest, epsilon, first) if second is None else second))
    channel = np.full((categories, categories), outer[0, -1])
    channel[:likely, :likely] = outer[:likely, :likely]
    channel[likely:, :likely] /= rest
    channel[likely:, likely:] = outer[-1, -1] * inner
    return channel


def channels_of_sizes(categories: int, epsilon: float, first: float = FIRST_STEP) -> FloatArray:
    """The channels with 1, 2, …, all categories in the restriction, shape (categories, categories, categories)."""
    return np.array([restricted_channel(categories, likely, epsilon, first) for likely in range(1, categories + 1)])
