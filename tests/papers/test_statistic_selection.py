"""Statistics with noise, their information and their posteriors: against quadrature, enumeration and closed forms."""

from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection import chains, smooth
from dither_papers.statistic_selection.autocorrelation import integrated_autocorrelation_time
from dither_papers.statistic_selection.chains import (
    Additive,
    Walk,
    averaged_ratio_chain,
    metropolis_chain,
    pseudo_marginal_chain,
)
from dither_papers.statistic_selection.grid import (
    posterior_means,
    sequence_log_likelihood,
    simulated_log_likelihood,
)
from dither_papers.statistic_selection.information import (
    gaussian_information,
    laplace_information,
    noisy_average,
    normal_information,
    randomised_responses,
    sequence_information,
)
from dither_papers.statistic_selection.latent_chains import sample_chain, sequence_chain
from dither_papers.statistic_selection.monte_carlo import (
    Latents,
    monte_carlo_information,
    sample_latents,
    single_latents,
)
from dither_papers.statistic_selection.normal_laplace import density, log_density
from dither_papers.statistic_selection.powers import NormalMean, NormalVariance, Power, UniformWidth

GRID = np.linspace(0.02, 12, 600)


def array(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("power", "pdf", "low", "high"),
    [
        (NormalMean(1), lambda x, t: norm.pdf(x, t), -20, 30),
        (NormalMean(3), lambda x, t: norm.pdf(x, t), -20, 30),
        (NormalVariance(1), lambda x, t: 2 * norm.pdf(x, 0, t**0.5), 0, 40),
        (NormalVariance(2), lambda x, t: 2 * norm.pdf(x, 0, t**0.5), 0, 40),
        (NormalVariance(0.5), lambda x, t: 2 * norm.pdf(x, 0, t**0.5), 0, 40),
        (UniformWidth(1.5), lambda x, t: (x <= t) / t, 0, 3),
    ],
)
def test_moments_are_those_of_quadrature(
    power: Power, pdf: Callable[[float, float], float], low: float, high: float
) -> None:
    def moments(theta: float) -> tuple[float, float]:
        first, second = (
            quad(lambda x, k=k: x ** (power.a * k) * pdf(x, theta), low, high, points=[0.0, theta], limit=200)[0]
            for k in (1, 2)
        )
        return first, second - first**2

    theta, step = 2.5, 1e-3
    found = power.moments(array(theta))
    mean, variance = moments(theta)
    above, below = moments(theta + step), moments(theta - step)
    assert found.mean[0] == pytest.approx(mean, rel=1e-6)
    assert found.variance[0] == pytest.approx(variance, rel=1e-6)
    assert found.mean_slope[0] == pytest.approx((above[0] - below[0]) / (2 * step), rel=1e-4)
    assert found.variance_slope[0] == pytest.approx((above[1] - below[1]) / (2 * step), rel=1e-4, abs=1e-6)


def test_normal_plus_laplace_is_the_convolution() -> None:
    mean, variance, scale = array(0.7), array(0.3), array(0.4)
    for y in (-3.0, 0.6, 1.0, 5.0):
        found = density(array(y), mean, variance, scale)
        exact = quad(
            lambda u, y=y: norm.pdf(u, 0.7, 0.3**0.5) * np.exp(-abs(y - u) / 0.4) / 0.8, -6, 8, points=[y, 0.7]
        )[0]
        assert found.value[0] == pytest.approx(exact, rel=1e-7)
        assert log_density(array(y), mean, variance, scale)[0] == pytest.approx(np.log(exact), abs=1e-7)
        step = 1e-5
        by_mean = [density(array(y), mean + s * step, variance, scale).value[0] for s in (1, -1)]
        by_variance = [density(array(y), mean, variance + s * step, scale).value[0] for s in (1, -1)]
        assert found.by_mean[0] == pytest.approx((by_mean[0] - by_mean[1]) / (2 * step), rel=1e-5)
        assert found.by_variance[0] == pytest.approx((by_variance[0] - by_variance[1]) / (2 * step), rel=1e-5)


def test_the_information_of_a_normal_vector() -> None:
    """Two independent statistics add up; the trace is that of one at a time."""
    found = normal_information(array(1, 2)[None], np.diag([2.0, 3.0]), np.diag([0.5, 0.25])[None])
    assert found[0, 0] == pytest.approx(1 / 2 + 4 / 3 + 0.5 * (0.25**2 + (1 / 12) ** 2))
    moments = NormalVariance(1).moments(array(2.0)).of_average(100)
    variance = moments.variance + (10 / 500) ** 2
    one = normal_information(moments.mean_slope[None], variance[None], moments.variance_slope[None, None])
    assert gaussian_information(NormalVariance(1), array(2.0), 100, 5, 10)[0] == pytest.approx(one[0, 0])


@pytest.mark.parametrize("epsilon", [0.2, 5.0, 500.0])
def test_laplace_information_is_that_of_quadrature_and_has_the_right_limits(epsilon: float) -> None:
    """Against an adaptive quadrature of differences of the logarithm."""
    power, theta, size, bound, step = NormalVariance(1), 2.0, 100, 10.0, 1e-4
    scale = array(bound / (size * epsilon))

    def log_p(y: float, theta: float) -> float:
        moments = power.moments(array(theta)).of_average(size)
        return float(log_density(array(y), moments.mean, moments.variance, scale)[0])

    def told(y: float) -> float:
        slope = (log_p(y, theta + step) - log_p(y, theta - step)) / (2 * step)
        return float(slope**2 * np.exp(log_p(y, theta)))

    mean, reach = float(power.moments(array(theta)).mean[0]), 1 + 30 * float(scale[0])
    exact = quad(told, mean - reach, mean + reach, points=[mean], limit=200)[0]
    found = laplace_information(power, array(theta), size, epsilon, bound)[0]
    assert found == pytest.approx(exact, rel=1e-5)
    if epsilon == 500:
        assert found == pytest.approx(gaussian_information(power, array(theta), size, np.inf, bound)[0], rel=0.01)


def test_algorithms_1_to_3_find_the_information() -> None:
    """Each within 5 standard errors of the exact value (1,000 squares of about normal scores: 5 √(2/1,000), 1e-6).

    Algorithms 1 and 2 against the exact quadrature, which the average of 100 values hardly differs from; 3 against a
    quadrature of one value. A score that forgets the variance is found out.
    """
    rng = np.random.default_rng(2)
    exact = laplace_information(NormalVariance(1), array(2.0), 100, 5, 10)[0]
    slack = 5 * (2 / 1000) ** 0.5
    moments = NormalVariance(1).moments(np.asarray(2.0)).of_average(100)

    def of_the_average(rng: np.random.Generator, count: int) -> Latents:
        u = moments.mean + np.sqrt(moments.variance) * rng.standard_normal(count)
        return Latents(u, np.full(count, 10 / 500), moments.score(u))

    assert monte_carlo_information(rng, of_the_average, 1000, 1000) == pytest.approx(exact, rel=slack)

    def average(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        return rows.mean(axis=1), np.full(len(rows), 0.02)

    assert monte_carlo_information(rng, sample_latents(2.0, 30, average, 100), 300, 1000) == pytest.approx(
        laplace_information(NormalVariance(1), array(2.0), 30, 1, 0.6)[0], rel=5 * (2 / 300) ** 0.5
    )
    y = np.linspace(-12, 18, 2001)
    logs = np.array(
        [sequence_log_likelihood(y[:, None], array(t), 1, 1.0)[:, 0] + np.log(0.5) for t in (1.99, 2.0, 2.01)]
    )
    single = np.trapezoid(((logs[2] - logs[0]) / 0.02) ** 2 * np.exp(logs[1]), y)
    assert sequence_information(1, 2.0, 1, 1.0) == pytest.approx(single, rel=0.01)
    found = monte_carlo_information(rng, single_latents(1, 2.0, 1.0), 1000, 1000)
    assert found == pytest.approx(single, rel=5 * (2 / 1000) ** 0.5)


def test_binary_responses_by_enumeration() -> None:
    theta, epsilon, step = 0.3, 1.2, 1e-6

    def yes(theta: float) -> float:
        return float((theta * np.exp(epsilon) + 1 - theta) / (1 + np.exp(epsilon)))

    slope = (yes(theta + step) - yes(theta - step)) / (2 * step)
    exact = 100 * slope**2 / (yes(theta) * (1 - yes(theta)))
    assert randomised_responses(array(theta), 100, epsilon)[0] == pytest.approx(exact, rel=1e-6)
    # Not the paper's printed formula, whose second term is twice as large.
    variance = theta * (1 - theta) + 1 / (100 * epsilon**2)
    printed = (100 * variance + (1 - 2 * theta) ** 2) / variance**2
    assert noisy_average(array(theta), 100, epsilon)[0] == pytest.approx(printed - 0.5 * 0.16 / variance**2)


VALUES = (0.0, 1.0, 3.0, 4.0)


def brute_force(row: tuple[float, ...], rank: int, beta: float) -> float:
    """Over every data set on four points, 0 and the bound among them: Definition 3 itself."""
    every = list(product(VALUES, repeat=len(row)))

    def statistic(x: tuple[float, ...]) -> float:
        return sorted(x)[rank - 1]

    def local(x: tuple[float, ...]) -> float:
        return max(abs(statistic(x) - statistic((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in VALUES)

    return max(float(np.exp(-beta * sum(a != b for a, b in zip(row, x, strict=True)))) * local(x) for x in every)


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("beta", [0.1, 0.6])
def test_smooth_sensitivities_by_brute_force(size: int, beta: float) -> None:
    rows = [(0.0, 1.0, 3.0, 3.0)[:size], (1.0, 1.0, 1.0, 4.0)[:size], (0.0, 3.0, 4.0, 4.0)[:size]]
    sorted_rows = np.array(rows)
    for function, rank in (
        (smooth.smooth_sensitivity_of_maximum, size),
        (smooth.smooth_sensitivity_of_median, (size + 1) // 2),
    ):
        found = function(sorted_rows, 4.0, beta)
        assert found == pytest.approx([brute_force(row, rank, beta) for row in rows])
    assert smooth.median(np.arange(100.0)[None])[0] == 49  # of rank 50


def test_what_smooth_noise_keeps_private() -> None:
    """Below ε = 1 the theorem holds; at the paper's ε = 5 it says nothing, and the δ is found here."""
    for epsilon, delta in ((0.5, 1e-2), (0.9, 1e-4)):
        assert smooth.privacy_delta(epsilon, *smooth.noise_rates(epsilon, delta)) <= delta
    assert smooth.privacy_delta(5, *smooth.noise_rates(5, 1e-4)) < 1e-4
    # The same noise does not keep half the ε, nor any with a scale that hardly follows.
    assert smooth.privacy_delta(2, *smooth.noise_rates(5, 1e-4)) > 1e-2


def test_the_delta_of_smooth_noise_is_that_of_its_worst_neighbours() -> None:
    """Where a neighbour's noise is narrower by r and moved by s, what exceeds `e^ε` times its density are two tails."""
    epsilon = 5.0
    alpha, beta = smooth.noise_rates(epsilon, 1e-4)
    r, share = np.meshgrid(np.exp(-beta * np.linspace(0.001, 1, 60)), np.linspace(0, 1, 61))
    s = alpha * r * share
    below = (epsilon - np.log(r) - s / r) / (1 - 1 / r)  # where e^y / 2 is e^ε times the other's, left of both
    above = (epsilon - np.log(r) + s / r) / (1 / r - 1)
    left = 0.5 * np.exp(below) - 0.5 * np.exp(epsilon + (below - s) / r)
    right = 0.5 * np.exp(-above) - 0.5 * np.exp(epsilon - (above - s) / r)
    assert (below <= 0).all()
    assert (above >= s).all()
    assert smooth.privacy_delta(epsilon, alpha, beta) == pytest.approx((left + right).max(), rel=1e-3)


def additive(count: int) -> Additive:
    return Additive(NormalVariance(1), 100, 10 / 500, np.full(count, 1.2))


def exact_mean(model: Additive) -> tuple[float, float]:
    moments = model.power.moments(GRID).of_average(model.size)
    logs = log_density(model.y[:1, None], moments.mean, moments.variance, array(model.scale))
    mean = float(posterior_means(GRID, logs)[0])
    return mean, float(posterior_means(GRID**2, logs)[0] - mean**2) ** 0.5


def walk(count: int, iterations: int) -> Walk:
    return Walk(np.full(count, 2.0), 0.5, 12.0, iterations)


def test_chains_for_additive_statistics_have_the_posterior() -> None:
    """200 chains of 600 steps, the first 100 left out: about 5,000 draws; mean within 0.08 sd, 5 standard errors."""
    rng = np.random.default_rng(3)
    model = additive(200)
    mean, sd = exact_mean(model)

    def known(theta: FloatArray) -> FloatArray:
        of = model.power.moments(theta).of_average(model.size)
        return log_density(model.y, of.mean, of.variance, array(model.scale))

    for states in (
        metropolis_chain(rng, known, walk(200, 600)),
        pseudo_marginal_chain(rng, model, walk(200, 600), 5),
        averaged_ratio_chain(rng, model, walk(200, 600), 5),
    ):
        kept = states[100:]
        assert kept.mean() == pytest.approx(mean, abs=0.08 * sd)
        assert kept.std() == pytest.approx(sd, rel=0.1)


def test_latent_variables_that_are_not_drawn_by_weight_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: any of them, whatever its weight, and the posterior is off by more than the tolerance."""
    rng = np.random.default_rng(3)
    model = additive(200)
    mean, sd = exact_mean(model)

    def any_of_them(rng: np.random.Generator, logs: FloatArray) -> npt.NDArray[np.intp]:
        return rng.integers(logs.shape[1], size=len(logs)).astype(np.intp)

    monkeypatch.setattr(chains, "pick", any_of_them)
    kept = averaged_ratio_chain(rng, model, walk(200, 600), 5)[100:]
    assert max(abs(kept.mean() - mean) / sd / 0.08, abs(kept.std() / sd - 1) / 0.1) > 2


def test_chains_for_order_statistics_have_the_posterior() -> None:
    """60 chains, all or half of 10 values drawn anew, against 40,000 simulated samples: mean within 0.2 sd."""
    rng = np.random.default_rng(5)
    alpha, beta = smooth.noise_rates(5, 1e-2)

    def released(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        return smooth.median(rows), smooth.smooth_sensitivity_of_median(rows, 4, beta) / alpha

    grid = np.linspace(0.05, 10, 100)
    logs = simulated_log_likelihood(rng, array(1.0), grid, released, 10, 4.0, 20_000)
    mean = float(posterior_means(grid, logs)[0])
    sd = float(posterior_means(grid**2, logs)[0] - mean**2) ** 0.5
    for renewed in (None, 5):
        states = sample_chain(
            rng, np.full(60, 1.0), released, 10, 4.0, Walk(np.full(60, 2.0), 2.0, 10.0, 500), 5, renewed
        )
        assert states[100:].mean() == pytest.approx(mean, abs=0.2 * sd)


def test_chains_for_sequences_have_the_posterior() -> None:
    """100 chains on one sequence of 20 releases, against quadrature: mean within 0.15 sd, 5 standard errors."""
    rng = np.random.default_rng(6)
    y = np.abs(rng.standard_normal(20)) * 2**0.5 + rng.laplace(0, 0.5, 20)
    grid = np.linspace(0.02, 12, 300)
    logs = sequence_log_likelihood(y[None], grid, 1, 0.5)
    mean = float(posterior_means(grid, logs)[0])
    sd = float(posterior_means(grid**2, logs)[0] - mean**2) ** 0.5
    states = sequence_chain(rng, np.tile(y, (100, 1)), 1, 0.5, Walk(np.full(100, 2.0), 1.0, 12.0, 400), 5)
    assert states[100:].mean() == pytest.approx(mean, abs=0.15 * sd)


def test_autocorrelation_times_of_an_autoregression() -> None:
    """`(1 + ρ) / (1 - ρ) = 9` at ρ = 0.8: 40 chains of 4,000, within 5%."""
    rng = np.random.default_rng(7)
    states = np.empty((4_000, 40))
    x = rng.standard_normal(40) / 0.6
    for i in range(len(states)):
        x = 0.8 * x + rng.standard_normal(40)
        states[i] = x
    assert integrated_autocorrelation_time(states) == pytest.approx(9, rel=0.05)
