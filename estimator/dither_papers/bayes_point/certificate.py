"""What no ε-private estimator's risk can go below: prices of the linear programme, checked on every extreme ray.

Each action of an estimator has a vector `p` of probabilities, one for each observation, in the cone of vectors whose
neighbours differ by a factor of `e^ε` at most; together the vectors sum to 1. So for any prices `λ`

    risk = Σ_y λ_y + Σ_a (C(a, ·) - λ)·p_a ≥ Σ_y λ_y + t,   t = min over a and p of (C(a, ·) - λ)·p / w·p,

with `w` the observations' probabilities, as `Σ_a w·p_a = 1`. For a chain the minimum over the `2^(n-1)` extreme rays
takes n steps from the last observation back: whether a neighbour's probability is `e^ε` or `e^-ε` times as large
depends on the sign of what it would bring.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import Moments, PointProblem, chain, squared_problem

__all__ = ["excess", "lower_bound", "squared_lower_bound"]

_STEPS = 100
_SETTLED = 1e-15


def excess(problem: PointProblem, prices: FloatArray, epsilon: float) -> FloatArray:
    """For each action a value with the sign of its best ray: below 0 if the action would lower the risk. Shape (A,).

    The value is `(C(a, ·) - λ)·p / w·p` of that ray. Only for a chain.
    """
    ratios = (problem.costs - prices) / problem.weights
    logs = np.log(problem.weights)
    found, weight = ratios[:, -1], np.full(len(ratios), logs[-1])
    for y in range(len(logs) - 2, -1, -1):
        weight = weight + np.where(found < 0.0, epsilon, -epsilon)
        total = np.logaddexp(logs[y], weight)
        share = np.exp(weight - total)
        found, weight = (1.0 - share) * ratios[:, y] + share * found, total
    return found


def lower_bound(problem: PointProblem, prices: FloatArray, epsilon: float) -> float:
    """No ε-private estimator with the problem's actions has a lower risk, whatever the prices are. Only for a chain."""
    shift = 0.0
    for _ in range(_STEPS):  # Dinkelbach's iteration: the shift falls, and faster than linearly
        lowest = float(excess(problem, prices + shift * problem.weights, epsilon).min())
        if lowest >= -_SETTLED:
            break
        shift += lowest
    return float(prices.sum()) + shift + min(lowest, 0.0)


def squared_lower_bound(
    moments: Moments, prices: FloatArray, epsilon: float, low: float, high: float, points: int = 20_001
) -> float:
    """No ε-private estimator with values in `[low, high]` has a lower mean squared error, for a count.

    Between two of `points` actions, a distance Δ apart, `C(a, ·)` is at least the chord less `m0 Δ²/4`; and the least
    value over the rays is concave in C. So what holds at the points holds between them, less `Δ²/4`.
    """
    actions = np.linspace(low, high, points)
    problem = squared_problem(actions, moments, chain(len(prices)))
    return lower_bound(problem, prices, epsilon) - ((high - low) / (points - 1)) ** 2 / 4.0
