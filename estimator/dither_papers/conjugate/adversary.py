"""Data for which one posterior sample costs as much as in the worst case (Foulds et al., supplement A)."""

import numpy as np
from scipy.special import logsumexp

from dither_estimator.families import FloatArray

__all__ = ["greedy_adversary", "local_cost"]

_QUADRATURE = np.polynomial.legendre.leggauss(400)


def local_cost(successes: int, failures: int, least: float) -> float:
    """The ε of one sample from a Beta posterior truncated to `[a_0, 1 - a_0]`, with a uniform prior.

    It is the ε between the two data sets that result from a further success and from a further failure:
    `max_p |logit p - log(Z(s + 1, f) / Z(s, f + 1))|`, attained at an end of the interval.
    """
    top = float(np.log1p(-least) - np.log(least))
    difference = _log_mass(successes + 1, failures, least) - _log_mass(successes, failures + 1, least)
    return max(abs(top - difference), abs(-top - difference))


def greedy_adversary(least: float, steps: int) -> FloatArray:
    """`local_cost` as an adversary adds, one by one, the entries that raise it most, shape (steps + 1,)."""
    successes = failures = 0
    found = [local_cost(0, 0, least)]
    for _ in range(steps):
        more, fewer = local_cost(successes + 1, failures, least), local_cost(successes, failures + 1, least)
        successes, failures = (successes + 1, failures) if more >= fewer else (successes, failures + 1)
        found.append(max(more, fewer))
    return np.array(found)


def _log_mass(successes: int, failures: int, least: float) -> float:
    """`log Z`, the log integral of `p^s (1 - p)^f` over the interval, by Gauss–Legendre quadrature."""
    nodes, weights = _QUADRATURE
    p = 0.5 + (0.5 - least) * nodes
    logs = successes * np.log(p) + failures * np.log1p(-p)
    return float(logsumexp(logs, b=weights * (0.5 - least)))
