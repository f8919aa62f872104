"""The particle posterior of a count table against quadrature, for every family; student_t in three dimensions.

How far apart they may be follows from N. At least N/2 particles are effective after an update, and as moves leave them
somewhat dependent we count on N/4 independent draws. The standard error is then `2 / √N` posterior sds for a mean,
`√(κ - 1) / √N` of itself for an sd, κ being the kurtosis by quadrature, and `2 √(steps / N)` for the log evidence, to
which each tempering step adds the relative variance of a mean of N/4 weights of variance 1; the errors themselves are
about half as large. The limit is that times the normal quantile at which all the comparisons of this module together
alarm falsely once in a thousand times.
"""

import numpy as np
import pytest
from benchmarks.calibration import MODELS
from oracle import laws, quadrature, random_table
from scipy import stats
from scipy_families import ORACLES

from dither_estimator.counts import check_counts
from dither_estimator.families import FloatArray, families, find_family
from dither_estimator.particles import init, update
from dither_estimator.priors import ParameterPrior, Prior, parse_prior

_COMPARISONS = 300  # no more than this in the module
_QUANTILE = float(stats.norm.isf(1e-3 / _COMPARISONS / 2))


def errors(prior: Prior, name: str, seed: list[int], answers: int, n_particles: int) -> FloatArray:
    """Differences of means, sds and log evidence in their standard errors, for a random table."""
    rng = np.random.default_rng(seed)
    known = laws(MODELS[name])
    truth = [float(law.rvs(random_state=rng)) for law in known]
    table = random_table(rng, ORACLES[name], truth, answers)
    exact = quadrature(known, table, truth, ORACLES[name])
    state, info = update(rng, init(rng, prior, n_particles), check_counts(table))
    mean = state.weights @ state.theta
    sd = np.sqrt(state.weights @ (state.theta - mean) ** 2)
    root = np.sqrt(n_particles)
    return np.concatenate(
        [
            (mean - exact.mean) / exact.sd * root / 2,
            (sd / exact.sd - 1) * root / np.sqrt(exact.kurtosis - 1),
            [(state.log_evidence - exact.log_evidence) * root / (2 * np.sqrt(len(info.exponents)))],
        ]
    )


def prior_of(name: str) -> Prior:
    return parse_prior(find_family(name), MODELS[name])


def test_every_family_has_a_prior_and_an_oracle() -> None:
    assert set(MODELS) == set(ORACLES) == {*families, "student_t:4"}


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"student_t"}))
def test_posterior_agrees_with_quadrature(name: str) -> None:
    """300 answers, applied at once to 2,000 particles. Seeded."""
    assert np.abs(errors(prior_of(name), name, [1, 300], 300, 2_000)).max() < _QUANTILE


@pytest.mark.slow
@pytest.mark.parametrize("answers", [50, 20_000])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_many_particles_agree_with_quadrature(name: str, answers: int) -> None:
    """10,000 particles: a mean is off by 0.1 posterior sds at most. Seeded."""
    assert np.abs(errors(prior_of(name), name, [2, answers], answers, 10_000)).max() < _QUANTILE


class _WithoutJacobian(ParameterPrior):
    """A prior's density at the parameter, taken for that of its coordinate."""

    def log_density(self, coordinate: FloatArray) -> FloatArray:
        density: FloatArray = self.distribution.logpdf(self.parameter.constrain(coordinate))
        return density


@pytest.mark.parametrize(("name", "parameter"), [("gamma", 0), ("exponential", 0), ("logistic", 1)])
def test_a_prior_without_its_jacobian_is_seen(name: str, parameter: int) -> None:
    prior = prior_of(name)
    parts = list(prior.parts)
    parts[parameter] = _WithoutJacobian(parts[parameter].parameter, parts[parameter].distribution, False)
    assert np.abs(errors(Prior(prior.family, tuple(parts)), name, [1, 60], 60, 4_000)).max() > _QUANTILE
