"""A lower bound on the risk of every ε-private estimator: prices of the linear programme, checked on all extreme rays.

Each action of an estimator has a vector `p` of probabilities, one per observation, in the cone of vectors whose
neighbours differ by a factor of at most `e^ε`; together the vectors sum to 1. So for any prices `λ`

    risk = Σ_y λ_y + Σ_a (C(a, ·) - λ)·p_a ≥ Σ_y λ_y + t,   t = min over a and p of (C(a, ·) - λ)·p / w·p,

where `w` are the observations' probabilities, because `Σ_a w·p_a = 1`. For a chain the minimum over the `2^(n-1)`
extreme rays takes n steps backwards from the last observation: whether a neighbour's probability is `e^ε` or `e^-ε`
times as large depends on the sign of its contribution.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import Moments, PointProblem, chain, squared_problem

__all__ = ["excess", "lower_bound", "squared_lower_bound"]

_MAX_STEPS = 100
_TOLERANCE = 1e-15


def excess(problem: PointProblem, prices: FloatArray, epsilon: float) -> FloatArray:
    """For each action, a value with the sign of its best ray: negative if the action would lower the risk. Shape (A,).

    The value is `(C(a, ·) - λ)·p / w·p` on that ray. Only for chains.
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
    """A lower bound, for any prices, on the risk of ε-private estimators with these actions. Only for chains."""
    shift = 0.0
    for _ in range(_MAX_STEPS):  # Dinkelbach's iteration: the shift decreases superlinearly
        lowest = float(excess(problem, prices + shift * problem.weights, epsilon).min())
        if lowest >= -_TOLERANCE:
            break
        shift += lowest
    return float(prices.sum()) + shift + min(lowest, 0.0)


def squared_lower_bound(
    moments: Moments, prices: FloatArray, epsilon: float, low: float, high: float, points: int = 20_001
) -> float:
    """A lower bound on the mean squared error of ε-private estimators with values in `[low, high]`, for a count.

    Between two of `points` actions at a distance Δ, `C(a, ·)` is at least the chord less `m0 Δ²/4`, and the minimum
    over the rays is concave in C. The bound at the points therefore holds in between, less `Δ²/4`.
    """
    actions = np.linspace(low, high, points)
    problem = squared_problem(actions, moments, chain(len(prices)))
    return lower_bound(problem, prices, epsilon) - ((high - low) / (points - 1)) ** 2 / 4.0
