"""Exact release of one point estimate under ε-differential privacy.

The probabilities of an estimator are converted to integers, and everything after that is exact: the ε of the released
channel is that of these integers, computed with outward rounding, and an estimate is drawn with integers from the
operating system's generator. Nothing depends on the rounding of a solver or of floating point.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from dither_client.mechanisms.epsilon import MICRO, wire_epsilon
from dither_client.mechanisms.sampling import RandBelow, system_randbelow
from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import InvalidProblem, Neighbours, PointProblem
from dither_papers.bayes_point.ubapp import private_channel, solve

__all__ = [
    "ExactEstimator",
    "Release",
    "UnverifiedEstimator",
    "exact_estimator",
    "release_estimate",
    "verified_epsilon",
]

_ROUNDING_MARGINS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""Shares of ε reserved for rounding; the first that suffices is used."""

_ROUNDING_UP = Context(prec=60, rounding=ROUND_CEILING, Emin=-99_999, Emax=99_999)


class UnverifiedEstimator(RuntimeError):
    """No integers were found with at most the requested ε; nothing was released."""


@dataclass(frozen=True)
class Release:
    """An estimate, and the ε that it costs everyone in the data, which the curator must charge."""

    estimate: Any = field(repr=False)
    """One of the estimator's actions."""
    epsilon: Fraction
    """In integer micro-ε, rounded up."""


@dataclass(frozen=True)
class ExactEstimator:
    """An estimator in integers: given observation y, action `a` has probability `weights[y][a] / Σ weights[y]`."""

    actions: tuple[Any, ...]
    weights: tuple[tuple[int, ...], ...] = field(repr=False)
    epsilon: Fraction
    """The `verified_epsilon` of the weights."""

    def release(self, observation: int, randbelow: RandBelow = system_randbelow) -> Release:
        """Draw one estimate for an observation, numbered from 0. Each call spends ε again. Raises `InvalidProblem`."""
        if not isinstance(observation, int | np.integer) or not 0 <= observation < len(self.weights):
            raise InvalidProblem(f"the observation must be a whole number from 0 to {len(self.weights) - 1}")
        steps = list(accumulate(self.weights[observation]))
        return Release(self.actions[bisect_right(steps, randbelow(steps[-1]))], self.epsilon)


def release_estimate(
    problem: PointProblem, observation: int, epsilon: Any, randbelow: RandBelow = system_randbelow
) -> Release:
    """Release one estimate by UBaPP, the ε-private estimator of least risk, at a verified ε. Called by the curator.

    `observation` is the index of the data's observation in the problem; `epsilon` is a decimal of at most six places.
    Raises `InvalidEpsilon`, `InvalidProblem`, `UnsolvedProblem` and `UnverifiedEstimator`.
    """
    asked = wire_epsilon(epsilon)
    solution = solve(problem, float(asked))
    return exact_estimator(solution.actions, solution.channel, problem, asked).release(observation, randbelow)


def exact_estimator(
    actions: Sequence[Any] | FloatArray, channel: FloatArray, problem: PointProblem, epsilon: Fraction
) -> ExactEstimator:
    """The estimator with `P(a | y)` in `channel`, shape (A, n), in integers whose ε is proved to be at most `epsilon`.

    Raises `UnverifiedEstimator`.
    """
    for margin in _ROUNDING_MARGINS:
        kept = private_channel(channel, problem.distances, float(epsilon) * (1.0 - margin))
        weights = _integers(kept)
        verified = verified_epsilon(weights, problem.neighbours)
        if verified is not None and verified <= epsilon:
            return ExactEstimator(tuple(np.asarray(actions).tolist()), weights, verified)
    raise UnverifiedEstimator("the estimator could not be made private in integers")


def verified_epsilon(weights: Sequence[Sequence[int]], neighbours: Neighbours) -> Fraction | None:
    """An upper bound on the ε of a channel in integers, in integer micro-ε; None if it is infinite.

    The largest ratio is an exact fraction; its logarithm is rounded up.
    """
    totals = [sum(row) for row in weights]
    largest = Fraction(1)
    for pair in neighbours:
        for y, other in (pair, pair[::-1]):
            for own, compared in zip(weights[y], weights[other], strict=True):
                if own > 0 and compared == 0:
                    return None
                if own > 0:
                    largest = max(largest, Fraction(own * totals[other], compared * totals[y]))
    if largest == 1:
        return Fraction(0)
    ratio = _ROUNDING_UP.divide(Decimal(largest.numerator), Decimal(largest.denominator))
    # `ln` rounds correctly to nearest in any context, so the next larger number is an upper bound.
    return Fraction(math.ceil(Fraction(ratio.ln(_ROUNDING_UP).next_plus(_ROUNDING_UP)) * MICRO), MICRO)


def _integers(channel: FloatArray) -> tuple[tuple[int, ...], ...]:
    """The floats of each column over their common denominator, a power of 2; exact."""
    rows = [[Fraction(float(p)) for p in column] for column in channel.T]
    return tuple(tuple(int(p * max(q.denominator for q in row)) for p in row) for row in rows)
