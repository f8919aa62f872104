"""Priors' densities are those of scipy, closed form or not, and of the unconstrained coordinate."""

from typing import Any

import numpy as np
import pytest
from scipy_distributions import scipy_distribution

from dither_estimator.families import families
from dither_estimator.priors.prior import InvalidPrior, parse_prior

LAWS: list[dict[str, Any]] = [
    {"dist": "lognorm", "s": 1.3, "scale": 40},
    {"dist": "lognorm", "s": 0.5, "loc": 0.25},
    {"dist": "invgamma", "a": 2.5, "scale": 3},
    {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
    {"dist": "gamma", "a": 2, "scale": 0.1},
    {"dist": "halfcauchy"},
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: str(law["dist"]))
def test_densities_are_those_of_scipy(law: dict[str, Any]) -> None:
    prior = parse_prior(families["normal"], {"mu": {"dist": "norm", "loc": 3, "scale": 7}, "sigma": law})
    log_sigma = np.linspace(-30, 30, 241)
    mu = np.linspace(-500, 500, 241)
    location, scale = prior.parts
    assert location.log_density(mu) == pytest.approx(scipy_distribution(location.distribution).logpdf(mu), rel=1e-12)
    value = np.exp(log_sigma * (2 if "of" in law else 1))
    jacobian = log_sigma + (np.log(2) + log_sigma if "of" in law else 0)
    expected = scipy_distribution(scale.distribution).logpdf(value) + jacobian
    assert scale.log_density(log_sigma) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: str(law["dist"]))
@pytest.mark.parametrize("log_sigma", [-800.0, 380.0])
def test_values_beyond_floating_point_have_no_density_or_next_to_none(law: dict[str, Any], log_sigma: float) -> None:
    prior = parse_prior(families["normal"], {"mu": {"dist": "norm"}, "sigma": law})
    with np.errstate(over="ignore"):
        assert prior.parts[1].log_density(np.array([log_sigma]))[0] < -300


def test_draws_that_are_rounded_to_an_end_stay_inside() -> None:
    """For these distributions, at least one draw in forty is nearer to an end than floating point can tell."""
    rng = np.random.default_rng(3)
    for family, law in (
        ("bernoulli", {"p": {"dist": "beta", "a": 1e-3, "b": 1e-3}}),
        ("exponential", {"scale": {"dist": "gamma", "a": 5e-3}}),
    ):
        prior = parse_prior(families[family], law)
        coordinates = prior.sample(rng, 1_000)
        assert np.isfinite(coordinates).all()
        assert not np.isposinf(prior.log_density(coordinates)).any()


def test_a_distribution_whose_quantiles_scipy_does_not_find_is_refused() -> None:
    law = {"mu": {"dist": "norminvgauss", "a": 1.25, "b": 0.5}, "sigma": {"dist": "halfnorm"}}
    with pytest.raises(InvalidPrior, match="SciPy finds no quantiles of norminvgauss with these numbers"):
        parse_prior(families["normal"], law)


def test_tails_that_floating_point_cannot_square_are_refused() -> None:
    law = {"mu": {"dist": "norm"}, "sigma": {"dist": "lognorm", "s": 140}}
    with pytest.raises(InvalidPrior, match="prior of sigma: all but one or two of a million draws must lie within"):
        parse_prior(families["normal"], law)
