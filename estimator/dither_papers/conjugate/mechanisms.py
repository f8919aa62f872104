"""The two private posteriors of Foulds et al.: from noisy statistics, and as one posterior sample.

They use floating point and are for studies only: a release must draw exactly, like `dither_client.mechanisms.sampling`.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.conjugate.base import ConjugateFamily
from dither_papers.conjugate.costs import temperature

__all__ = ["noisy_statistics", "one_posterior_sample"]

_MAX_TRIES = 10_000


def noisy_statistics(
    rng: np.random.Generator, family: ConjugateFamily, statistics: FloatArray, n: int, epsilon: float
) -> FloatArray:
    """(16): the statistics, shape (R, d), with Laplace noise of scale `ΔS / ε` on each, then projected."""
    noise = rng.laplace(0.0, family.statistics_sensitivity / epsilon, statistics.shape)
    return family.project(statistics + noise, n)


def one_posterior_sample(
    rng: np.random.Generator, family: ConjugateFamily, statistics: FloatArray, n: int, epsilon: float
) -> FloatArray:
    """OPS, (14): one draw per data set from the truncated posterior at the temperature that makes it ε-private.

    Drawn by rejection. Raises `RuntimeError` if a posterior has next to no mass in the truncated space.
    """
    heat = temperature(family.likelihood_sensitivity, epsilon)
    found = family.draw_posterior(rng, statistics, n, heat)
    for _ in range(_MAX_TRIES):
        outside = ~family.within(found)
        if not outside.any():
            return found
        found[outside] = family.draw_posterior(rng, statistics[outside], n, heat)
    raise RuntimeError("the posterior has next to no mass in the truncated space of parameters")
