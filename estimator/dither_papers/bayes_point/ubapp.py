"""UBaPP, the ε-private estimator of least Bayes risk: the linear programme (11) of Lakshminarayanan & Rojas.

The constraints are between neighbouring values of the sufficient statistic. For a chain (a count) the programme is
solved over a growing list of actions: the prices of the observations show which others would help (`certificate`), so
thousands of actions cost no more than a few dozen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.certificate import excess
from dither_papers.bayes_point.geometric import geometric_channel
from dither_papers.bayes_point.problem import InvalidProblem, PointProblem

__all__ = ["Ubapp", "UnsolvedProblem", "private_channel", "solve", "solve_at_once"]

_MAX_ROUNDS = 50
_MAX_NEW_ACTIONS = 40
"""The most actions that join the list in one round."""
_TOLERANCE = 1e-10
_MIN_PROBABILITY = 1e-9
"""An action with at most this probability under every observation is an error of the solver and is left out."""
_MAX_EPSILON = 100.0


class UnsolvedProblem(RuntimeError):
    """The solver found no solution."""


@dataclass(frozen=True, eq=False)
class Ubapp:
    """An ε-private estimator: `δ*_{p,ε}` of the paper."""

    actions: FloatArray
    """The estimates in use, shape (B,) or (B, d)."""
    channel: FloatArray
    """`P(action | y)`, the paper's `P`, shape (B, n): sums 1, ratios at most `e^ε`, to floating-point precision."""
    risk: float
    """`tr(Q diag(π) L P)`, which for squared loss is the mean squared error (Algorithm 1)."""
    prices: FloatArray
    """The multipliers of `Σ_a P(a | y) = 1`, shape (n,); see `certificate`."""


def solve(problem: PointProblem, epsilon: float) -> Ubapp:
    """The best estimator with the problem's actions. Raises `InvalidProblem` for a bad ε, and `UnsolvedProblem`."""
    _check(epsilon)
    if not problem.is_chain:
        return solve_at_once(problem, epsilon)
    n = problem.costs.shape[1]
    # The best action for each answer of the geometric mechanism, which is nearly always most of the solution.
    chosen = np.unique((problem.costs @ geometric_channel(n - 1, epsilon)).argmin(axis=0))
    for _ in range(_MAX_ROUNDS):
        solution = solve_at_once(problem.only(chosen), epsilon)
        gain = excess(problem, solution.prices, epsilon)
        better = np.setdiff1d(_valleys(gain), chosen)
        if not len(better):
            return solution
        chosen = np.union1d(chosen, better[np.argsort(gain[better])[:_MAX_NEW_ACTIONS]])
    return solution


def solve_at_once(problem: PointProblem, epsilon: float) -> Ubapp:
    """Like `solve`, but with all actions in one programme and for any neighbours. Raises the same errors."""
    _check(epsilon)
    n_actions, n = problem.costs.shape
    ratios, sums = _constraints(problem, epsilon)
    scale = np.abs(problem.costs).max() or 1.0
    programme: Any = linprog  # its type stubs do not allow sparse matrices
    found = programme(
        problem.costs.ravel() / scale,
        A_ub=ratios,
        b_ub=np.zeros(ratios.shape[0]),
        A_eq=sums,
        b_eq=np.ones(n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise UnsolvedProblem(f"the linear programme was not solved: {found.message}")
    raw = found.x.reshape(n_actions, n)
    used = raw.max(axis=1) > _MIN_PROBABILITY
    channel = private_channel(raw[used], problem.distances, epsilon)
    risk = float((problem.costs[used] * channel).sum())
    return Ubapp(problem.actions[used], channel, risk, found.eqlin.marginals * scale)


def private_channel(raw: FloatArray, distances: FloatArray, epsilon: float) -> FloatArray:
    """The smallest channel above `raw`, shape (B, n), with ratios of neighbours at most `e^ε`, rescaled to sum to 1.

    A solver's tolerance of 1e-10 on constraints says little about ratios of small probabilities; here they hold.
    """
    reach = np.exp(-epsilon * distances)
    raised = (np.maximum(raw, 0.0)[:, np.newaxis, :] * reach).max(axis=2)
    return raised / raised.sum(axis=0)


def _constraints(problem: PointProblem, epsilon: float) -> tuple[csr_array, csr_array]:
    """`e^-ε P(a | y) - P(a | y') ≤ 0` for all neighbours both ways, and the sums; variable `a n + y` is `P(a | y)`."""
    n_actions, n = problem.costs.shape
    pairs = np.array(problem.neighbours, dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    first, second = ((np.arange(n_actions)[:, np.newaxis] * n + both[:, i]).ravel() for i in (0, 1))
    rows = np.arange(len(first))
    ratios = coo_array(
        (
            np.concatenate([np.full(len(rows), np.exp(-epsilon)), np.full(len(rows), -1.0)]),
            (np.concatenate([rows, rows]), np.concatenate([first, second])),
        ),
        shape=(len(rows), n_actions * n),
    )
    variables = np.arange(n_actions * n)
    sums = coo_array((np.ones(len(variables)), (variables % n, variables)), shape=(n, len(variables)))
    return ratios.tocsr(), sums.tocsr()


def _valleys(gain: FloatArray) -> npt.NDArray[np.int64]:
    """Local minima of the gain that are negative: on a fine grid the best action of each dip is enough."""
    padded = np.pad(gain, 1, constant_values=np.inf)
    lowest = (gain <= padded[:-2]) & (gain <= padded[2:]) & (gain < -_TOLERANCE)
    return np.flatnonzero(lowest)


def _check(epsilon: float) -> None:
    if not 0.0 < epsilon <= _MAX_EPSILON:
        raise InvalidProblem(f"epsilon must be above 0 and at most {_MAX_EPSILON:g}")
