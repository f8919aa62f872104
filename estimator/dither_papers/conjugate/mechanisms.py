"""The two ways of Foulds et al. to a private posterior: noisy statistics, and one posterior sample.

In floating point, for studies: a release has to draw exactly, as `dither_client.mechanisms.sampling` does.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.conjugate.base import ConjugateFamily
from dither_papers.conjugate.costs import temperature

__all__ = ["noisy_statistics", "one_posterior_sample"]

_TRIES = 10_000


def noisy_statistics(
    rng: np.random.Generator, family: ConjugateFamily, statistics: FloatArray, n: int, epsilon: float
) -> FloatArray:
    """(16): the statistics, shape (R, d), with Laplace noise of scale `ΔS / ε` on each, projected."""
    noise = rng.laplace(0.0, family.statistics_sensitivity / epsilon, statistics.shape)
    return family.project(statistics + noise, n)


def one_posterior_sample(
    rng: np.random.Generator, family: ConjugateFamily, statistics: FloatArray, n: int, epsilon: float
) -> FloatArray:
    """OPS, (14): a draw for each data set from the truncated posterior at the temperature that makes it ε-private.

    By rejection. Raises `RuntimeError` if next to nothing of a posterior is within the truncation.
    """
    heat = temperature(family.likelihood_sensitivity, epsilon)
    found = family.draw_posterior(rng, statistics, n, heat)
    for _ in range(_TRIES):
        outside = ~family.within(found)
        if not outside.any():
            return found
        found[outside] = family.draw_posterior(rng, statistics[outside], n, heat)
    raise RuntimeError("next to nothing of the posterior is within the truncated space of parameters")
