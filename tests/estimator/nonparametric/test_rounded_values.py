"""Values that have only so many decimals, such as whole numbers: what is told of them is told of them, not of others.

Coverages are of 90% bands, averaged over values that are not independent, in so many collections that an average below
the limits has a chance below 1 in 1,000 each.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.any_distribution import answers, learner_on
from dither_client import Query, RandomizedResponse
from dither_client.posterior.population import share_at
from dither_client.posterior.sentences import NOT_COMPARED
from dither_estimator.checks.averaging import average_distribution
from dither_estimator.checks.family_fits import fit_families
from dither_estimator.families import FloatArray, find_family
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.nonparametric import posterior
from dither_estimator.nonparametric.base import Base, Z
from dither_estimator.nonparametric.cell_design import cells_at
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.place import Place
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.questions import Templates, quantile_questions
from dither_estimator.nonparametric.rounding import halfway, rounded, unit_of
from dither_estimator.nonparametric.support import Support

_FINE = 10_000
"""How many equally likely numbers stand for a bin."""
WHOLE = Support(decimals=0)
SUPPORTS = [
    WHOLE,
    Support(minimum=0.0, decimals=0),
    Support(maximum=70.0, decimals=0),
    Support(0.0, 100.0, decimals=0),
    Support(0.0, 100.0, (40.0,), decimals=0),
    Support(-3.0, 103.0, (40.5,), decimals=1),
]


def collected(support: Support, values: FloatArray, epsilon: str, seed: int) -> NonparametricLearner:
    """The learner of a collection that has asked people with these values."""
    learner, rng = learner_on(support, epsilon, seed), np.random.default_rng(seed)
    while learner.answers < len(values):
        queries = learner.pool()
        learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
    return learner


def coverage(support: Support, population: Any, x: FloatArray, seeds: int, people: int) -> float:
    """The share of 90% bands at `x` that hold the share of people with at most so much; values are rounded."""
    found = []
    for seed in range(seeds):
        values = np.rint(population.rvs(people, random_state=seed))
        low, high = collected(support, values, "1", seed).distribution.cdf(x).interval(0.9)
        truth = population.cdf(x + 0.5)
        found.append(((low <= truth) & (truth <= high)).mean())
    return float(np.mean(found))


class TestRounding:
    @pytest.mark.parametrize("decimals", range(7))
    def test_a_number_is_the_multiple_that_its_text_writes(self, decimals: int) -> None:
        """So 0.29 is a value of two decimals, though 0.29 · 100 is less than 29 in floating point."""
        numbers = np.random.default_rng(decimals).integers(-(10**9), 10**9, 10_000)
        x = np.array([float(f"{number}e-{decimals}") for number in numbers])
        above = np.array([float(f"{2 * number + 1}e-{decimals}") for number in numbers]) / 2
        assert (rounded(x, decimals) == x).all()
        assert halfway(x, decimals) == pytest.approx(above, rel=1e-15, abs=0)
        assert (halfway(x, decimals) == halfway(np.nextafter(x + 0.4 / 10**decimals, np.inf), decimals)).all()
        below = halfway(np.nextafter(x, -np.inf), decimals)
        assert (below == halfway(rounded(x - 10.0**-decimals, decimals), decimals)).all()

    def test_huge_numbers_are_all_values(self) -> None:
        x = np.array([-1e300, -1e17, 1e17, 1e300])
        assert rounded(x, 6) == pytest.approx(x, rel=1e-15)
        assert halfway(x, 6) == pytest.approx(x, rel=1e-15)


class TestDistribution:
    @pytest.mark.parametrize("support", SUPPORTS)
    def test_shares_are_those_of_the_rounded_numbers(self, support: Support) -> None:
        """Counted on a fine grid of the smooth numbers, each rounded, and of the people at the support's points."""
        rng = np.random.default_rng(1)
        centre = float(support.smooth_coordinate(np.array([40.3]))[0])
        base = Base(centre + (1.5 if support.minimum is None and support.maximum is None else 0.4) * Z)
        masses = rng.dirichlet(np.ones(BINS + len(support.points)), 3)
        found = Distribution(support, base, masses)
        levels = (np.arange(_FINE * BINS) + 0.5) / (_FINE * BINS)
        values = np.append(support.value(base.quantile(levels)), support.points)
        unit = unit_of(support.decimals or 0)
        assert np.allclose(values[:-1] / unit, np.rint(values[:-1] / unit))
        x = np.unique(values)[::3]
        for draw, row in zip(masses, found.cdf(x).values, strict=True):
            weights = np.concatenate([np.repeat(draw[:BINS] / _FINE, _FINE), draw[BINS:]])
            counted = [(weights * (values <= each)).sum() for each in x]
            assert row == pytest.approx(counted, abs=1e-5)
        shares = [(weights * (values == point)).sum() for point in support.points]
        assert found.atom_shares.values[-1] == pytest.approx(shares, abs=1e-5)
        assert found.cdf(x + 0.7 * unit).values == pytest.approx(found.cdf(x).values)

    def test_quantiles_are_values_with_at_least_so_many_at_or_below(self) -> None:
        support = Support(0.0, 100.0, (40.0,), decimals=0)
        masses = np.random.default_rng(2).dirichlet(np.ones(BINS + 3), 4)
        found = Distribution(support, Base(0.5 * Z), masses)
        levels = np.linspace(0.01, 0.99, 99)
        quantiles = found.quantile(levels).values
        assert (quantiles == np.rint(quantiles)).all()
        for draw, row in zip(range(4), quantiles, strict=True):
            assert (found.cdf(row).values[draw] >= levels - 1e-9).all()
            assert (found.cdf(row - 1).values[draw] < levels + 1e-9).all()

    def test_nobody_is_beyond_the_bounds(self) -> None:
        found = Distribution(Support(0.0, 10.0, decimals=0), Base(3 * Z), np.full((1, BINS + 2), 1 / (BINS + 2)))
        assert found.cdf(np.array([-1.0, -0.01, 10.0, 11.0])).values[0] == pytest.approx([0, 0, 1, 1])

    def test_what_is_told_has_a_step_at_each_value(self) -> None:
        """So the share at or below 5.9 is that at or below 5, and not nearly that at or below 6."""
        values = stats.poisson(4).rvs(2_000, random_state=3).astype(float)
        learner = collected(Support(minimum=0.0, decimals=0), values, "2", 3)
        told = learner.posterior().described(learner.posterior().reply())
        assert told.distribution is not None
        assert told.quantiles is not None
        assert told.distribution.x == tuple(np.arange(told.distribution.x[-1] + 1))
        at = {x: share_at(told.distribution, x).q50 for x in (4.99, 5.0, 5.5, 5.9, 6.0)}
        assert at[5.0] == at[5.5] == pytest.approx(at[5.9])
        assert at[4.99] + 0.05 < at[5.0] < at[6.0] - 0.05
        assert all(summary.q50 == round(summary.q50) for summary in told.quantiles.values())


class TestPosterior:
    @pytest.mark.long
    @pytest.mark.parametrize("broken", [False, True])
    def test_bands_hold_the_shares_at_whole_numbers(self, broken: bool) -> None:
        """Without the decimals a number's own people are spread out evenly around it, half of them above."""
        support = Support() if broken else WHOLE
        held = coverage(support, stats.norm(50, 4), np.arange(42.0, 59.0), 8, 8_000)
        assert (held < 0.72) == broken

    @pytest.mark.parametrize("broken", [False, True])
    def test_bands_hold_the_shares_of_a_few_numbers(self, broken: bool) -> None:
        """People rate from 1 to 7, many of them at the ends."""
        support = Support(1.0, 7.0, decimals=None if broken else 0)
        population = stats.randint(1, 8)
        found = []
        for seed in range(6):
            values = np.minimum(population.rvs(8_000, random_state=seed), 7).astype(float)
            low, high = collected(support, values, "2", seed).distribution.cdf(np.arange(1.0, 7.0)).interval(0.9)
            truth = np.arange(1, 7) / 7
            found.append(((low <= truth) & (truth <= high)).mean())
        assert (np.mean(found) < 0.7) == broken

    @pytest.mark.parametrize("broken", [False, True])
    def test_others_are_not_lost_beside_a_number_that_most_have(
        self, broken: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if broken:
            monkeypatch.setattr(posterior, "with_heap", lambda support, _: support)
        x = np.array([25.0, 38.0, 39.0, 40.0, 42.0, 55.0])
        truth = 0.8 * (x >= 40) + 0.2 * stats.norm(38, 10).cdf(x + 0.5)
        errors = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            values = np.where(rng.random(5_000) < 0.8, 40.0, np.rint(rng.normal(38, 10, 5_000)))
            found = collected(WHOLE, values, "1", seed).distribution
            errors.append(np.abs(found.cdf(x).mean - truth).max())
        assert (np.mean(errors) > 0.07) == broken

    @pytest.mark.parametrize("values", [[40.0], [40.0, 41.0], [-1.0, 3.0]])
    def test_a_single_number_or_two_are_told_as_they_are(self, values: list[float]) -> None:
        people = np.resize(values, 3_000)
        found = collected(WHOLE, people, "2", 1).distribution
        x = np.array([values[0] - 1, *values])
        truth = [(people <= each).mean() for each in x]
        assert found.cdf(x).mean == pytest.approx(truth, abs=0.06)

    def test_yes_or_no_is_one_share(self) -> None:
        """With one cut there is nothing to learn of a location apart from a scale."""
        people = (np.random.default_rng(5).random(6_000) < 0.3).astype(float)
        learner = collected(Support(0.0, 1.0, decimals=0), people, "1", 5)
        assert {query.edges for query in learner.counts} == {(0.5,)}
        assert learner.distribution.share_above(np.array([0.0])).mean[0] == pytest.approx(people.mean(), abs=0.06)

    @pytest.mark.parametrize("decimals", [None, 0])
    def test_yes_or_no_is_as_uncertain_as_a_binomial_share(
        self, decimals: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """People at the bounds and people between them are not known apart; else the interval is four times as wide."""
        counts: dict[Query, Any] = {RandomizedResponse((0.5,), 1): np.array([1_778, 1_222])}
        gain = math.tanh(0.5)
        share, sd = 0.5 + (1_778 / 3_000 - 0.5) / gain, math.sqrt(0.592667 * 0.407333 / 3_000) / gain

        def found() -> FloatArray:
            drawn = estimate_distribution(np.random.default_rng(1), counts, Support(0.0, 1.0, decimals=decimals))
            return np.array(drawn.cdf(np.array([0.5])).interval(0.9)).ravel()

        assert found() == pytest.approx(share + sd * stats.norm.ppf([0.05, 0.95]), abs=0.01)
        monkeypatch.setattr(Place, "_together", lambda place, rng, size: place._given(rng, size)[0])
        assert decimals == 0 or np.ptp(found()) > 0.15

    def test_families_of_few_values_are_not_compared(self) -> None:
        """Any shares of three values are those of some member of a family with two parameters."""
        for most in (2.0, 4.0):
            people = np.random.default_rng(6).integers(0, int(most) + 1, 4_000).astype(float)
            learner = collected(Support(0.0, most, decimals=0), people, "1", 6)
            comparison = fit_families(learner.counts, learner.distribution).comparison
            assert comparison is not None
            assert (comparison.verdict == NOT_COMPARED) == (most == 2)

    def test_those_above_a_number_that_few_have_are_not_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """61% have 0 and 30% have 1, who are most of those above the bound, but not half of all people."""
        population, x = stats.poisson(0.5), np.arange(4.0)

        def found(seed: int) -> Distribution:
            people = population.rvs(2_000, random_state=seed).astype(float)
            return collected(Support(minimum=0.0, decimals=0), people, "1", seed).distribution

        held = []
        for seed in range(8):
            low, high = found(seed).cdf(x).interval(0.9)
            held.append((low <= population.cdf(x)) & (population.cdf(x) <= high))
        assert np.mean(held) > 0.8
        assert found(1).support.atoms == found(2).support.atoms == ()
        monkeypatch.setattr(posterior, "_known_within", lambda *_: 0.0)
        monkeypatch.setattr(posterior, "_share_of_all_else", lambda *_: 1.0)
        assert found(1).support.atoms == found(2).support.atoms == (1.0,)

    @pytest.mark.parametrize(("support", "mean"), [(WHOLE, 50.0), (Support(), 49.5)])
    def test_families_are_held_against_the_rounded_numbers(self, support: Support, mean: float) -> None:
        """Otherwise cuts at whole numbers would have all normal distributions half a unit too low."""
        counts: dict[Query, Any] = {}
        for cuts in [(48.0, 49.0, 50.0), (49.0, 50.0, 51.0), (47.0, 50.0, 52.0), (48.0, 51.0, 53.0)]:
            query = RandomizedResponse(cuts, 3)
            below = stats.norm(50, 1).cdf([*(np.array(cuts) + 0.5), np.inf])
            counts[query] = np.rint(5_000 * np.diff(below, prepend=0.0) @ np.array(query.channel())).astype(int)
        _, fits = average_distribution(np.random.default_rng(0), counts, support, 200)
        normal = next(fit for fit in fits.fits if fit.description.family == "normal")
        theta, _ = normal.proposals(np.random.default_rng(0), 400)
        assert theta.mean(axis=0) == pytest.approx([mean, 1.0], abs=0.05)

    def test_a_known_population_is_rounded(self) -> None:
        member = KnownPopulation.of_member(find_family("normal"), np.array([50.0, 3.0]), "identity", WHOLE)
        assert member.cdf(np.array([50.0, 50.9])) == pytest.approx(stats.norm(50, 3).cdf([50.5, 50.5]))


class TestQuestions:
    @pytest.mark.parametrize("support", SUPPORTS)
    @pytest.mark.parametrize("cells", [None, 2, 7])
    def test_cuts_are_halfway_between_values(self, support: Support, cells: int | None) -> None:
        found = estimate_distribution(np.random.default_rng(0), {}, support, 100)
        for question in quantile_questions(found, Templates.of(RandomizedResponse((0.0,), 1)), cells):
            edges = np.array(question.edges)
            assert (np.diff(edges) > 0).all()
            assert (support.smooth(edges) == edges).all()
            assert (support.coordinate(edges[[0, -1]])[[0, -1]] != [-np.inf, np.inf]).all()

    def test_there_are_no_more_cells_than_values(self) -> None:
        """Unless a number of them is asked for: then some lie between values."""
        support = Support(1.0, 3.0, decimals=0)
        found = estimate_distribution(np.random.default_rng(0), {}, support, 100)
        templates = Templates.of(RandomizedResponse((0.0,), 3))
        assert cells_at(templates.cells.epsilon) > 3
        assert {question.edges for question in quantile_questions(found, templates)} == {(1.5, 2.5)}
        assert all(question.n_cells == 7 for question in quantile_questions(found, templates, 7))

    def test_cuts_next_to_each_other(self) -> None:
        assert Support(decimals=1).next_cut(0.3, math.inf) == Support(decimals=1).next_cut(0.35, math.inf) == 0.45
        assert Support(decimals=1).next_cut(0.3, -math.inf) == Support(decimals=1).next_cut(0.35, -math.inf) == 0.25
        assert WHOLE.next_cut(1e300, math.inf) == math.nextafter(1e300, math.inf)
        assert Support().next_cut(0.3, math.inf) == math.nextafter(0.3, math.inf)
        assert WHOLE.around(40.0) == (39.5, 40.5)
        assert Support(0.0, 10.0, decimals=0).around(0.0) == (0.5,)
        assert Support(0.0, 10.0, decimals=0).around(10.0) == (9.5,)

    @pytest.mark.parametrize("goal", [{"quantiles": [0.5]}, {"above": [40, 50]}])
    def test_cuts_of_goals_are_halfway_too(self, goal: Any) -> None:
        """Where many hold the median to be one of two values, both cuts beside it are asked about."""
        learner, rng = learner_on(WHOLE, "2", 1, goal), np.random.default_rng(1)
        values = rng.integers(30, 60, 3_000).astype(float)
        while learner.answers < 3_000:
            queries = learner.pool()
            learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
        cuts = {query.edges[0] for query in learner.counts if len(query.edges) == 1}
        assert all(cut % 1 == 0.5 for cut in cuts)
        assert {40.5, 50.5} <= cuts or "quantiles" in goal

    def test_a_value_with_more_decimals_counts_as_the_nearest(self) -> None:
        """As one that was computed does: 0.1 + 0.2 is more than 0.3."""
        values = np.asarray(np.random.default_rng(1).integers(1, 8, 2_000) * 0.1, dtype=np.float64)
        assert (values != np.round(values, 1)).any()
        found = collected(Support(decimals=1), values, "8", 1).distribution
        x = np.arange(1, 8) / 10
        assert found.cdf(x).mean == pytest.approx([(np.round(values, 1) <= each).mean() for each in x], abs=0.02)
