"""The particle posterior of a count table against quadrature, for every family; student_t in three dimensions.

How far apart they may be follows from N. At least N/2 particles are effective after an update, and as moves leave them
somewhat dependent we count on N/4 independent draws. The standard error is then `2 / √N` posterior sds for a mean,
`√(κ - 1) / √N` of itself for an sd, κ being the kurtosis by quadrature, and `2 √(steps / N)` for the log evidence, to
which each tempering step adds the relative variance of a mean of N/4 weights of variance 1; the errors themselves are
about half as large. The limit is that times the normal quantile at which all the comparisons of this module together
alarm falsely once in a thousand times.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from oracle import laws, quadrature, random_table
from scipy import stats
from scipy_families import ORACLES

from benchmarks.calibration import MODELS
from dither_client import Laplace, Query
from dither_estimator.families import FloatArray, PriorTerms, families, find_family
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.particles import system as particles
from dither_estimator.particles.start import InitialMixture
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import ParameterPrior, Prior, parse_prior

_COMPARISONS = 400  # no more than this in the module
_QUANTILE = float(stats.norm.isf(1e-3 / _COMPARISONS / 2))


def errors(
    prior: Prior,
    name: str,
    seed: list[int],
    answers: int,
    n_particles: int,
    terms: PriorTerms | None = None,
    truth: Sequence[float] | None = None,
) -> FloatArray:
    """Differences of means, sds and log evidence in their standard errors, for a random table.

    The prior is the family's in `MODELS`, or `terms`; the truth is drawn from it unless given.
    """
    rng = np.random.default_rng(seed)
    known = laws(terms or MODELS[name])
    truth = truth or [float(law.rvs(random_state=rng)) for law in known]
    table = random_table(rng, ORACLES[name], truth, answers)
    exact = quadrature(known, table, truth, ORACLES[name])
    state = update(rng, init(rng, prior, n_particles), check_counts(table))
    mean = state.weights @ state.theta
    sd = np.sqrt(state.weights @ (state.theta - mean) ** 2)
    root = np.sqrt(n_particles)
    return np.concatenate(
        [
            (mean - exact.mean) / exact.sd * root / 2,
            (sd / exact.sd - 1) * root / np.sqrt(exact.kurtosis - 1),
            [(state.log_evidence - exact.log_evidence) * root / (2 * np.sqrt(state.moves + 1))],
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


@pytest.mark.parametrize("answers", [50, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_many_particles_agree_with_quadrature(name: str, answers: int) -> None:
    """10,000 particles: a mean is off by 0.1 posterior sds at most. Seeded."""
    assert np.abs(errors(prior_of(name), name, [2, answers], answers, 10_000)).max() < _QUANTILE


class _WithoutJacobian(ParameterPrior):
    """A prior's density at the parameter, taken for that of its coordinate."""

    def log_density(self, coordinate: FloatArray) -> FloatArray:
        density: FloatArray = self.distribution.log_density(self.parameter.constrain(coordinate))
        return density


@pytest.mark.parametrize(("name", "parameter"), [("gamma", 0), ("exponential", 0), ("logistic", 1)])
def test_a_prior_without_its_jacobian_is_seen(name: str, parameter: int) -> None:
    prior = prior_of(name)
    parts = list(prior.parts)
    parts[parameter] = _WithoutJacobian(parts[parameter].parameter, parts[parameter].distribution, False)
    assert np.abs(errors(Prior(prior.family, tuple(parts)), name, [1, 60], 60, 4_000)).max() > _QUANTILE


_FAR = {"mu": {"dist": "norm", "scale": 1e5}, "sigma": {"dist": "lognorm", "s": 3, "scale": 1e4}}
_LONG = {"dist": "halfnorm", "scale": 1e5}
_SHAPE = MODELS["gamma"]["shape"]
FAR_TOO_WIDE: dict[str, tuple[PriorTerms, list[float]]] = {
    "normal": ({**_FAR, "sigma": {"dist": "lognorm", "s": 1, "scale": 3}}, [50, 3]),
    "laplace": ({**_FAR, "mu": {"dist": "cauchy", "scale": 1e5}}, [50, 3]),
    "logistic": (_FAR, [-30_000, 3]),
    "gumbel": (_FAR, [50, 3]),
    "student_t": ({**_FAR, "df": MODELS["student_t"]["df"]}, [50, 3, 4]),
    "exponential": ({"scale": _LONG}, [0.5]),
    "gamma": ({"shape": _SHAPE, "scale": _LONG}, [2, 0.5]),
    "weibull": ({"shape": _SHAPE, "scale": _LONG}, [2, 0.5]),
    "beta": ({"a": _LONG, "b": _LONG}, [2, 3]),
    "poisson": ({"rate": _LONG}, [2]),
    "negative_binomial": ({"mean": _LONG, "size": _SHAPE}, [2, 2]),
}
"""Priors about a million times as wide as the posterior of 30,000 answers, and a truth that they hold for possible."""


def wide_errors(name: str) -> FloatArray:
    terms, truth = FAR_TOO_WIDE[name]
    return errors(parse_prior(find_family(name), terms), name, [3], 30_000, 1_000, terms, truth)


@pytest.mark.parametrize("name", FAR_TOO_WIDE)
def test_a_table_under_a_far_too_wide_prior_agrees_with_quadrature(name: str) -> None:
    """1,000 particles, of which none is near the answers at first."""
    assert np.abs(wide_errors(name)).max() < _QUANTILE


class _WithoutItsDensity(InitialMixture):
    """Draws from the mixture, weighted as if they were the prior's."""

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        return self.priors[0].log_density(coordinates)


@pytest.mark.parametrize("name", ["normal", "gumbel"])
@pytest.mark.parametrize("broken", ["prior alone", "density left out"])
def test_another_mixture_of_a_far_too_wide_prior_are_seen(
    name: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken == "prior alone":
        monkeypatch.setattr(particles, "questions_places", lambda *_: ())
    else:
        monkeypatch.setattr(particles, "InitialMixture", _WithoutItsDensity)
    assert np.abs(wide_errors(name)).max() > 5 * _QUANTILE


def test_one_answer_is_learnt_from_the_prior_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide the prior is, the particles are those without another part of the mixture."""
    table: dict[Query, list[int]] = {Laplace(49, 51, 1, 1): [0, 1]}
    start = init(np.random.default_rng(1), parse_prior(families["normal"], _FAR), 500)
    found = [update(np.random.default_rng(2), start, check_counts(table))]
    monkeypatch.setattr(particles, "questions_places", lambda *_: ())
    found.append(update(np.random.default_rng(2), start, check_counts(table)))
    assert (found[0].coordinates == found[1].coordinates).all()
