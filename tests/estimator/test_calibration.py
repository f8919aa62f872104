"""Simulation-based calibration: ranks of the truth are uniform over the prior (Talts et al. 2018)."""

import dataclasses

import numpy as np
import pytest
from populations import interview, specification
from scipy import stats

from dither_estimator.families import FloatArray
from dither_estimator.learner import Learner
from dither_estimator.priors import ParameterPrior, Prior
from dither_estimator.specification import Specification


class _WithoutJacobian(ParameterPrior):
    """The prior of σ² read as one of σ, up to the change to log σ: the factor 2σ is forgotten."""

    def log_density(self, coordinate: FloatArray) -> FloatArray:
        value = self.parameter.constrain(coordinate)
        density: FloatArray = self.distribution.logpdf(value**2) + self.parameter.log_jacobian(coordinate)
        return density


def _ranks(spec: Specification, truth: Prior, draws: int, answers: int) -> FloatArray:
    """The posterior probability below the truth, for both parameters, shape (draws, 2)."""
    ranks = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 4])
        theta = truth.family.constrain(truth.sample(rng, 1))[0]
        learner = Learner(spec, seed)
        interview(learner, truth.family.sample(rng, theta, answers), rng)
        particles, weights = learner.particles()
        ranks.append(weights @ (particles < theta))
    return np.array(ranks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "draws"),
    [
        ("laplace", 1, 400),
        ("laplace", 5, 400),
        ("randomized_response", 1, 400),
        ("randomized_response", 5, 400),
        ("gaussian", 10, 160),
    ],
)
def test_ranks_are_uniform(mechanism: str, epsilon: int, draws: int) -> None:
    """Kolmogorov-Smirnov at a false-alarm rate of 1e-3 for each parameter. Seeded."""
    spec = specification(epsilon=epsilon, mechanism=mechanism, particles=500)
    ranks = _ranks(spec, spec.prior, draws, 300)
    for column in ranks.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_a_prior_without_its_jacobian_is_rejected() -> None:
    spec = specification(epsilon=1, particles=500)
    mu, sigma = spec.prior.parts
    broken = _WithoutJacobian(sigma.parameter, sigma.distribution, sigma.of_variance)
    ranks = _ranks(dataclasses.replace(spec, prior=Prior(spec.family, (mu, broken))), spec.prior, 400, 300)
    assert stats.kstest(ranks[:, 1], "uniform").pvalue < 1e-3
