"""Specifications: what is accepted, what defaults to what, and one clear sentence for the rest."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy_distributions import scipy_distribution

from dither_estimator.specification.specification import Specification, SpecificationError


def test_defaults() -> None:
    spec = Specification.from_json({"name": "pay", "family": "normal", "epsilon": "0.1"})
    assert (spec.transform, spec.mechanism, spec.levels, spec.particles) == ("identity", "laplace", None, 1_000)
    assert spec.policy.name == "adaptive"
    assert spec.epsilon == Fraction(1, 10)
    assert spec.goal.vector(spec.family).tolist() == [1.0, 1.0]
    assert np.isfinite([scipy_distribution(part.distribution).var() for part in spec.prior.parts]).all()


def test_numbers_may_be_exact_decimals() -> None:
    spec = Specification.from_json({"family": "normal", "epsilon": Decimal("0.3"), "range": [Decimal(10), Decimal(90)]})
    assert spec.epsilon == Fraction(3, 10)
    mu, sigma = spec.prior.parts
    assert scipy_distribution(mu.distribution).mean() == 50
    assert scipy_distribution(sigma.distribution).median() == pytest.approx(20)


def test_choices_of_epsilon_are_exact_increasing_and_distinct() -> None:
    spec = Specification.from_json({"family": "normal", "epsilon": "0.5", "epsilon_choices": [2, "0.5", 0.5, "0.1"]})
    assert spec.epsilon_choices == (Fraction(1, 10), Fraction(1, 2), Fraction(2))
    assert Specification.from_json({"family": "normal", "epsilon": "0.5"}).epsilon_choices == (Fraction(1, 2),)


def test_range_is_in_the_values_own_units() -> None:
    spec = Specification.from_json({"family": "normal", "transform": "log", "epsilon": 1, "range": [1, np.exp(8)]})
    assert scipy_distribution(spec.prior.parts[0].distribution).mean() == pytest.approx(4)


def test_the_papers_prior_is_on_the_variance() -> None:
    prior = {"mu": {"dist": "norm", "scale": 100}, "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"}}
    part = Specification.from_json({"family": "normal", "epsilon": 1, "prior": prior}).prior.parts[1]
    log_sigma = np.linspace(-3, 3, 7)
    h = 1e-5
    exact = (
        stats.invgamma.cdf(np.exp(2 * (log_sigma + h)), 1) - stats.invgamma.cdf(np.exp(2 * (log_sigma - h)), 1)
    ) / (2 * h)
    assert np.exp(part.log_density(log_sigma)) == pytest.approx(exact, rel=1e-6)
    draws = part.sample(np.random.default_rng(1), 20_000)
    assert stats.kstest(draws**2, stats.invgamma(1).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"familly": "normal"}, "unknown field"),
        ({"family": "cauchyy"}, "family must be one of"),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": "51"}, "at most 50"),
        ({"epsilon": "0.1234567"}, "six decimals"),
        ({"epsilon": True}, "number"),
        ({"epsilon_choices": 1}, "a list"),
        ({"epsilon_choices": []}, "a list"),
        ({"epsilon_choices": ["0.5", "2"]}, "must be one of epsilon_choices"),
        ({"epsilon_choices": [1, 51]}, "at most 50"),
        ({"epsilon": None}, "required"),
        ({"epsilon": Decimal("1e400")}, "epsilon"),
        ({"epsilon": "nan"}, "a decimal such as"),
        ({"particles": 99}, "100 to 1,000,000"),
        ({"particles": 1_000_001}, "100 to 1,000,000"),
        ({"particles": 1e3}, "integer"),
        ({"levels": 0}, "levels"),
        ({"levels": True}, "levels"),
        ({"goal": "nu"}, "goal"),
        ({"policy": "random"}, "policy must be"),
        ({"policy": "fixed:5:1"}, "LOW below HIGH"),
        ({"policy": "fixed:1:1.0000000000000002"}, "too narrow"),
        ({"levels": 64, "mechanism": "randomized_response"}, "levels cannot be 64 here"),
        ({"levels": 40, "mechanism": "randomized_response", "family": "poisson"}, "too few values for 40 cuts"),
        ({"policy": "fixed:nan:1"}, "LOW below HIGH"),
        ({"levels": 3, "mechanism": "staircase"}, "levels cannot be 3 here: .* chooses its own cells and answers"),
        ({"policy": "fixed:0:1", "mechanism": "staircase"}, "policy must be adaptive or thompson for staircase"),
        ({"mechanism": "gauss"}, "mechanism must be one of"),
        ({"transform": "sqrt"}, "transform of normal must be one of identity, log"),
        ({"range": [5, 1]}, "range"),
        ({"range": [0, float("inf")]}, "range"),
        ({"range": "12"}, "range"),
        ({"range": [0, 5], "transform": "log"}, "above 0"),
        ({"range": [0, 5], "prior": {}}, "not both"),
        ({"prior": {"mu": {"dist": "norm"}}}, "exactly the parameters mu, sigma"),
        ({"prior": {"mu": {"dist": "os.system"}, "sigma": {"dist": "gamma", "a": 1}}}, "continuous distribution"),
        ({"prior": {"mu": {"dist": "norm", "shape": 1}, "sigma": {"dist": "gamma", "a": 1}}}, "norm takes loc, scale"),
        ({"prior": {"mu": {"dist": "norm"}, "sigma": {"dist": "norm"}}}, "must not reach below 0"),
        (
            {"prior": {"mu": {"dist": "norm", "scale": -1}, "sigma": {"dist": "gamma", "a": 1}}},
            "not define a distribution",
        ),
        ({"prior": {"mu": {"dist": "norm", "scale": "1"}, "sigma": {"dist": "gamma", "a": 1}}}, "finite number"),
        ({"prior": {"mu": {"dist": "norm", "of": "variance"}, "sigma": {"dist": "gamma", "a": 1}}}, "positive"),
    ],
)
def test_bad_specifications(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        Specification.from_json({"family": "normal", "epsilon": 1, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [None, [], "spec", 3])
def test_a_specification_is_an_object(data: Any) -> None:
    with pytest.raises(SpecificationError, match="JSON object"):
        Specification.from_json(data)
