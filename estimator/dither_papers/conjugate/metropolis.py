"""Private Metropolis updates (Foulds et al., supplement C.1), and annealed importance sampling (C.2).

The log joint density `log Pr(θ, X)` of neighbouring data differs by at most `sensitivity` at every θ. At the
temperature `T = 2 sensitivity / ε` the probability of an accepted move differs by a factor of at most `e^ε`; that of a
rejection has no such bound, so an update is (ε, δ)-private where rejections have a probability of at most δ (Theorem
C.1).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from dither_estimator.families import FloatArray

__all__ = [
    "acceptance",
    "annealed_samples",
    "annealing_cost",
    "annealing_powers",
    "normalised_weights",
]


def acceptance(log_ratio: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """(42): `min(1, ratio^(1/T))` for the log ratio of the posterior densities of a proposal and the present value."""
    return np.exp(np.minimum(0.0, log_ratio * epsilon / (2.0 * sensitivity)))


def annealing_powers(epsilons: Sequence[float], sensitivity: float) -> FloatArray:
    """(43): the powers β_j of the joint density at which a Gibbs update costs ε_j."""
    return np.asarray(epsilons) / (2.0 * sensitivity)


def annealing_cost(epsilons: Sequence[float], variables: int, parallel: bool = False) -> float:
    """(44): every update of each of `variables` at every temperature; (45) where each depends on one entry alone."""
    return float(sum(epsilons)) * (1 if parallel else variables)


def annealed_samples(
    rng: np.random.Generator,
    start: FloatArray,
    log_joint: Callable[[FloatArray], FloatArray],
    update: Callable[[np.random.Generator, FloatArray, float], FloatArray],
    powers: Sequence[float],
) -> tuple[FloatArray, FloatArray]:
    """Annealed importance sampling: samples (R, …) and their log weights (R,), (46), along increasing `powers`.

    `start` are exact draws at `powers[0]`, and `update` leaves the joint density to a power invariant. The weights are
    not private by themselves: their normalised version has an L1 sensitivity of 2.
    """
    theta, logs = start, np.zeros(len(start))
    for before, power in pairwise(powers):
        logs = logs + (power - before) * log_joint(theta)
        theta = update(rng, theta, power)
    return theta, logs


def normalised_weights(rng: np.random.Generator, log_weights: FloatArray, epsilon: float) -> FloatArray:
    """Normalised weights under the Laplace mechanism, of L1 sensitivity 2, projected back to the simplex."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    noisy = weights + rng.laplace(0.0, 2.0 / epsilon, weights.shape)
    ordered = np.sort(noisy)[::-1]
    excess = (ordered.cumsum() - 1.0) / np.arange(1, len(noisy) + 1)
    return np.maximum(noisy - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
