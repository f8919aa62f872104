"""What a posterior says about its population, against closed forms and SciPy."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr
from scipy_families import ORACLES

from dither_client.posterior.population import quantile_at, share_at
from dither_client.posterior.sentences import population_lines
from dither_client.posterior.wire import ParameterSummary, PoisonBound, PosteriorReply, from_json, to_json
from dither_estimator.families import Family, FloatArray, LocationScale, Normal, find_family
from dither_estimator.families.mixture import mixture_quantiles
from dither_estimator.learning.description import QUANTILE_LEVELS, with_population
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.population import DistributionPopulation, FamilyPopulation
from dither_estimator.learning.stratified_population import StratifiedPopulation
from dither_estimator.nonparametric.base import ShapedBase
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.support import Support
from dither_estimator.specification.specification import Specification

EMPTY = PosteriorReply(
    posterior={}, covariance=(), answers=0, answers_by_epsilon={}, institutions=0, ess=1.0, log_evidence=0.0,
    particles=1, moves=0, queries=0, poison=PoisonBound(0.01, {}), misfit=None, updated_at="",
)  # fmt: skip


LOG_NORMAL = stats.lognorm(0.7, scale=np.exp(6.2))


def described(
    theta: FloatArray, family: str = "normal", transform: str = "identity", **more: tuple[float, ...]
) -> PosteriorReply:
    population = FamilyPopulation(find_family(family), "log" if transform == "log" else "identity", theta)
    return with_population(EMPTY, population, **more)


@pytest.mark.parametrize("name", sorted(ORACLES))
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")  # where SciPy's mean is infinite
def test_the_mean_of_every_family(name: str) -> None:
    """Against SciPy's, and on the scale of logarithms against quadrature of the quantile function."""
    family, oracle = find_family(name), ORACLES[name]
    for theta in map(np.array, oracle.thetas):
        law = oracle.law(*theta)
        assert family.mean(theta[None], "identity") == pytest.approx(law.mean(), nan_ok=True)
        if "log" not in family.transforms:
            continue
        small = np.concatenate([[0.3, 0.4], theta[2:]])
        found = family.mean(small[None], "log")[0]
        if name.startswith("student_t"):
            assert np.isinf(found)
            continue
        exact, _ = integrate.quad(lambda u, of=small: np.exp(family.quantiles(of[None], np.array([u]))[0, 0]), 0, 1)
        assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", sorted(set(ORACLES) - {"student_t", "student_t:4", "bernoulli"}))
def test_a_family_without_a_formula_has_its_mean_by_quadrature(name: str) -> None:
    """As a family is that somebody adds. Integers have a kink in every cell."""
    family = find_family(name)
    for theta in map(np.array, ORACLES[name].thetas):
        exact = family.mean(theta[None], "identity")
        rel = 0.02 if family.discrete else 1e-3
        assert Family.mean(family, theta[None], "identity") == pytest.approx(exact, rel=rel, abs=rel)
    normal = Normal()
    sds = np.array([0.5, 1.0])
    assert LocationScale.standard_mgf(normal, sds) == pytest.approx(normal.standard_mgf(sds), rel=1e-6)


@pytest.mark.parametrize(("family", "scale"), [("laplace", 1.0), ("logistic", 1.2), ("gumbel", 1.0)])
def test_a_mean_that_does_not_exist_is_not_given(family: str, scale: float) -> None:
    assert described(np.array([[0.0, scale]]), family, "log").mean_value is None
    assert described(np.array([[0.0, 0.9]]), family, "log").mean_value is not None
    assert described(np.array([[0.0, 1.0, 0.9]]), "student_t").mean_value is None
    assert described(np.array([[7.0, 1.0, 1.1]]), "student_t").mean_value is not None


def test_a_certain_posterior_gives_the_law_itself() -> None:
    reply = described(np.array([[6.2, 0.7]]), transform="log", levels=(0.01,), above=(1_000.0,))
    assert reply.quantiles is not None
    assert reply.distribution is not None
    assert reply.above is not None
    assert reply.mean_value is not None
    assert [float(level) for level in reply.quantiles] == [0.01, *QUANTILE_LEVELS]
    for level, summary in reply.quantiles.items():
        assert summary.mean == summary.q05 == summary.q95 == pytest.approx(LOG_NORMAL.ppf(float(level)))
        assert summary.sd == pytest.approx(0, abs=1e-9)
    assert reply.above["1000"].mean == pytest.approx(LOG_NORMAL.sf(1_000))
    assert reply.mean_value.mean == pytest.approx(LOG_NORMAL.mean())
    x = np.array(reply.distribution.x)
    assert len(x) <= 257
    assert LOG_NORMAL.cdf(x[0]) + LOG_NORMAL.sf(x[-1]) <= 0.001
    assert reply.distribution.cdf.q50 == pytest.approx(LOG_NORMAL.cdf(x), abs=1e-6)
    assert reply.distribution.density.mean == pytest.approx(LOG_NORMAL.pdf(x), rel=0.02)


def test_quantiles_have_bands_of_their_own() -> None:
    theta = np.column_stack([np.linspace(-1, 1, 1001), np.full(1001, 0.5)])
    reply = described(theta, transform="log")
    assert reply.quantiles is not None
    for level in (0.1, 0.5):
        summary = reply.quantiles[f"{level}"]
        exact = np.exp(np.array([-0.9, -0.5, 0, 0.5, 0.9]) + 0.5 * stats.norm.ppf(level))
        assert (summary.q05, summary.q25, summary.q50, summary.q75, summary.q95) == pytest.approx(exact, rel=0.005)


def test_integers_have_a_point_each() -> None:
    reply = described(np.array([[4.0]]), "poisson")
    assert reply.distribution is not None
    x = np.array(reply.distribution.x)
    assert (x == np.arange(x[0], x[-1] + 1)).all()
    assert reply.distribution.density.mean == pytest.approx(stats.poisson(4).pmf(x), rel=1e-6)
    many = described(np.array([[1e6]]), "poisson").distribution
    assert many is not None
    assert len(many.x) <= 257


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.5, 1.0])
def test_a_yes_or_no_has_both_points_however_few_have_one(share: float) -> None:
    found = described(np.array([[share]]), "bernoulli").distribution
    assert found is not None
    assert found.x == (0.0, 1.0)


def test_weights_count_and_many_particles_are_thinned() -> None:
    theta, weights = np.array([[0.0, 1.0], [10.0, 1.0]]).repeat(5_000, axis=0), np.repeat([0.9, 0.1], 5_000) / 5_000
    population = FamilyPopulation.of(Normal(), "identity", theta, weights)
    assert len(population.theta) == 1_000
    assert (population.theta[:, 0] == 0).mean() == pytest.approx(0.9)


@pytest.mark.parametrize("transform", ["identity", "log"])
def test_a_prior_is_described_as_far_as_floating_point_goes(transform: str) -> None:
    specification = Specification.from_json({"family": "normal", "epsilon": 1, "transform": transform})
    posterior = Learner(specification, 1).posterior()
    json.dumps(to_json(with_population(EMPTY, posterior.population)), allow_nan=False)
    wide = described(np.array([[800.0, 1.0], [-800.0, 1.0]]), transform="log")
    assert (wide.distribution, wide.quantiles, wide.mean_value) == (None, {}, None)


def outside(family: Family, theta: FloatArray, ends: Sequence[float] | FloatArray) -> float:
    """The mass of the mean distribution below the first and above the second."""
    below, upto = family.cdf(theta, np.array(ends)).mean(axis=0)
    return float(below + 1 - upto)


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_the_points_hold_all_but_a_thousandth_of_the_mean_distribution(name: str) -> None:
    """Also where draws differ much, and their typical quantiles leave out more."""
    family, rng = find_family(name), np.random.default_rng(1)
    standard = family.unconstrain(np.tile(family.standard, (1_000, 1)))
    theta = family.constrain(standard + rng.normal(0, 0.5, standard.shape))
    found = described(theta, name).distribution
    assert found is not None
    assert len(found.x) <= 257
    assert outside(family, theta, [found.x[0] - family.discrete, found.x[-1]]) <= 0.001
    assert (np.diff(found.x) > 0).all()
    typical = np.median(family.quantiles(theta[::16], ndtr(np.array([-3.3, 3.3]))), axis=0)
    if not family.discrete:
        assert outside(family, theta, typical) > 0.001


def test_quantiles_of_a_mixture_are_as_precise_as_floats_however_small() -> None:
    shape, scale = np.array([0.02, 0.03]), np.array([1e-3, 1e3])
    theta = np.column_stack([shape, scale])
    found = mixture_quantiles(find_family("gamma"), theta, np.array([0.01, 0.5, 0.999]))
    assert np.mean(stats.gamma.cdf(found[:, None], shape, scale=scale), axis=1) == pytest.approx([0.01, 0.5, 0.999])
    assert found[0] < 1e-40
    normal = mixture_quantiles(Normal(), np.array([[-1e9, 1.0], [0.0, 1.0], [1e9, 1.0]]), np.array([0.2, 0.5, 0.8]))
    assert normal == pytest.approx([-1e9, 0, 1e9], abs=1)


def test_a_quantile_is_given_though_floating_point_holds_neither_its_mean_nor_its_sd() -> None:
    """One in a hundred draws is beyond any float; 1e200 has a square that is."""
    theta = np.array([[0.0, 1.0]] * 99 + [[800.0, 1.0]])
    quantiles = described(theta, transform="log").quantiles
    assert quantiles is not None
    half = quantiles["0.5"]
    assert (half.mean, half.sd, half.q05, half.q95) == (np.inf, np.inf, 1, 1)
    written = to_json(half)
    assert (written["mean"], written["sd"], written["q50"]) == (None, None, 1)
    assert from_json(ParameterSummary, json.loads(json.dumps(written, allow_nan=False))) == half
    large = described(np.array([[460.0, 1.0], [461.0, 1.0]]), transform="log").quantiles
    assert large is not None
    assert large["0.5"].sd == pytest.approx((np.exp(461) - np.exp(460)) / 2)


def test_values_far_from_0_are_told_apart() -> None:
    found = described(np.array([[1e9, 1.0]])).distribution
    assert found is not None
    assert len(found.x) == 129
    assert found.cdf.mean == pytest.approx(stats.norm.cdf(found.x, 1e9, 1), abs=1e-6)


def test_an_atom_has_what_lies_below_it_and_what_lies_at_it() -> None:
    """A third has 450.123456789, which seven digits do not hold, and a quarter the minimum of 0."""
    masses = np.concatenate([np.full(BINS, 5 / 12 / BINS), [0.25, 1 / 3]])
    atom = 450.123456789
    distribution = Distribution(
        Support(0.0, atoms=(0.0, atom)), ShapedBase(np.array([6.0, np.log(0.5), 0, 0, 0])), masses[None]
    )
    found = with_population(EMPTY, DistributionPopulation(distribution)).distribution
    assert found is not None
    assert (np.diff(found.x) > 0).all()
    assert found.x[:2] == (np.nextafter(0, -1), 0)
    assert found.cdf.mean[:2] == (0, 0.25)
    place = found.x.index(atom)
    assert found.x[place - 1] == np.nextafter(atom, 0)
    below, upto = found.cdf.mean[place - 1 : place + 1]
    assert upto - below == pytest.approx(1 / 3, abs=1e-6)
    assert len(found.x) <= 257
    for x in (-1e9, -1.0, 0.0, 0.001, 300.0, 450.0, np.nextafter(atom, 0), atom, 451.0, found.x[-1]):
        assert share_at(found, float(x), (0, 450.123456789)).mean == pytest.approx(
            distribution.cdf(np.array([x])).mean[0], abs=2e-3
        )
    assert {quantile_at(found, float(level)).mean for level in (below + 1e-6, below + 0.2, upto - 1e-6)} == {atom}
    least, most = share_at(found, 1e9, (0, atom)).interval(0.9)
    assert 0.999 < least < distribution.cdf(np.array([1e9])).mean[0] <= most == 1
    assert share_at(found, -1, (0,)).q95 == 0
    assert quantile_at(found, 0.2, (0,)) == ParameterSummary(0, 0, 0, 0, 0, 0, 0)


def test_nobody_is_beyond_bounds_at_which_there_may_be_people() -> None:
    """A bound that is no atom may have some people or hardly any: it is left out of `atoms`, and the function jumps."""
    at_bounds = np.array([[0.0001, 0.001], [0.06, 0.05], [0.03, 0.02]])
    inside = np.repeat(1 - at_bounds.sum(axis=1, keepdims=True), BINS, axis=1) / BINS
    support, base = Support(20.0, 80.0), ShapedBase(np.array([0.0, 0, 0, 0, 0]))
    distribution = Distribution(support, base, np.concatenate([inside, at_bounds], axis=1))
    whole = DistributionPopulation(distribution)
    for population in (whole, StratifiedPopulation((whole, whole), np.array([0.5, 0.5]))):
        reply = with_population(EMPTY, population)
        found = reply.distribution
        assert not reply.atoms
        assert found is not None
        assert share_at(found, 19.9).q95 == 0
        for x in (20.0, 20.5, 79.5, np.nextafter(80, 0), 80.0):
            exact = distribution.cdf(np.array([x]))
            assert share_at(found, x).mean == pytest.approx(exact.mean[0], abs=1e-3)
        for level in (0.005, 0.02, 0.04, 0.97):
            low, middle, high = np.sort(distribution.quantile(np.array([level])).values[:, 0])
            read = quantile_at(found, level)
            assert read.q50 == pytest.approx(middle, abs=0.05)
            assert low - 0.05 <= read.q05 <= read.q95 <= high + 0.05


def test_two_values_alone_are_a_distribution() -> None:
    masses = np.concatenate([np.full(BINS, 1e-5 / BINS), [0.3, 0.7 - 1e-5]])
    distribution = Distribution(Support(0.0, 1.0, (0.0, 1.0)), ShapedBase(np.array([0.0, 0, 0, 0, 0])), masses[None])
    reply = with_population(EMPTY, DistributionPopulation(distribution))
    assert reply.distribution is not None
    assert reply.distribution.x == (np.nextafter(0, -1), 0, np.nextafter(1, 0), 1)
    assert reply.distribution.cdf.mean == pytest.approx((0, 0.3, 0.3, 1), abs=1e-4)
    assert population_lines(reply.quantiles, reply.distribution, reply.atoms) == [
        "30.0% have exactly 0 (30.0 to 30.0%).",
        "70.0% have exactly 1 (70.0 to 70.0%).",
    ]
