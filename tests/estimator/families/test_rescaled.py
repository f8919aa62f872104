"""A family asked on another scale than its own, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import Family, FloatArray, families
from dither_estimator.families.rescaled import Rescaled, on_scale

THETA = np.array([[0.3, 0.6], [1.5, 1.1], [-2.0, 0.2]])
POSITIVE = np.abs(THETA)
EDGES = np.array([-np.inf, -3.0, -1e-9, 0.0, 1e-3, 0.5, 1.0, 2.5, 40.0, np.inf])


@pytest.mark.parametrize(
    ("family", "law"),
    [
        ("normal", lambda t: stats.lognorm(t[1], scale=np.exp(t[0]))),
        ("logistic", lambda t: stats.fisk(1 / t[1], scale=np.exp(t[0]))),
        ("laplace", lambda t: stats.loglaplace(1 / t[1], scale=np.exp(t[0]))),
        ("gumbel", lambda t: stats.invweibull(1 / t[1], scale=np.exp(t[0]))),
    ],
)
def test_logarithms_asked_in_their_own_units(family: str, law: object) -> None:
    """At and below 0 nothing lies."""
    rescaled = Rescaled(families[family], "log")
    expected = [law(theta).cdf(EDGES) for theta in THETA]  # type: ignore[operator]
    assert rescaled.cdf(THETA, EDGES) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("family", "theta", "law"),
    [
        ("normal", THETA, lambda t: stats.norm(*t)),
        ("gumbel", THETA, lambda t: stats.gumbel_r(*t)),
        ("gamma", POSITIVE, lambda t: stats.gamma(t[0], scale=t[1])),
        ("weibull", POSITIVE, lambda t: stats.weibull_min(t[0], scale=t[1])),
    ],
)
def test_values_asked_by_their_logarithms(family: str, theta: FloatArray, law: object) -> None:
    rescaled = Rescaled(families[family], "identity")
    edges = np.array([-np.inf, -800.0, -5.0, 0.0, 0.7, 3.0, 800.0, np.inf])
    with np.errstate(over="ignore"):
        expected = [law(row).cdf(np.exp(edges)) for row in theta]  # type: ignore[operator]
    assert rescaled.cdf(theta, edges) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("family", [Rescaled(families["normal"], "log"), Rescaled(families["gamma"], "identity")])
def test_quantiles_gradients_and_draws_belong_to_the_cdf(family: Family) -> None:
    """Kolmogorov-Smirnov at 1e-4. Seeded; the unmapped family fails it."""
    levels = np.array([0.01, 0.3, 0.9])
    for row, points in zip(POSITIVE, family.quantiles(POSITIVE, levels), strict=True):
        assert family.cdf(row[None], points)[0] == pytest.approx(levels)
        by_difference = Family.cdf_gradient(family, row[None], points)
        assert family.cdf_gradient(row[None], points) == pytest.approx(by_difference, abs=1e-7)
    draws = family.sample(np.random.default_rng(1), POSITIVE[0], 2_000)
    assert stats.kstest(draws, lambda x: family.cdf(POSITIVE[:1], np.asarray(x))[0]).pvalue > 1e-4
    assert isinstance(family, Rescaled)
    assert stats.kstest(draws, lambda x: family.inner.cdf(POSITIVE[:1], np.asarray(x))[0]).pvalue < 1e-4


def test_values_without_a_logarithm_lie_below_every_cut() -> None:
    family = Rescaled(families["normal"], "identity")
    assert family.quantiles(np.array([[0.0, 1.0]]), np.array([0.25, 0.5])).tolist() == [[-np.inf, -np.inf]]


def test_the_scale_that_is_asked_about_needs_no_map() -> None:
    assert on_scale(families["normal"], "log", "log") is families["normal"]
    assert on_scale(families["normal"], "log", "identity") == Rescaled(families["normal"], "log")
    assert len({Rescaled(families["normal"], "log"), Rescaled(families["normal"], "log")}) == 1
