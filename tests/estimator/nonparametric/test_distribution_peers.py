"""What Dither is measured against without a family: the square wave, unary encoding and trees, against definitions."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.any_distribution import populations
from benchmarks.distribution_peers import distribution_function, errors, range_of
from benchmarks.peers.square_wave import SquareWave, fit_shares
from benchmarks.peers.unary_histograms import consistent_leaves, tree_shares, unary_estimates
from dither_estimator.families import FloatArray

FALSE_ALARMS = 1e-4
"""The rate of each statistical test; the seeds are fixed."""


def mass_below(wave: SquareWave, value: float, report: FloatArray) -> FloatArray:
    """`P(report <= x | value)` by the definition of the square wave."""
    b, ratio = wave.half_width, math.exp(wave.epsilon)
    weighed = (report + b).clip(0, 1 + 2 * b) + (ratio - 1) * (report - value + b).clip(0, 2 * b)
    return weighed / (1 + 2 * b + (ratio - 1) * 2 * b)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_square_wave_is_a_density_with_the_ratio_it_may_have(epsilon: float) -> None:
    wave = SquareWave(epsilon, 16)
    assert 2 * wave.half_width * wave.near + wave.far == pytest.approx(1)
    assert math.log(wave.near / wave.far) == pytest.approx(epsilon)


def test_its_width_is_the_best_for_the_information_of_a_report() -> None:
    """The paper's aim: with a uniform value the entropy of a report, taken as uniform too, minus that of its noise."""

    def information(b: float) -> float:
        far = 1 / (2 * b * math.e + 1)
        return math.log(1 + 2 * b) + 2 * b * math.e * far * math.log(math.e * far) + far * math.log(far)

    b = SquareWave(1.0, 16).half_width
    assert information(b) > max(information(0.98 * b), information(1.02 * b))


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_reports_have_that_density_and_not_one_of_another_epsilon(value: float) -> None:
    wave = SquareWave(1.0, 16)
    reports = wave.reports(np.random.default_rng(1), np.full(100_000, value))
    for epsilon, holds in ((1.0, True), (1.1, False)):
        uniform = mass_below(SquareWave(epsilon, 16), value, reports)  # if the reports have this density
        assert bool(stats.kstest(uniform, "uniform").pvalue > FALSE_ALARMS) is holds


@pytest.mark.parametrize(("epsilon", "buckets"), [(1.0, 7), (2.0, 16), (6.0, 3)])
def test_the_channel_of_buckets_is_the_mean_over_their_values(epsilon: float, buckets: int) -> None:
    wave = SquareWave(epsilon, buckets)
    channel = wave.chances(np.eye(buckets))
    beyond = (channel.shape[1] - buckets) // 2
    edges = np.arange(-beyond, buckets + beyond + 1) / buckets
    for bucket, row in enumerate(channel):
        values = (bucket + (np.arange(2_000) + 0.5) / 2_000) / buckets
        expected = np.mean([np.diff(mass_below(wave, value, edges)) for value in values], axis=0)
        assert row == pytest.approx(expected, abs=1e-5)
    assert channel.sum(axis=1) == pytest.approx(1)
    assert wave.transposed(np.eye(channel.shape[1])) == pytest.approx(channel.T)


def test_counts_of_reports_follow_the_channel() -> None:
    wave, rng = SquareWave(1.0, 8), np.random.default_rng(2)
    counts = wave.count(wave.reports(rng, rng.random((1, 100_000)) / 8))[0]
    chances = wave.chances(np.eye(8)[:1])[0]
    assert stats.chisquare(counts, 100_000 * chances).pvalue > FALSE_ALARMS


def test_shares_are_found_again_from_what_reports_are_expected() -> None:
    wave = SquareWave(2.0, 1_024)
    below = stats.beta(5, 2).cdf(np.linspace(0, 1, 1_025))
    found = fit_shares(wave, 1e5 * wave.chances(np.diff(below)[np.newaxis]), 1e-3)[0]
    assert np.abs(np.cumsum(found) - below[1:]).max() < 0.005


def test_unary_encoding_is_unbiased_with_the_variance_of_its_paper() -> None:
    people, epsilon, runs = np.array([0, 1_000, 3_000, 6_000]), 1.0, 4_000
    rng = np.random.default_rng(3)
    found = np.array([unary_estimates(rng, people, epsilon) for _ in range(runs)])
    apart = found.mean(axis=0) - people / people.sum()
    variance = 4 * math.e / (math.e - 1) ** 2 / people.sum()
    bound = stats.norm.isf(FALSE_ALARMS / 8)
    assert np.abs(apart).max() < bound * math.sqrt(2 * variance / runs)
    assert found[:, 0].var() == pytest.approx(variance, rel=bound * math.sqrt(2 / runs))
    wrong = apart + people / people.sum() * 0.02  # a scale that is 2% off would be seen
    assert np.abs(wrong).max() > bound * math.sqrt(2 * variance / runs)


def test_a_consistent_tree_is_the_least_squares_one() -> None:
    estimates = [np.random.default_rng(4).normal(4.0**-level, 0.1, 4**level) for level in (1, 2, 3)]
    of_leaves = np.vstack([np.kron(np.eye(4**level), np.ones(64 // 4**level)) for level in (1, 2, 3)])
    sum_is_one = np.append(2 * of_leaves.T @ np.concatenate(estimates), 1.0)
    bordered = np.block([[2 * of_leaves.T @ of_leaves, np.ones((64, 1))], [np.ones((1, 64)), np.zeros((1, 1))]])
    leaves = consistent_leaves(estimates)
    assert leaves == pytest.approx(np.linalg.solve(bordered, sum_is_one)[:64])
    assert leaves.sum() == pytest.approx(1)


def test_a_tree_finds_shares_of_ranges() -> None:
    values = np.random.default_rng(5).beta(5, 2, 200_000)
    below = np.cumsum(tree_shares(np.random.default_rng(6), values, 3.0))
    assert np.abs(below[63::64] - stats.beta(5, 2).cdf(np.arange(1, 17) / 16)).max() < 0.02


def test_a_rising_function_is_no_farther_than_the_sums() -> None:
    rng = np.random.default_rng(7)
    truth = np.linspace(0, 1, 51)
    for _ in range(50):
        shares = np.diff(truth) + rng.normal(0, 0.03, 50)
        rising = distribution_function(shares)
        assert (np.diff(rising) >= 0).all()
        assert np.abs(rising - truth).max() <= np.abs(np.append(0, np.cumsum(shares)) - truth).max() + 1e-12


def test_the_true_shares_have_no_error_and_moved_ones_the_distance() -> None:
    population = populations()["normal"]
    limits = range_of(population, 1.0)
    edges = np.linspace(*limits, 1_025)
    below = population.cdf(edges)
    assert errors(population, limits, np.diff(below)) == pytest.approx((0, 0), abs=0.005)  # 0.1% are beyond each end
    moved = (limits[0] + 5.0, limits[1] + 5.0)
    worst, apart = errors(population, moved, np.diff(below))
    assert worst == pytest.approx(2 * stats.norm.cdf(0.25) - 1, abs=0.002)
    assert apart == pytest.approx(5 / (20 * stats.norm.ppf(0.75)), abs=0.005)


def test_ranges_keep_what_is_declared_and_are_ten_times_as_wide() -> None:
    people = populations()
    assert range_of(people["normal"], 1.0) == pytest.approx(tuple(stats.norm(50, 10).ppf([0.001, 0.999])))
    assert range_of(people["beta(5, 2)"], 10.0) == (-4.5, 5.5)
    spending = stats.lognorm(0.7, scale=np.exp(6.2)).ppf(0.999)
    assert range_of(people["lognormal(6.2, 0.7)"], 10.0) == pytest.approx((0, 10 * spending))
