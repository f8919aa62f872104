"""Every family against SciPy: CDF, gradient, quantiles, draws, coordinates; and a population of each is found."""

from typing import Any

import numpy as np
import pytest
from populations import interview
from scipy import stats
from scipy_distributions import scipy_distribution
from scipy_families import ORACLES, Oracle

from dither_client.posterior.names import has_log_median
from dither_estimator.families import Family, FloatArray, families, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification, SpecificationError


@pytest.fixture(params=sorted(ORACLES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def family(name: str) -> Family:
    return find_family(name)


def test_every_family_has_an_oracle() -> None:
    assert set(ORACLES) == {*families, "student_t:4"}


def _points(law: Any, discrete: bool) -> FloatArray:
    points: FloatArray = law.ppf([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])
    return np.unique(np.floor(points) + 0.5) if discrete else points


@pytest.mark.filterwarnings("ignore:overflow")  # of SciPy, at the far ends
def test_cdf_and_gradient(name: str, family: Family) -> None:
    """The gradient against central differences of SciPy's CDF."""
    oracle: Oracle = ORACLES[name]
    for theta in oracle.thetas:
        edges = np.concatenate([[-1e9], _points(oracle.law(*theta), family.discrete), [1e9]])
        assert family.cdf(np.array([theta]), edges)[0] == pytest.approx(oracle.law(*theta).cdf(edges), abs=1e-12)
        found = family.cdf_gradient(np.array([theta]), edges)[0]
        for j, value in enumerate(theta):
            step = np.zeros(len(theta))
            step[j] = 1e-5 * (abs(value) or 1.0)
            above, below = (oracle.law(*(np.array(theta) + sign * step)).cdf(edges) for sign in (1, -1))
            exact = (above - below) / (2 * step[j])
            assert found[:, j] == pytest.approx(exact, rel=1e-4, abs=1e-5 * np.abs(exact).max())


def test_cdf_is_finite_far_away(family: Family) -> None:
    far = np.array([-1e12, -1.0, 0.0, 1e-9, 1e12])
    found = family.cdf(family.constrain(np.array([[-12.0], [0.0], [12.0]]).repeat(len(family.parameters), 1)), far)
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=1) >= 0).all()


def test_values_lie_in_the_support(name: str, family: Family) -> None:
    """All values do, and no narrower support would hold them."""
    for theta in ORACLES[name].thetas:
        assert ORACLES[name].law(*theta).support() == family.support


def test_the_client_knows_whose_median_is_that_of_a_logarithm(name: str, family: Family) -> None:
    """It has no family to ask."""
    medians = family.quantiles(np.array(ORACLES[name].thetas), np.array([0.5]))[:, 0]
    symmetric = "log" in family.transforms and medians == pytest.approx([theta[0] for theta in ORACLES[name].thetas])
    assert has_log_median(family.name, "log") == symmetric


def test_quantiles(name: str, family: Family) -> None:
    levels = np.array([0.01, 0.2, 0.55, 0.97])
    exact = [ORACLES[name].law(*theta).ppf(levels) for theta in ORACLES[name].thetas]
    assert family.quantiles(np.array(ORACLES[name].thetas), levels) == pytest.approx(np.array(exact), rel=1e-8)


@pytest.mark.parametrize("name", ["poisson", "negative_binomial"])
def test_quantiles_of_whole_numbers_are_scipys(name: str) -> None:
    """Exactly, of 2,000 members; at the sizes of priors, where some have next to no values but 0."""
    levels = np.array([0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999])
    thetas = np.exp(np.random.default_rng(3).normal(1, 3, (2_000, len(families[name].parameters))))
    exact = ORACLES[name].law(*thetas.T[:, :, None]).ppf(levels)
    assert families[name].quantiles(thetas, levels).tolist() == exact.tolist()


def test_quantiles_of_huge_counts_are_the_least_values_with_so_many_at_or_below() -> None:
    levels = np.concatenate([[1e-12, 1e-6], np.linspace(0.001, 0.999, 99), [1 - 1e-6]])
    rates = np.array([[9_999.0], [10_001.0], [12_345.6], [1e6], [3e7]])
    found = families["poisson"].quantiles(rates, levels)
    assert found.tolist() == stats.poisson(rates).ppf(levels).tolist()
    assert families["poisson"].quantiles(np.array([[1e12]]), levels)[0] == pytest.approx(
        stats.norm(1e12 - 0.5, 1e6).ppf(levels), abs=20
    )


def test_draws(name: str, family: Family) -> None:
    """Seeded, at a false-alarm rate of 1e-4: Kolmogorov-Smirnov, or for whole numbers chi-square."""
    theta = ORACLES[name].thetas[-1]
    law = ORACLES[name].law(*theta)
    drawn = family.sample(np.random.default_rng(4), np.array(theta), 20_000)
    if not family.discrete:
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-4
        return
    top = int(law.ppf(0.999))
    expected = np.append(law.pmf(np.arange(top + 1)), law.sf(top)) * len(drawn)
    observed = np.bincount(np.minimum(drawn.astype(int), top + 1), minlength=top + 2)
    used = expected > 5
    assert stats.chisquare(observed[used], expected[used] * observed[used].sum() / expected[used].sum()).pvalue > 1e-4


def test_coordinates_go_there_and_back(name: str, family: Family) -> None:
    theta = np.array(ORACLES[name].thetas)
    coordinates = family.unconstrain(theta)
    assert family.constrain(coordinates) == pytest.approx(theta)
    for j, parameter in enumerate(family.parameters):
        above, below = (parameter.constrain(coordinates[:, j] + sign * 1e-6) for sign in (1, -1))
        assert np.exp(parameter.log_jacobian(coordinates[:, j])) == pytest.approx((above - below) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_a_population_is_found(name: str, family: Family, mechanism: str) -> None:
    """1,500 answers at ε = 2 with the default prior: the truth within five posterior standard deviations. Seeded."""
    rng = np.random.default_rng(9)
    truth = np.array(ORACLES[name].thetas[-1])
    learner = Learner(Specification.from_json({"family": name, "epsilon": 2, "mechanism": mechanism}), 9)
    interview(learner, family.sample(rng, truth, 1_500), rng)
    for (parameter, summary), exact in zip(learner.posterior().parameters.items(), truth, strict=True):
        assert abs(summary.mean - exact) < 5 * summary.sd, parameter
        if parameter != "df":  # of which the tails alone tell, and little
            assert summary.sd < 0.5 * abs(exact), parameter
    assert learner.posterior().queries < 300


def test_a_rough_range_makes_a_prior_that_covers_it(name: str, family: Family) -> None:
    law = ORACLES[name].law(*ORACLES[name].thetas[-1])
    low, high = sorted({float(law.ppf(0.1)), float(law.ppf(0.9)) + 1e-3})
    spec = Specification.from_json({"family": name, "epsilon": 1, "range": [low, high]})
    for part, exact in zip(spec.prior.parts, ORACLES[name].thetas[-1], strict=True):
        assert 1e-3 < scipy_distribution(part.distribution).cdf(exact) < 1 - 1e-3, part.parameter.name


@pytest.mark.parametrize(
    ("name", "theta"),
    [
        ("gamma", (400.0, 0.4375)),
        ("weibull", (16.0, 180.0)),
        ("negative_binomial", (1_000.0, 600.0)),
        ("beta", (300.0, 200.0)),
        ("normal", (175.0, 9.0)),
    ],
)
def test_a_range_far_from_0_expects_values_as_alike_as_it_says(name: str, theta: tuple[float, ...]) -> None:
    """A prior that only knows that heights from 150 to 200 are below 200 expects a much smaller shape."""
    law = ORACLES[name].law(*theta)
    limits = law.ppf([0.05, 0.95]).tolist()
    spec = Specification.from_json({"family": name, "epsilon": 1, "range": limits})
    for part, exact in zip(spec.prior.parts, theta, strict=True):
        assert 0.1 < scipy_distribution(part.distribution).cdf(exact) < 0.9, part.parameter.name


@pytest.mark.parametrize("name", ["gamma", "weibull", "negative_binomial"])
@pytest.mark.parametrize("limits", [(-10.0, -5.0), (1e6, 1e6 + 1e-3), (0.0, 1e-12), (1e-300, 1e12)])
def test_any_range_makes_a_prior_of_positive_values(name: str, limits: tuple[float, float]) -> None:
    spec = Specification.from_json({"family": name, "epsilon": 1, "range": list(limits)})
    drawn = spec.family.constrain(spec.prior.sample(np.random.default_rng(1), 1_000))
    assert (drawn > 0).all()
    assert np.isfinite(spec.family.cdf(drawn, np.array(limits))).all()


@pytest.mark.parametrize("bad", ["student_t:0", "student_t:x", "cauchy", None, 3])
def test_unknown_families(bad: object) -> None:
    with pytest.raises(ValueError, match=r"family must be|degrees of freedom"):
        find_family(bad)


def test_degrees_of_freedom_that_are_none_are_no_question_of_the_family() -> None:
    says = "the family student_t:DF must have from 0.5 to 1000 degrees of freedom: give student_t:4"
    with pytest.raises(SpecificationError, match=f"^{says}$"):
        Specification.from_json({"family": "student_t:0", "epsilon": 1})


def test_a_family_of_positive_numbers_takes_no_logarithm() -> None:
    with pytest.raises(SpecificationError, match="transform of gamma must be one of identity"):
        Specification.from_json({"family": "gamma", "epsilon": 1, "transform": "log"})


@pytest.mark.parametrize("name", sorted(families))
def test_edges_far_out_are_computed_without_a_warning(name: str) -> None:
    family, edges = families[name], np.array([-1e300, -1e160, 0.0, 1e160, 1e300])
    theta = family.standard[None]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.isin(family.cdf(theta, edges)[0, [0, 1, 3, 4]], [0, 1]).all()
        assert np.isfinite(family.cdf_gradient(theta, edges)).all()


def test_quantiles_that_no_float_holds_are_infinite_without_a_warning() -> None:
    """A wide prior of a Weibull's shape has draws near 0; warnings are errors here."""
    assert np.isinf(find_family("weibull").quantiles(np.array([[1e-4, 10.0]]), np.array([0.95]))).all()


@pytest.mark.parametrize("name", [name for name, family in families.items() if family.parameters[0].support == "real"])
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_gradients_do_not_depend_on_the_unit_of_values(name: str, unit: float) -> None:
    family, member = families[name], np.array([[50.0, 10.0, 5.0][: len(families[name].parameters)]])
    edges, units = np.array([20.0, 45.0, 70.0]), np.array([unit, unit, 1.0][: member.shape[1]])
    found = family.cdf_gradient(member * units, edges * unit) * units
    assert found == pytest.approx(family.cdf_gradient(member, edges), rel=1e-6)
