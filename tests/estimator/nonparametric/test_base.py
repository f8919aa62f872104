"""A distribution without a family: its base, likelihood and deviations, against closed forms and differences."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric import fitting
from dither_estimator.nonparametric.base import BASE_PARAMETERS, PLACE_SD, SHAPE_SD, ShapedBase
from dither_estimator.nonparametric.deviations import (
    BINS,
    Deviations,
)
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.support import ANYWHERE, Support
from testing.distributions import NORMAL, asked, questions_around

LIGHT = -20.0
"""Tails that are those of a normal distribution."""


SKEWED = ShapedBase(np.array([-3.0, np.log(0.2), 0.8, -0.3, 0.6]))


MOVES = np.concatenate([[PLACE_SD, PLACE_SD], SHAPE_SD])


def exact_cdf(parameters: FloatArray, y: FloatArray) -> FloatArray:
    """The distribution function of a base by root finding, without its table."""
    base = ShapedBase(parameters)

    def above(level: float, x: float) -> float:
        return float(base.quantile(np.array(level))) - x

    return np.array([brentq(above, 1e-6, 1 - 1e-6, args=(x,), xtol=1e-14) for x in y])


class TestBase:
    @pytest.mark.parametrize("base", [NORMAL, SKEWED])
    def test_the_distribution_function_inverts_quantiles(self, base: ShapedBase) -> None:
        levels = np.linspace(0.001, 0.999, 999)
        assert np.abs(base.cdf(base.quantile(levels)) - levels).max() < 1e-4

    def test_quantiles_increase_whatever_the_parameters(self) -> None:
        levels = np.linspace(0.001, 0.999, 999)
        for parameters in np.random.default_rng(12).normal(0, [1, 1, 2, 0.7, 0.7], (300, BASE_PARAMETERS)):
            assert (np.diff(ShapedBase(parameters).quantile(levels)) > 0).all()

    def test_without_shape_it_is_a_normal_distribution(self) -> None:
        y = np.linspace(20.0, 80.0, 121)
        base = ShapedBase(np.array([50.0, np.log(10.0), 0.0, 0.0, LIGHT]))
        assert np.abs(base.cdf(y) - ndtr((y - 50) / 10)).max() < 1e-4

    @pytest.mark.parametrize("shape", np.random.default_rng(15).normal(0, [0.7, 0.35, 1.0], (5, 3)))
    def test_the_scale_is_half_of_what_is_between_the_quantiles_of_a_normal_one(self, shape: FloatArray) -> None:
        low, high = ShapedBase(np.array([3.0, np.log(2.0), *shape])).quantile(ndtr(np.array([-1.0, 1.0])))
        assert high - low == pytest.approx(4.0)

    def test_its_tails_are_those_of_student_t_where_those_of_other_bases_are_too_light(self) -> None:
        levels = np.array([0.75, 0.9, 0.975, 0.99])
        truth = stats.t.ppf(levels, 2)
        quantiles = ShapedBase(np.array([0.0, 0.0, 0.0, 0.0, 1.34])).quantile(levels)
        light = ShapedBase(np.array([0.0, 0.0, 0.0, -0.48, LIGHT])).quantile(levels)
        assert np.abs(quantiles / quantiles[0] / (truth / truth[0]) - 1).max() < 0.1
        assert light[-1] / light[0] < 0.7 * truth[-1] / truth[0]

    def test_scores_of_the_normal_are_hermite_polynomials(self) -> None:
        z = ndtri(np.arange(BINS + 1) / BINS)
        density = stats.norm.pdf(z)
        moment = np.where(np.isfinite(z), z, 0.0) * density
        base = ShapedBase(np.array([50.0, np.log(10.0), 0.0, 0.0, LIGHT]))
        slopes = base.slopes(base.quantile(np.arange(1, BINS) / BINS))
        scores = BINS * np.diff(slopes, prepend=0.0, append=0.0).T
        assert np.abs(scores[:, 0] + BINS * np.diff(density)).max() < 2e-3
        assert np.abs(scores[:, 1] + BINS * np.diff(moment)).max() < 5e-3

    @pytest.mark.parametrize("shape", [[0.0, 0.0, -2.0], [0.9, -0.3, 0.5], [-1.2, 0.5, 1.5]])
    def test_slopes_are_those_of_the_inverse_of_the_quantile_function(self, shape: list[float]) -> None:
        parameters = np.array([3.0, np.log(2.0), *shape])
        base = ShapedBase(parameters)
        y = base.quantile(np.linspace(0.01, 0.99, 9))
        steps = 1e-5 * np.diag([base.scale, 1.0, 1.0, 1.0, 1.0])
        exact = [(exact_cdf(parameters + step, y) - exact_cdf(parameters - step, y)) / 2e-5 for step in steps]
        assert np.abs(base.slopes(y) - exact).max() < 1e-3
        assert np.abs(base.slopes(y + 0.01 * base.scale) - exact).max() > 1e-3

    @pytest.mark.parametrize("base", [NORMAL, SKEWED])
    @pytest.mark.parametrize("mechanism", [RandomizedResponse, Laplace])
    def test_it_is_found_from_counts_alone(self, base: ShapedBase, mechanism: type[Query]) -> None:
        queries = questions_around(base, Fraction(2))
        if mechanism is Laplace:
            queries = [Laplace(low, high, 4, Fraction(2)) for query in queries for low, high in pairwise(query.edges)]
        found = fit_base(asked(np.random.default_rng(1), queries, base.cdf, 200_000), ANYWHERE)
        y = base.quantile(np.linspace(0.01, 0.99, 99))
        assert np.abs(found.cdf(y) - base.cdf(y)).max() < 0.02

    @pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
    def test_it_is_found_beside_a_first_question_that_was_absurdly_far(self, unit: float) -> None:
        normal = ShapedBase(np.array([3.0 * unit, np.log(unit), 0.0, 0.0, -2.0]))
        counts = dict(asked(np.random.default_rng(1), questions_around(normal, Fraction(2)), normal.cdf, 20_000))
        counts[RandomizedResponse((1e37,), 2)] = np.array([9, 1])
        found = fit_base(counts, ANYWHERE)
        y = normal.quantile(np.linspace(0.01, 0.99, 99))
        assert np.abs(found.cdf(y) - normal.cdf(y)).max() < 0.04

    def test_there_must_be_counts(self) -> None:
        with pytest.raises(ValueError, match="at least one answer"):
            fit_base({}, ANYWHERE)


class TestLikelihood:
    def test_of_equal_masses_it_is_that_of_the_base(self) -> None:
        counts = asked(np.random.default_rng(2), questions_around(SKEWED), SKEWED.cdf, 5_000)
        exact = 0.0
        for query, row in counts.items():
            cells = np.diff(np.concatenate([[0.0], SKEWED.cdf(np.array(query.edges)), [1.0]]))
            exact += float(row @ np.log(cells @ channel_of(query).matrix))
        likelihood = MassLikelihood.of(counts, SKEWED, BINS, ANYWHERE)
        assert likelihood(np.full(BINS, 1 / BINS)) == pytest.approx(exact, rel=1e-12)

    def test_its_expansion_has_its_slope_and_curvature(self) -> None:
        rng = np.random.default_rng(3)
        counts = asked(rng, questions_around(NORMAL), NORMAL.cdf, 5_000)
        likelihood = MassLikelihood.of(counts, NORMAL, BINS, ANYWHERE)
        origin = rng.dirichlet(np.full(BINS, 20.0))
        direction = rng.dirichlet(np.full(BINS, 20.0)) - origin
        expansion = likelihood.expand(origin)
        steps = np.array([-1e-2, 0.0, 1e-2])
        near = likelihood(origin + steps[:, None] * direction)
        assert (near[2] - near[0]) / 2e-2 == pytest.approx(expansion.slope @ direction, rel=1e-4)
        assert (near[0] - 2 * near[1] + near[2]) / 1e-4 == pytest.approx(
            -direction @ expansion.curvature @ direction, rel=1e-3
        )
        assert expansion(origin + steps[:, None] * direction) == pytest.approx(near, abs=1e-3)


class TestDeviations:
    @pytest.mark.parametrize("base", [NORMAL, SKEWED])
    def test_masses_are_those_of_the_base_that_moved(self, base: ShapedBase) -> None:
        """As far as 2,000 answers leave the base unknown; an expansion to first order is off three times as much."""
        rng, found = np.random.default_rng(13), Deviations(base, order=2)
        edges, units = base.quantile(np.arange(1, BINS) / BINS), np.append(base.scale, np.ones(BASE_PARAMETERS - 1))
        to_first_order, own = found.jacobian(found.fitted) * BINS, np.zeros(found.size)
        off = []
        for _ in range(200):
            own[:BASE_PARAMETERS] = rng.normal(0, [0.03, 0.05, 0.15, 0.2, 0.2])
            moved = ShapedBase(base.parameters + own[:BASE_PARAMETERS] * MOVES * units)
            exact = np.append(moved.cdf(edges), 1.0)
            linear = np.exp(to_first_order @ own)
            each = found.masses(found.fitted + own), linear / linear.sum()
            off.append([np.abs(np.cumsum(masses) - exact).max() for masses in each])
        second, first = np.mean(off, axis=0)
        assert second < 0.003
        assert second < first / 3

    @pytest.mark.parametrize("support", [ANYWHERE, Support(0.0, atoms=(40.0,))])
    @pytest.mark.parametrize("order", [1, 2])
    def test_derivatives_are_those_of_the_masses(self, support: Support, order: int) -> None:
        rng, found = np.random.default_rng(14), Deviations(NORMAL, support, order)
        at, by_mass = found.fitted + rng.normal(0, 0.1, found.size), rng.normal(size=BINS + len(support.points))
        steps = 1e-5 * np.eye(found.size)
        numerical = (found.masses(at + steps) - found.masses(at - steps)) / 2e-5
        assert np.abs(found.jacobian(at).T - numerical).max() < 1e-8
        assert np.abs(found.gradient(at, found.masses(at), by_mass) - numerical @ by_mass).max() < 1e-8


def test_a_base_has_tails_as_heavy_as_people_far_away_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine tenths are N(20, 5²), the others N(80, 8²), and most are asked about 50: a light tail is a mode, too.

    It is where a search from light tails ends. The counts are those that are expected.
    """

    def expected(answers: int, *cuts: float) -> tuple[Query, npt.NDArray[np.int64]]:
        query, edges = RandomizedResponse(cuts, Fraction(1)), np.array([-np.inf, *cuts, np.inf])
        cells = np.diff(0.9 * stats.norm(20, 5).cdf(edges) + 0.1 * stats.norm(80, 8).cdf(edges))
        return query, (answers * cells @ channel_of(query).matrix).round().astype(np.int64)

    counts = dict([expected(640, 50.0), expected(160, 16.0, 20.0, 24.0)])
    assert fit_base(counts, ANYWHERE).cdf(np.array(50.0)) == pytest.approx(0.9, abs=0.05)
    monkeypatch.setattr(fitting, "_HEAVY", -0.5)
    assert fit_base(counts, ANYWHERE).cdf(np.array(50.0)) > 0.98
