"""What answers of a known population will tell: against posteriors of simulated answers, and beside the limit."""

from fractions import Fraction

import numpy as np
import pytest

from dither_client import RandomizedResponse
from dither_estimator.families import FloatArray, find_family
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.prospect import Prospect, expect
from dither_estimator.nonparametric.questions import Templates
from dither_estimator.nonparametric.support import Support

ZEROS = Support(minimum=0.0, atoms=(0.0,))
TEMPLATES = Templates.of(RandomizedResponse((0.0,), 1))


def member(name: str, *theta: float, log: bool = False, support: Support | None = None) -> KnownPopulation:
    support = support or Support(minimum=0.0 if log else None)
    return KnownPopulation.of_member(find_family(name), np.array(theta), "log" if log else "identity", support)


def with_zeros() -> KnownPopulation:
    rng = np.random.default_rng(0)
    return KnownPopulation.of_values(np.append(np.zeros(5_000), np.exp(rng.normal(4.2, 1.4, 15_000))), ZEROS)


def shifted_and_scaled() -> list[tuple[FloatArray, float]]:
    """Values and their minimum, twice: the same in other units."""
    values = np.exp(np.random.default_rng(1).normal(6.2, 0.7, 20_000))
    return [(100.0 + values, 100.0), (1_000 * values, 0.0)]


def variance_learnt(population: KnownPopulation, prospect: Prospect, respondents: int, seed: int) -> float:
    """`∫ Var F(x) dF(x)` of the posterior of as many simulated answers to the questions that are asked."""
    rng = np.random.default_rng(seed)
    queries = prospect.questions(TEMPLATES)
    counts = {query: rng.multinomial(respondents // len(queries), population.chances(query)) for query in queries}
    found = estimate_distribution(rng, counts, population.support, 400)
    people = prospect.distribution.quantile((np.arange(100) + 0.5) / 100).values[0]
    return float(np.square(found.cdf(people).sd).mean())


@pytest.mark.parametrize("population", [member("normal", 50.0, 10.0), with_zeros()], ids=["normal", "zeros"])
def test_the_criterion_is_what_posteriors_are_left_with(population: KnownPopulation) -> None:
    """The mean of four posteriors' variances, each of which varies by 3 to 6% and is 2 to 4% below it on average.

    So a mean of four is off by 15% less than once in 10⁴; that of half the respondents must be.
    """
    prospect = expect(population, TEMPLATES, 8_000)
    promised = prospect.criterion(prospect.questions(TEMPLATES)) / 8_000
    learnt = np.mean([variance_learnt(population, prospect, 8_000, seed) for seed in range(4)])
    assert promised == pytest.approx(learnt, rel=0.15)
    of_half = np.mean([variance_learnt(population, prospect, 4_000, seed) for seed in range(4)])
    assert promised != pytest.approx(of_half, rel=0.15)


def test_units_and_coordinates_do_not_matter() -> None:
    """A population from 100 on is one from 0 on, in other units."""
    moved, scaled = (KnownPopulation.of_values(values, Support(minimum=low)) for values, low in shifted_and_scaled())
    found = [expect(each, TEMPLATES, 20_000).limit_on(8, TEMPLATES.cells.epsilon).criterion for each in (moved, scaled)]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_finer_cells_bring_the_limit_down_to_that_of_the_finest() -> None:
    prospect = expect(member("normal", 0.0, 1.0), TEMPLATES, 20_000)
    queries = prospect.questions(TEMPLATES)
    limits = [prospect.limit_on(cells, TEMPLATES.cells.epsilon) for cells in (4, 12, 16)]
    found = prospect.certificate(queries)
    for limit in (*limits, found.limit):
        assert 0 <= limit.gap < 5e-3 * limit.criterion
    finer = [*(limit.criterion for limit in limits), found.limit.criterion]
    assert sorted(finer, reverse=True) == finer
    assert finer[2] == pytest.approx(finer[3], rel=0.01)
    assert found.criterion == pytest.approx(prospect.criterion(queries))
    assert 0.7 < found.efficiency < 1
    assert found.enough < found.efficiency * 20_000  # the prior's share of what is known is the same in both


@pytest.mark.parametrize(("cells", "epsilon"), [(2, "0.3"), (3, "2"), pytest.param(9, "2", marks=pytest.mark.long)])
def test_no_number_of_cells_beats_the_limit(cells: int, epsilon: str) -> None:
    """The queries' own columns are in the list, so that it never depends on the fineness of the cells."""
    templates = Templates.of(RandomizedResponse((0.0,), Fraction(epsilon)))
    prospect = expect(with_zeros(), templates, 2_000)
    found = prospect.certificate(prospect.questions(templates, cells))
    assert found.limit.criterion <= found.criterion * (1 + 1e-4)
    assert found.limit.gap < 5e-3 * found.limit.criterion


def test_more_answers_leave_less() -> None:
    variances = [
        found.criterion(found.questions(TEMPLATES)) / number
        for number in (1_000, 10_000, 100_000)
        for found in [expect(with_zeros(), TEMPLATES, number)]
    ]
    assert variances[0] > 4 * variances[1] > 16 * variances[2]


def test_a_population_outside_its_support_is_refused() -> None:
    with pytest.raises(ValueError, match="outside minimum and maximum"):
        member("normal", 1.0, 1.0, support=Support(minimum=0.0))
    with pytest.raises(ValueError, match="outside minimum and maximum"):
        KnownPopulation.of_values(np.array([0.0, 1.5]), Support(0.0, 1.0))
