"""The distributions that are written in the estimator against SciPy's: densities, quantiles, ends, draws."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainccinv, xlogy
from scipy_distributions import scipy_distribution

from dither_estimator.families import FloatArray
from dither_estimator.priors.distributions import WRITTEN, Distribution, find_distribution, find_shapes

SHAPES: Mapping[str, list[dict[str, float]]] = {
    "norm": [{}],
    "t": [{"df": 3.0}, {"df": 0.7}, {"df": 40.0}],
    "lognorm": [{"s": 1.3}, {"s": 0.02}, {"s": 8.0}],
    "loglaplace": [{"c": 1.0}, {"c": 0.3}],
    "gamma": [{"a": 2.5}, {"a": 1.0}, {"a": 0.1}, {"a": 300.0}],
    "invgamma": [{"a": 2.5}, {"a": 1.0}, {"a": 0.1}, {"a": 300.0}],
    "beta": [{"a": 2.0, "b": 3.5}, {"a": 1.0, "b": 1.0}, {"a": 0.2, "b": 70.0}],
    "expon": [{}],
    "halfnorm": [{}],
    "uniform": [{}],
}
PLACES: list[dict[str, float]] = [{}, {"loc": -3.0, "scale": 0.01}, {"loc": 1e5, "scale": 40.0}]
DISTRIBUTIONS = [
    find_distribution(dist, shapes | place) for dist, some in SHAPES.items() for shapes in some for place in PLACES
]
CASES = pytest.mark.parametrize(
    "distribution", DISTRIBUTIONS, ids=lambda distribution: f"{distribution.dist} {list(distribution.numbers.values())}"
)

SIGNIFICANCE = 1e-6
"""The chance that one test of draws fails without a fault. They are seeded."""


def test_all_of_them_are_here_and_are_scipys() -> None:
    assert set(SHAPES) == set(WRITTEN)
    for dist, formulas in WRITTEN.items():
        generator = getattr(stats, dist)
        assert isinstance(generator, stats.rv_continuous)
        assert ", ".join(formulas.shapes) == (generator.shapes or "")


@CASES
def test_densities(distribution: Distribution) -> None:
    assert _errors_of_densities(distribution) < 1e-11


@CASES
def test_quantiles(distribution: Distribution) -> None:
    levels = np.array([1e-30, 1e-12, 1e-3, 0.25, 0.5, 0.75, 0.999, 1 - 1e-12])
    with np.errstate(over="ignore", divide="ignore"):
        exact = scipy_distribution(distribution).ppf(levels)
        assert distribution.quantiles(levels) == pytest.approx(exact, rel=1e-12, nan_ok=False)


@CASES
def test_supports(distribution: Distribution) -> None:
    assert distribution.support == scipy_distribution(distribution).support()


@pytest.mark.parametrize("dist", sorted(SHAPES))
def test_numbers_that_make_no_distribution(dist: str) -> None:
    """Each number in turn is 0 or below; a location may be."""
    good = SHAPES[dist][0] | {"loc": -2.0, "scale": 3.0}
    for name in good:
        for bad in (0.0, -1.0):
            distribution = find_distribution(dist, good | {name: bad})
            assert np.isnan(distribution.support).all() == (name != "loc")
            assert distribution.support == pytest.approx(scipy_distribution(distribution).support(), nan_ok=True)


@CASES
def test_draws_are_scipys_to_the_last_digit(distribution: Distribution) -> None:
    """A seed gives what it gave when all priors were SciPy's."""
    with np.errstate(over="ignore", divide="ignore"):
        drawn = distribution.sample(np.random.default_rng(7), 1_000)
        expected = scipy_distribution(distribution).rvs(size=1_000, random_state=np.random.default_rng(7))
    assert drawn.tolist() == expected.tolist()


@pytest.mark.parametrize("dist", sorted(SHAPES))
def test_draws_follow_the_law(dist: str) -> None:
    """Kolmogorov-Smirnov, whatever SciPy's own draws are."""
    assert _p_value_of_draws(find_distribution(dist, SHAPES[dist][0] | {"loc": 2.0, "scale": 5.0})) > SIGNIFICANCE


def _log_gamma_without_a_constant(x: FloatArray, scale: float, a: float) -> FloatArray:
    density: FloatArray = xlogy(a - 1, x / scale) - x / scale - np.log(scale)
    return density


BROKEN: Mapping[str, tuple[str, dict[str, Callable[..., FloatArray]]]] = {
    "a density without its constant": ("gamma", {"log_density": _log_gamma_without_a_constant}),
    "a density that forgets the scale": ("expon", {"log_density": lambda x, scale: -x / scale}),
    "the other tail": ("invgamma", {"sample": lambda rng, n, a: 1 / gammainccinv(a, rng.uniform(size=n) ** 1.1)}),
    "a square in place of the size": ("halfnorm", {"sample": lambda rng, n: rng.standard_normal(n) ** 2}),
    "half a normal twice": ("lognorm", {"sample": lambda rng, n, s: np.exp(s * np.abs(rng.standard_normal(n)))}),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_wrong_formula_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dist, changes = BROKEN[fault]
    changed: Any = changes
    monkeypatch.setattr(
        "dither_estimator.priors.distributions.WRITTEN", {**WRITTEN, dist: replace(WRITTEN[dist], **changed)}
    )
    distribution = find_distribution(dist, SHAPES[dist][0] | {"loc": 2.0, "scale": 5.0})
    if "log_density" in changes:
        assert _errors_of_densities(distribution) > 1e-3
    else:
        assert _p_value_of_draws(distribution) < SIGNIFICANCE


@pytest.mark.parametrize(
    ("dist", "shapes"), [("halfcauchy", {}), ("laplace_asymmetric", {"kappa": 2.0}), ("genextreme", {"c": 0.2})]
)
def test_others_are_scipys_own(dist: str, shapes: dict[str, float]) -> None:
    assert find_shapes(dist) == tuple(shapes)
    distribution = find_distribution(dist, shapes | {"scale": 2.0})
    oracle = getattr(stats, dist)(**shapes, scale=2)
    x = np.linspace(-5, 5, 11)
    assert distribution.log_density(x).tolist() == oracle.logpdf(x).tolist()
    assert distribution.support == oracle.support()
    assert distribution.quantiles(np.array([0.3])).tolist() == oracle.ppf([0.3]).tolist()
    drawn = distribution.sample(np.random.default_rng(1), 5)
    assert drawn.tolist() == oracle.rvs(size=5, random_state=np.random.default_rng(1)).tolist()


@pytest.mark.parametrize("dist", ["binom", "multivariate_t", "kstest", "rv_continuous", "nonsense", "", "__name__"])
def test_what_is_no_continuous_distribution(dist: str) -> None:
    assert find_shapes(dist) is None


def _errors_of_densities(distribution: Distribution) -> float:
    """The largest error, absolute or relative, within the distribution, far out in its tails, and outside of it."""
    oracle, loc, scale = (
        scipy_distribution(distribution),
        distribution.numbers.get("loc", 0.0),
        distribution.numbers.get("scale", 1.0),
    )
    low, high = oracle.support()
    with np.errstate(all="ignore"):
        inside = [oracle.ppf(np.linspace(0.001, 0.999, 199)), oracle.ppf([1e-30, 1e-8]), oracle.isf([1e-30])]
        far = loc + scale * np.array([-1e150, -1e8, -40.0, -1.0, 1.5, 40.0, 1e8, 1e150])
        x = np.concatenate([*inside, far])
        x = x[np.isfinite(x) & (x != low) & (x != high)]
        found, exact = distribution.log_density(x), oracle.logpdf(x)
    assert not np.isnan(found).any()
    somewhere = ~np.isneginf(exact)
    assert (np.isneginf(found) == ~somewhere).all()
    assert np.isneginf(distribution.log_density(np.array([-np.inf, np.inf]))).all()
    found, exact = found[somewhere], exact[somewhere]
    return float((np.abs(found - exact) / np.maximum(1, np.abs(exact))).max())


def _p_value_of_draws(distribution: Distribution) -> float:
    drawn = distribution.sample(np.random.default_rng(11), 20_000)
    return float(stats.kstest(drawn, scipy_distribution(distribution).cdf).pvalue)
