"""The posterior of a distribution without a family, against another sampler, its own prior and truths."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from dither_client import RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric import approximation, posterior, sampler
from dither_estimator.nonparametric import base as bases
from dither_estimator.nonparametric.approximation import approximate, approximate_around
from dither_estimator.nonparametric.base import Base, ShapedBase, Z
from dither_estimator.nonparametric.deviations import (
    BINS,
    COSINES,
    LOG_PRIOR,
    SCALES,
    Deviations,
    neighbours,
)
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.posterior import estimate_around, estimate_distribution
from dither_estimator.nonparametric.questions import Templates, quantile_questions
from dither_estimator.nonparametric.support import ANYWHERE, Support
from testing.distributions import ATOM, EPSILON, NORMAL, asked, questions_around

SWEEPS = 800


class EllipticalSlices:
    """Elliptical slice sampling (Murray, Adams & MacKay 2010) and Metropolis on nodes, of the exact posterior.

    They start from the approximation, which is wrong, and forget it in the first quarter of the sweeps.
    """

    def __init__(self, rng: np.random.Generator, counts: Counts, support: Support, chains: int) -> None:
        self.rng, self.chains = rng, chains
        self.likelihood = MassLikelihood.of(counts, NORMAL, BINS, support)
        self.deviations, normal, _ = approximate_around(self.likelihood, NORMAL, support)
        self.nodes = rng.choice(len(LOG_PRIOR), chains, p=np.exp(normal.log_weights))
        xi = rng.standard_normal((chains, 1, self.deviations.size))
        self.x = normal.means[self.nodes] + (xi @ normal.inverses[self.nodes])[:, 0]
        self.height = self.heights(self.x, self.nodes)

    def masses(self, x: FloatArray, nodes: Any) -> FloatArray:
        return self.deviations.masses(x * self.deviations.scales[nodes])

    def heights(self, x: FloatArray, nodes: Any) -> FloatArray:
        return self.likelihood(self.masses(x, nodes))

    def sweep(self) -> None:
        rng, level = self.rng, self.height + np.log(self.rng.random(self.chains))
        other, angle = rng.standard_normal(self.x.shape), rng.random(self.chains) * 2 * np.pi
        low, high, open_ = angle - 2 * np.pi, angle.copy(), np.arange(self.chains)
        x, height = self.x.copy(), self.height.copy()
        while len(open_):
            turned = angle[open_, None]
            x[open_] = self.x[open_] * np.cos(turned) + other[open_] * np.sin(turned)
            height[open_] = self.heights(x[open_], self.nodes[open_])
            open_ = open_[height[open_] < level[open_]]
            low[open_] = np.where(angle[open_] < 0, angle[open_], low[open_])
            high[open_] = np.where(angle[open_] >= 0, angle[open_], high[open_])
            angle[open_] = low[open_] + (high[open_] - low[open_]) * rng.random(len(open_))
        self.x, self.height = x, height
        self.move_nodes(whitened=True)
        self.move_nodes(whitened=False)

    def move_nodes(self, whitened: bool) -> None:
        moved = neighbours(self.nodes, self.rng.integers(0, 4, self.chains))
        y, ratio = self.x.copy(), LOG_PRIOR[moved] - LOG_PRIOR[self.nodes]
        if not whitened:
            y[:, -COSINES:] *= SCALES[self.nodes] / SCALES[moved]
            ratio += 0.5 * ((self.x**2).sum(axis=1) - (y**2).sum(axis=1))
            ratio += (np.log(SCALES[self.nodes]) - np.log(SCALES[moved])).sum(axis=1)
        height = self.heights(y, moved)
        taken = np.log(self.rng.random(self.chains)) < ratio + height - self.height
        self.x, self.height = np.where(taken[:, None], y, self.x), np.where(taken, height, self.height)
        self.nodes = np.where(taken, moved, self.nodes)

    def draws(self, sweeps: int) -> FloatArray:
        kept = []
        for sweep in range(sweeps):
            self.sweep()
            if sweep >= sweeps // 4 and sweep % 20 == 0:
                kept.append(self.masses(self.x, self.nodes))
        return np.concatenate(kept)


TRUTHS: dict[str, tuple[Callable[[Any], Any], Support]] = {
    "groups": (lambda y: 0.5 * ndtr((y - 35) / 5) + 0.5 * ndtr((y - 65) / 5), ANYWHERE),
    "an atom": (lambda y: 0.7 * np.clip((y - 30) / 40, 0, 1) + 0.3 * (y >= ATOM), Support(atoms=(ATOM,))),
}


def three_groups(y: Any) -> Any:
    return 0.3 * ndtr((y - 35) / 2) + 0.3 * ndtr((y - 50) / 1.5) + 0.4 * ndtr((y - 60) / 4)


class TestSampler:
    @pytest.mark.parametrize("name", TRUTHS)
    def test_it_agrees_with_another_sampler_where_the_approximation_alone_does_not(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Means within 0.15 posterior sd and sds within 10%; the approximation alone is off by 0.3 and 40%, or more."""
        rng = np.random.default_rng(4)
        cdf, support = TRUTHS[name]
        counts = asked(rng, questions_around(NORMAL, Fraction(2), support), cdf, 2_000)
        y = NORMAL.quantile(np.linspace(0.05, 0.95, 19))
        draws = EllipticalSlices(rng, counts, support, 120).draws(SWEEPS)
        other = Distribution(support, NORMAL, draws).cdf(y)

        def apart() -> tuple[float, float]:
            own = estimate_around(rng, counts, NORMAL, support, 4_000).cdf(y)
            return float(np.abs((own.mean - other.mean) / other.sd).max()), float(np.abs(own.sd / other.sd - 1).max())

        of_means, of_sds = apart()
        monkeypatch.setattr(sampler, "_SWEEPS", 0)
        monkeypatch.setattr(sampler, "_MIN_EFFECTIVE_SHARE", 0.999)
        monkeypatch.setattr(posterior, "resampled", lambda rng, log_weights, size: np.arange(size))
        broken_means, broken_sds = apart()
        assert of_means < 0.15
        assert of_sds < 0.1
        assert broken_means > 0.2
        assert broken_sds > 0.15

    def effective_share(self) -> float:
        """The share of the expansion's draws that is effective for the posterior of 20,000 answers by three groups."""
        rng = np.random.default_rng(5)
        counts = asked(rng, questions_around(NORMAL, Fraction(2), cells=6), three_groups, 20_000)
        likelihood, deviations = MassLikelihood.of(counts, NORMAL, BINS, ANYWHERE), Deviations(NORMAL)
        normal, expansion = approximate(likelihood, deviations)
        masses = sampler.sample(rng, deviations, normal, expansion, 1_000)
        return sampler.effective_share(likelihood(masses) - expansion(masses))

    def test_the_expansion_is_nearly_the_likelihood(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where the population is rough, but not around the mode at the middle node."""
        assert self.effective_share() > 0.95
        monkeypatch.setattr(approximation, "_MAX_ROUNDS", 1)
        assert self.effective_share() < 0.8

    @staticmethod
    def accepted_share() -> float:
        """The share of trajectories that are accepted after 20,000 answers by two skew or heavy-tailed populations."""
        found = []
        for seed, law in enumerate((stats.gumbel_r(-0.45, 0.78), stats.t(3, scale=0.6))):
            rng = np.random.default_rng(seed)
            counts = asked(rng, questions_around(NORMAL, Fraction(2), cells=6), law.cdf, 20_000)
            likelihood = MassLikelihood.of(counts, NORMAL, BINS, ANYWHERE)
            chains = sampler.Chains(rng, *approximate_around(likelihood, NORMAL, ANYWHERE))
            chains.begin(1_000)
            chains._sort()
            before = chains._x
            chains.move_coefficients()
            found.append((chains._x != before).any(axis=1).mean())
        return float(np.mean(found))

    def test_most_trajectories_are_accepted_where_much_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Otherwise the outermost draws stay where they began; steps twice as long are too long."""
        assert self.accepted_share() > 0.7
        monkeypatch.setattr(sampler, "_ANGLE", 0.5)
        assert self.accepted_share() < 0.6

    RUNS = 60

    def p_values(self, support: Support, width: float) -> FloatArray:
        """For uniform ranks of truths among draws, at four cuts; the truths' prior is `width` times as wide."""
        rng, ranks = np.random.default_rng(6), []
        deviations, queries = Deviations(NORMAL, support), questions_around(NORMAL, EPSILON, support)
        y = np.append(NORMAL.quantile(np.array([0.15, 0.5, 0.85])), np.nextafter(ATOM, 0.0))
        for _ in range(self.RUNS):
            node = int(rng.choice(len(LOG_PRIOR), p=np.exp(LOG_PRIOR)))
            coefficients = width * deviations.scales[node] * rng.standard_normal((1, deviations.size))
            truth = Distribution(support, NORMAL, deviations.masses(coefficients))
            counts = asked(rng, queries, partial(lambda truth, cuts: truth.cdf(cuts).values[0], truth), 500)
            draws = estimate_around(rng, counts, NORMAL, support, 99)
            of_cdf = (draws.cdf(y).values < truth.cdf(y).values).mean(axis=0)
            of_atoms = (draws.atom_shares.values < truth.atom_shares.values).mean(axis=0)
            ranks.append([*of_cdf, *of_atoms])
        return np.array([stats.kstest(column, "uniform").pvalue for column in np.array(ranks).T])

    @pytest.mark.parametrize("support", [ANYWHERE, Support(atoms=(ATOM,))])
    def test_it_is_calibrated_over_its_prior_and_not_over_one_that_is_wider(self, support: Support) -> None:
        """Simulation-based calibration (Talts et al. 2018): false alarms with 5 of 1,000 seeds."""
        assert self.p_values(support, 1.0).min() > 0.001
        assert self.p_values(support, 3.0).min() < 1e-4


class TestPopulations:
    RUNS = 24

    def share_covered(self, y: FloatArray) -> float:
        """The share of 90% intervals for F that cover a Student t with 2 degrees of freedom at `y`, of 8,000 people."""
        rng = np.random.default_rng(7)
        covered = []
        truth = stats.t.cdf(y, 2)
        queries = questions_around(ShapedBase(np.array([0.0, 0.2, 0.0, 0.0, 0.6])), Fraction(2))
        for _ in range(self.RUNS):
            counts = asked(rng, queries, lambda cuts: stats.t.cdf(cuts, 2), 8_000)
            low, high = estimate_distribution(rng, counts, size=400).cdf(y).interval(0.9)
            covered.append((low <= truth) & (truth <= high))
        return float(np.mean(covered))

    def test_bands_cover_heavy_tails_and_without_their_parameter_do_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A coverage of 0.85 is at most 0.7 among 48 intervals with probability 0.004; the light base has 0.2."""
        tails = stats.t.ppf(np.array([0.02, 0.98]), 2)
        assert self.share_covered(tails) > 0.7
        monkeypatch.setattr(bases, "_TAIL", 0.0)
        assert self.share_covered(tails) < 0.5

    def test_bands_of_whole_numbers_hold_the_truth_half_way_between_them_and_not_at_them(self) -> None:
        """What `docs/limits.md` says of heaps: the middle of each step is found, its upper end is not.

        In 20 other sets of as many runs coverage is 0.91 between the numbers, with sd 0.05, and 0.43 at most at them.
        """
        rng, numbers = np.random.default_rng(16), np.arange(35.0, 66.0)
        distribution = Distribution(ANYWHERE, NORMAL, np.full((1, BINS), 1 / BINS))
        queries = quantile_questions(distribution, Templates.of(RandomizedResponse((0.0,), Fraction(2))), 6, shifts=40)

        def below(x: FloatArray) -> FloatArray:
            return np.asarray(ndtr((np.floor(x) + 0.5 - 50) / 10))

        at, between = list[Any](), list[Any]()
        for _ in range(self.RUNS // 2):
            found = estimate_distribution(rng, asked(rng, queries, below, 20_000), size=400)
            for covered, places in ((at, numbers), (between, numbers + 0.5)):
                low, high = found.cdf(places).interval(0.9)
                covered.append((low <= below(numbers)) & (below(numbers) <= high))
        assert np.mean(between) > 0.7
        assert np.mean(at) < 0.6


def test_the_same_counts_in_another_order_give_the_same_posterior() -> None:
    counts = asked(np.random.default_rng(8), questions_around(NORMAL), NORMAL.cdf, 1_000)
    y = np.array([40.0, 50.0, 60.0])
    one = estimate_distribution(np.random.default_rng(9), counts, size=200).cdf(y)
    other = estimate_distribution(np.random.default_rng(9), dict(reversed(list(counts.items()))), size=200).cdf(y)
    assert one.mean == pytest.approx(other.mean, abs=0.02)


def test_weights_of_which_nearly_all_are_zero_are_followed() -> None:
    """No tempering makes a seventh of them effective."""
    rng, few = np.random.default_rng(1), np.full(1_000, -np.inf)
    few[[3, 5]] = 0.0, np.log(3)
    found = sampler.resampled(rng, few, 4_000)
    assert set(found.tolist()) == {3, 5}
    assert np.mean(found == 5) == pytest.approx(0.75, abs=0.01)
    for wrong in (np.full(5, -np.inf), np.array([0.0, np.nan]), np.array([0.0, np.inf]), np.array([])):
        with pytest.raises(ValueError, match="weights must be numbers"):
            sampler.resampled(rng, wrong, 10)


def test_quantiles_and_shares_follow_from_the_distribution_function() -> None:
    counts = asked(np.random.default_rng(10), questions_around(NORMAL), NORMAL.cdf, 5_000)
    found = estimate_distribution(np.random.default_rng(11), counts, size=500)
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = found.quantile(levels)
    truth = 50 + 10 * ndtri(levels)
    assert np.abs(quantiles.mean - truth).max() < 3
    each = np.array([found.cdf(row).values[i] for i, row in enumerate(quantiles.values[:20])])
    assert each == pytest.approx(np.broadcast_to(levels, each.shape), abs=1e-3)
    assert found.share_above(truth).values == pytest.approx(1 - found.cdf(truth).values)
    low, high = found.share_above(truth).interval(0.5)
    assert (low < high).all()


def test_questions_cut_the_population_into_equal_parts() -> None:
    queries = questions_around(NORMAL)
    cuts = np.sort([cut for query in queries for cut in query.edges])
    levels = NORMAL.cdf(cuts)
    assert len(cuts) == 32
    assert np.diff(levels) == pytest.approx(np.full(31, 1 / 32), abs=1e-4)
    assert {query.epsilon for query in queries} == {EPSILON}


def test_a_mean_beyond_all_but_a_thousandth_of_the_people_is_none() -> None:
    """A tail that nothing was answered about can make it as large as floating point holds, and as unsure."""
    rng = np.random.default_rng(1)
    masses = np.ones((400, BINS + 1))
    masses[:, BINS - 1], masses[:, BINS] = np.exp(rng.normal(-3, 3, 400)), 0.0  # the uppermost bin; nobody at 0
    masses /= masses.sum(axis=1, keepdims=True)
    for weight in (0.4, 0.0):
        found = Distribution(Support(minimum=0.0), Base(3 + 1.4 * Z * np.exp(weight * Z**2 / 2)), masses)
        assert (found.mean_value is None) == (weight > 0)


def test_there_is_no_mean_where_a_few_draws_have_a_huge_one() -> None:
    """6 in 100 draws have people in the outermost bin, of a base with tails beyond every power of ten."""
    base, masses = ShapedBase(np.array([0.0, 0.0, 0.0, 0.0, 2.0])), np.full((1_000, BINS + 1), 1.0 / BINS)
    masses[:, -1] = 0.0
    masses[:, BINS - 1] = 0.0
    positive = Support(minimum=0.0)
    assert Distribution(positive, base, masses).mean_value is not None
    masses[:60, BINS - 1] = 1.0 / BINS
    assert Distribution(positive, base, masses).mean_value is None
