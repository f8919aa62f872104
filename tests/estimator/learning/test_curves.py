"""Curves against closed forms. Everything is seeded or exact: no false alarms beyond what each test says."""

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import find_family
from dither_estimator.learning.curves import parameter_density, population_curve
from dither_estimator.learning.population import FamilyPopulation

NORMAL = find_family("normal")
ONE = np.array([1.0])


def test_the_density_of_one_member_is_the_familys() -> None:
    curve = population_curve(FamilyPopulation(NORMAL, "identity", np.array([[50.0, 3.0]])))
    assert curve is not None
    assert curve.quantiles["q50"] == pytest.approx(stats.norm(50, 3).pdf(curve.x), rel=2e-3)
    assert (curve.quantiles["q05"] == curve.quantiles["q95"]).all()


def test_a_logarithms_population_is_shown_in_its_own_units() -> None:
    curve = population_curve(FamilyPopulation(NORMAL, "log", np.array([[6.2, 0.4]])))
    assert curve is not None
    assert not curve.logarithmic
    expected = stats.lognorm(0.4, scale=np.exp(6.2)).pdf(curve.x)
    assert curve.quantiles["q50"] == pytest.approx(expected, rel=0.05)
    # The density of the logarithm itself would be far off: it lacks the change of variable.
    assert not np.allclose(curve.quantiles["q50"], stats.norm(6.2, 0.4).pdf(np.log(curve.x)), rtol=0.5)


def test_a_long_tail_is_shown_whole_on_a_logarithmic_axis() -> None:
    """The curve is the density per doubling, whose area on that axis is the share of the people."""
    law = stats.lognorm(0.7, scale=np.exp(6.2))
    curve = population_curve(FamilyPopulation(NORMAL, "log", np.array([[6.2, 0.7]])))
    assert curve is not None
    assert curve.logarithmic
    assert curve.quantiles["q50"] == pytest.approx(law.pdf(curve.x) * curve.x * np.log(2), rel=2e-3)
    assert np.trapezoid(curve.quantiles["q50"], np.log2(curve.x)) == pytest.approx(0.99, abs=0.002)
    assert law.cdf(curve.x[[0, -1]]) == pytest.approx([0.005, 0.995], abs=1e-3)


def test_a_family_with_people_below_0_has_no_logarithmic_axis() -> None:
    gumbel = FamilyPopulation(find_family("gumbel"), "identity", np.array([[0.0, 1.0]]))
    curve = population_curve(gumbel)
    assert curve is not None
    assert not curve.logarithmic
    assert curve.x[0] < 0


def test_whole_numbers_have_probabilities() -> None:
    curve = population_curve(FamilyPopulation(find_family("poisson"), "identity", np.array([[4.0]])))
    assert curve is not None
    assert curve.quantiles["q25"] == pytest.approx(stats.poisson(4).pmf(curve.x), rel=1e-9)
    assert curve.x.tolist() == list(range(int(curve.x[0]), int(curve.x[-1]) + 1))


@pytest.mark.parametrize(
    ("family", "theta"),
    [
        pytest.param("poisson", [[539.0 if k % 16 else 300.0] for k in range(1_000)], id="uncertain"),
        pytest.param("negative_binomial", [[5_000.0, 0.5]], id="wide"),
    ],
)
def test_many_whole_numbers_are_shown_from_end_to_end(family: str, theta: list[list[float]]) -> None:
    """The ends of some draws would be below most people, and 400 numbers less than a fifth of those that are wide."""
    population = FamilyPopulation(find_family(family), "identity", np.array(theta))
    curve = population_curve(population)
    assert curve is not None
    assert curve.x == pytest.approx(curve.x.round(), abs=0)
    assert len(curve.x) <= 402
    below = np.median(population.cdf(curve.x[[0, -1]]).values, axis=0)
    assert below[0] < 0.01
    assert below[1] > 0.96
    assert curve.quantiles["q50"] == pytest.approx(np.median(population.density(curve.x).values, axis=0))


def test_a_population_that_is_hardly_known_is_not_shown() -> None:
    """Where tails reach ten thousand times as far as half of the people, an axis has no room for these."""
    hardly = FamilyPopulation(find_family("student_t"), "identity", np.array([[0.0, 1.0, 0.3]]))
    assert population_curve(hardly) is None
    heavy = FamilyPopulation(find_family("student_t"), "identity", np.array([[0.0, 1.0, 1.0]]))
    assert population_curve(heavy) is not None


def test_two_possibilities_are_both_shown() -> None:
    """By three of five draws all people lie below the median of the others, where their own ends are."""
    population = FamilyPopulation(find_family("poisson"), "identity", np.array([[540.0]] * 6 + [[720.0]] * 4))
    curve = population_curve(population)
    assert curve is not None
    assert curve.x[0] < 540 < 720 < curve.x[-1]
    assert np.median(population.quantile(np.array([0.995])).values) < 720


def test_bands_are_the_quantiles_over_the_members() -> None:
    theta = np.column_stack([np.linspace(-1, 1, 101), np.ones(101)])
    curve = population_curve(FamilyPopulation(NORMAL, "identity", theta))
    assert curve is not None
    width = curve.x[1] - curve.x[0]
    exact = np.diff(stats.norm.cdf(np.append(curve.x - width / 2, curve.x[-1] + width / 2) - theta[:, :1])) / width
    assert curve.quantiles["q50"] == pytest.approx(np.quantile(exact, 0.5, axis=0, method="hazen"), rel=1e-6)
    assert curve.quantiles["q05"] == pytest.approx(np.quantile(exact, 0.05, axis=0, method="hazen"), rel=1e-6)
    assert (curve.quantiles["q05"] < curve.quantiles["q95"]).all()


@pytest.mark.parametrize(
    ("name", "law"), [("mu", stats.norm(2, 0.1)), ("sigma", stats.lognorm(0.5, scale=3))], ids=["real", "positive"]
)
def test_a_parameters_density_is_that_of_its_particles(name: str, law: stats.rv_continuous) -> None:
    parameter = NORMAL.parameters[NORMAL.names.index(name)]
    size = 5_000  # more than are used
    values = law.ppf((np.arange(size) + 0.5) / size)
    curve = parameter_density(parameter, values, np.full(size, 1 / size))
    assert np.trapezoid(curve.density, curve.x) == pytest.approx(1, abs=0.01)
    top = law.pdf(curve.x).max()
    assert curve.density == pytest.approx(law.pdf(curve.x), abs=0.06 * top)
    assert (curve.x > 0).all() or name == "mu"


def test_weights_count() -> None:
    values, weights = np.array([0.0, 10.0]), np.array([0.9, 0.1])
    curve = parameter_density(NORMAL.parameters[0], values, weights)
    near = curve.density[curve.x < 5].sum() / curve.density.sum()
    assert near == pytest.approx(0.9, abs=0.05)


def test_what_floating_point_cannot_hold_has_no_curve() -> None:
    assert population_curve(FamilyPopulation(NORMAL, "log", np.array([[800.0, 1.0]]))) is None
    assert population_curve(FamilyPopulation(NORMAL, "identity", np.array([[1e17, 1.0]]))) is None


def test_no_number_of_a_very_wide_population_is_infinite() -> None:
    for sigma in (5.0, 20.0, 100.0, 250.0):
        curve = population_curve(FamilyPopulation(NORMAL, "log", np.array([[0.0, sigma], [2.0, 1.5 * sigma]])))
        assert curve is None or all(np.isfinite(line).all() for line in (curve.x, *curve.quantiles.values()))


def test_a_logarithmic_axis_begins_where_values_can_lie() -> None:
    """In whole euros nobody spends a hundredth, so that decades below 1 € would be empty."""
    spending = FamilyPopulation(NORMAL, "log", np.array([[3.0, 3.0]]))
    plain, euros, cents = (population_curve(spending, decimals) for decimals in (None, 0, 2))
    assert plain is not None
    assert euros is not None
    assert cents is not None
    assert plain.x[0] == pytest.approx(np.exp(3 - 2.576 * 3), rel=0.1)
    assert euros.logarithmic
    assert 1 <= euros.x[0] < 1.1
    assert 0.01 <= cents.x[0] < 0.011
    assert euros.x[-1] == pytest.approx(plain.x[-1], rel=0.1)
