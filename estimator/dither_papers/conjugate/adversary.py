"""Data that make one posterior sample as costly as the worst case says (Foulds et al., supplement A)."""

import numpy as np
from scipy.special import logsumexp

from dither_estimator.families import FloatArray

__all__ = ["greedy_adversary", "local_cost"]

_RULE = np.polynomial.legendre.leggauss(400)


def local_cost(successes: int, failures: int, least: float) -> float:
    """The ε of one sample of the Beta posterior truncated to `[a_0, 1 - a_0]`, between the two data sets that a further
    success or failure make of these: `max_p |logit p - log(Z(s + 1, f) / Z(s, f + 1))|`, attained at an end. The prior
    is uniform.
    """
    top = float(np.log1p(-least) - np.log(least))
    difference = _log_mass(successes + 1, failures, least) - _log_mass(successes, failures + 1, least)
    return max(abs(top - difference), abs(-top - difference))


def greedy_adversary(least: float, steps: int) -> FloatArray:
    """`local_cost` as an adversary adds the entry that raises it most, one after another, shape (steps + 1,)."""
    successes = failures = 0
    found = [local_cost(0, 0, least)]
    for _ in range(steps):
        more, fewer = local_cost(successes + 1, failures, least), local_cost(successes, failures + 1, least)
        successes, failures = (successes + 1, failures) if more >= fewer else (successes, failures + 1)
        found.append(max(more, fewer))
    return np.array(found)


def _log_mass(successes: int, failures: int, least: float) -> float:
    """`log Z`, the integral of `p^s (1 - p)^f` over the interval, by Gauss–Legendre quadrature."""
    nodes, weights = _RULE
    p = 0.5 + (0.5 - least) * nodes
    logs = successes * np.log(p) + failures * np.log1p(-p)
    return float(logsumexp(logs, b=weights * (0.5 - least)))
