"""The evidence of a family and its Monte Carlo error, by importance sampling around the particles.

The particle system's own product of mean weights accumulates the errors of all its steps. Once the posterior is known,
the integral `∫ prior(θ) p(counts | θ) dθ` is better computed afresh, from draws of a Student t fitted to the particles.
A tenth of the draws come from the prior, so that no weight can be large (the defensive mixture of Hesterberg 1995,
*Weighted average importance sampling and defensive mixture distributions*). The weights also give the error.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.student_t import MultivariateT
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.weighted.moments import Moments
from dither_estimator.weighted.sample import log_sum_exp

__all__ = ["Evidence", "estimate_evidence"]

_DEGREES_OF_FREEDOM = 5
"""Degrees of freedom of the fitted Student t."""
_PRIOR_SHARE = 0.1
"""The share of draws from the prior."""


@dataclass(frozen=True)
class Evidence:
    """`log p(counts)` for answers in a given order, and the standard error of that logarithm, in nats."""

    log: float
    error: float


def estimate_evidence(rng: np.random.Generator, system: ParticleSystem) -> Evidence:
    """The evidence of all counts, from as many draws as there are particles; exactly 0 without counts.

    Raises `FloatingPointError` if the weights are not finite.
    """
    if not (system.counts or system.members):
        return Evidence(0.0, 0.0)
    by_prior = round(_PRIOR_SHARE * len(system.coordinates))
    coordinates, log_density = _draws(rng, system, by_prior)
    prior = system.prior
    given = CountLikelihood.of(prior.family, system.counts, system.members)
    likelihood = given.log_likelihood(prior.family.constrain(coordinates))
    log_weights = prior.log_density(coordinates) + likelihood - log_density
    total = log_sum_exp(log_weights)
    if not np.isfinite(total):
        raise FloatingPointError("the evidence is not finite")
    shares = np.exp(log_weights - total)
    # The two parts have fixed sizes, so only the variation within each part contributes to the error.
    variance = sum(len(part) * part.var(ddof=1) for part in (shares[:-by_prior], shares[-by_prior:]))
    return Evidence(total - float(np.log(len(shares))), float(np.sqrt(variance)))


def _draws(rng: np.random.Generator, system: ParticleSystem, by_prior: int) -> tuple[FloatArray, FloatArray]:
    """Draws from the mixture, in unconstrained coordinates (n, d), and its log density there (n,).

    The last `by_prior` are draws from the prior.
    """
    size, d = system.coordinates.shape
    found = Moments.of(system.coordinates, system.weights)
    mean, scale = found.mean, found.sd + 1e-12 * np.abs(found.mean) + 1e-150
    fitted = MultivariateT(found.covariance / scale / scale[:, None] + 1e-9 * np.eye(d), _DEGREES_OF_FREEDOM)
    drawn = fitted.sample(rng, size - by_prior)
    coordinates = np.concatenate([mean + scale * drawn, system.prior.sample(rng, by_prior)])
    log_fitted = fitted.log_density((coordinates - mean) / scale) - np.log(scale).sum()
    share = by_prior / size
    log_density = np.logaddexp(np.log1p(-share) + log_fitted, np.log(share) + system.prior.log_density(coordinates))
    return coordinates, log_density
