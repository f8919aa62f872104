"""Statistic selection for several parameters: against closed forms, quadrature over a grid, and enumeration."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logsumexp, ndtri

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.information import laplace_information, normal_information
from dither_papers.statistic_selection.noise import CAUCHY, GAUSSIAN, LAPLACE, Noise
from dither_papers.statistic_selection.normal_laplace import log_density
from dither_papers.statistic_selection.powers import NormalVariance
from dither_papers.statistic_selection.smooth_cauchy import cauchy_epsilon, cauchy_rates, published_cauchy_rates
from dither_papers.statistic_selection.vector_chains import (
    Target,
    averaged_ratio,
    metropolis,
    pseudo_marginal,
    sample_latents,
    sequence_latents,
)
from dither_papers.statistic_selection.vector_information import (
    VectorMoments,
    average_latents,
    best_statistic,
    information_matrix,
    value_latents,
)

SIZE, SCALE = 50, 0.1


def moments(theta: FloatArray) -> VectorMoments:
    """Moments of `s(x) = (x, x²)` for N(μ, v), θ = (μ, v)."""
    mu, v = theta.tolist()
    return VectorMoments(
        np.array([mu, mu**2 + v]),
        np.array([[v, 2 * mu * v], [2 * mu * v, 4 * mu**2 * v + 2 * v**2]]),
        np.array([[1.0, 2 * mu], [0.0, 1.0]]),
        np.array([[[0.0, 2 * v], [2 * v, 8 * mu * v]], [[1.0, 2 * mu], [2 * mu, 4 * mu**2 + 4 * v]]]),
    )


def gaussian_matrix(theta: FloatArray, size: int = SIZE, scale: float = SCALE) -> FloatArray:
    average = moments(theta).of_average(size)
    return normal_information(average.mean_slopes, average.covariance + scale**2 * np.eye(2), average.covariance_slopes)


def test_algorithm_1_finds_the_matrix_of_two_parameters() -> None:
    """Each entry within 5 standard errors of the closed form (of 2,000 scores; 6e-7 each)."""
    theta = np.array([0.5, 1.5])
    exact = gaussian_matrix(theta)
    draw = average_latents(moments(theta), SIZE, SCALE)
    found = information_matrix(np.random.default_rng(1), draw, GAUSSIAN, 2000, 1000)
    slack = 5 * np.sqrt(np.outer(np.diag(exact), np.diag(exact)) * 2 / 2000)
    assert (np.abs(found - exact) < slack).all()
    forgets = average_latents(moments(theta)._replace(mean_slopes=np.zeros((2, 2))), SIZE, SCALE)
    wrong = information_matrix(np.random.default_rng(1), forgets, GAUSSIAN, 2000, 1000)
    assert not (np.abs(wrong - exact) < slack).all(), "a score that forgets the mean"


def test_algorithm_1_with_laplace_noise_is_the_quadrature_of_one_parameter() -> None:
    power = NormalVariance(1)
    exact = laplace_information(power, np.array([2.0]), 100, 5, 10)[0]
    one = power.moments(np.asarray(2.0))
    whole = VectorMoments(
        one.mean.reshape(1),
        one.variance.reshape(1, 1),
        one.mean_slope.reshape(1, 1),
        one.variance_slope.reshape(1, 1, 1),
    )
    found = information_matrix(np.random.default_rng(2), average_latents(whole, 100, 10 / 500), LAPLACE, 1000, 1000)
    assert found[0, 0] == pytest.approx(exact, rel=5 * (2 / 1000) ** 0.5)


def normal_values(rng: np.random.Generator, count: int, size: int) -> FloatArray:
    return 0.5 + 1.5**0.5 * rng.standard_normal((count, size))


def normal_score(x: FloatArray) -> FloatArray:
    z = x - 0.5
    return np.stack([z / 1.5, 0.5 * (z**2 / 1.5 - 1) / 1.5], axis=-1)


def averages(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.stack([x.mean(axis=1), (x**2).mean(axis=1)], axis=1), np.full(len(x), 0.6)


def test_algorithms_2_and_3_find_the_matrix_too() -> None:
    """2: fifteen values, whose averages are about normal, within 30%; 3: one value, against a two-dimensional grid."""
    draw = value_latents(normal_values, normal_score, averages, 15)
    found = information_matrix(np.random.default_rng(3), draw, GAUSSIAN, 300, 1500)
    assert np.diag(found) == pytest.approx(np.diag(gaussian_matrix(np.array([0.5, 1.5]), 15, 0.6)), rel=0.3)

    def one(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return x, np.full(len(x), 0.8)

    found = information_matrix(
        np.random.default_rng(4), value_latents(normal_values, normal_score, one, 1), LAPLACE, 1500, 1000
    )
    y, step = np.linspace(-14, 15, 3000), 1e-4

    def logs(mu: float, v: float) -> FloatArray:
        return log_density(y, np.asarray(mu), np.asarray(v), np.asarray(0.8))

    slopes = np.stack(
        [logs(0.5 + step, 1.5) - logs(0.5 - step, 1.5), logs(0.5, 1.5 + step) - logs(0.5, 1.5 - step)]
    ) / (2 * step)
    exact = np.trapezoid(slopes[:, None] * slopes[None] * np.exp(logs(0.5, 1.5)), y)
    assert (np.abs(found - exact) < 5 * np.sqrt(np.outer(np.diag(exact), np.diag(exact)) * 2 / 1500) + 0.005).all()


def test_a_prior_and_a_first_chunk_choose_the_statistic() -> None:
    """|x| or x² of N(0, θ) at ε = 1 and 20: by the mean score over the prior, and over what a first chunk leaves."""

    def candidate(a: float, epsilon: float) -> Callable[[FloatArray], FloatArray]:
        return lambda theta: np.array([[laplace_information(NormalVariance(a), theta, 100, epsilon, 10)[0]]])

    def trace(matrix: FloatArray) -> float:
        return float(np.trace(matrix))

    prior = np.random.default_rng(5).uniform(0.5, 6, (20, 1))
    for epsilon, best in ((1.0, "|x|"), (50.0, "x²")):
        candidates = {"|x|": candidate(1, epsilon), "x²": candidate(2, epsilon)}
        assert best_statistic(candidates, prior, trace)[0] == best
        name, scores = best_statistic(candidates, np.full((1, 1), 2.0), trace)
        assert name == best
        assert scores["|x|"] == pytest.approx(trace(candidates["|x|"](np.array([2.0]))))


CHAINS, STEPS = 100, 300
LOW, HIGH = np.array([-2.0, 0.3]), np.array([3.0, 6.0])
OBSERVED = np.array([0.4, 1.6])


def log_prior(theta: FloatArray) -> FloatArray:
    """μ ~ N(0, 1), v ~ Gamma(2, 1), within a box."""
    inside = ((theta > LOW) & (theta < HIGH)).all(axis=-1)
    mu, v = theta[..., 0], np.maximum(theta[..., 1], 1e-9)
    return np.where(inside, -0.5 * mu**2 + np.log(v) - v, -np.inf)


def target(factor: FloatArray, iterations: int = STEPS) -> Target:
    return Target(log_prior, np.tile([0.4, 1.5], (CHAINS, 1)), factor, iterations)


def normal_logs(y: FloatArray, theta: FloatArray, size: int, noise: float) -> FloatArray:
    """For the averages of x and x² with Gaussian noise, for θ (…, 2)."""
    mu, v = theta[..., 0], theta[..., 1]
    a, b, c = v / size + noise**2, 2 * mu * v / size, (4 * mu**2 * v + 2 * v**2) / size + noise**2
    z, w = y[..., 0] - mu, y[..., 1] - mu**2 - v
    determinant = a * c - b**2
    return np.asarray(-0.5 * (c * z**2 - 2 * b * z * w + a * w**2) / determinant - 0.5 * np.log(determinant))


def grid_moments(logs: FloatArray, grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    weights = np.exp(logs - logsumexp(logs))
    mean = weights @ grid
    return mean, np.sqrt(weights @ (grid - mean) ** 2)


GRID = np.stack(
    np.meshgrid(np.linspace(-2, 3, 202)[1:-1], np.linspace(0.3, 6, 202)[1:-1], indexing="ij"), axis=-1
).reshape(-1, 2)
NOISE = 0.2


def within(states: FloatArray, exact: tuple[FloatArray, FloatArray], slack: float) -> bool:
    late = states[len(states) // 4 :]
    mean, sd = exact
    return bool((np.abs(late.mean(axis=(0, 1)) - mean) < slack * sd).all())


def test_algorithms_4_to_6_have_the_posterior_of_two_parameters() -> None:
    """100 chains of 300 steps, about 3,000 independent draws: 0.15 of an sd are more than 6 standard errors.

    Statistics with Gaussian noise, whose exact posterior is on a grid. A chain that forgets the prior is found out.
    """
    exact = grid_moments(log_prior(GRID) + normal_logs(OBSERVED, GRID, SIZE, NOISE), GRID)
    factor = 1.5 * np.diag(exact[1])

    def draw(rng: np.random.Generator, theta: FloatArray, count: int) -> FloatArray:
        mu, v = theta[:, 0, None], theta[:, 1, None]
        first, second = rng.standard_normal((2, len(theta), count))
        x = np.sqrt(v / SIZE) * first
        return np.stack([mu + x, mu**2 + v + 2 * mu * x + v * np.sqrt(2 / SIZE) * second], axis=-1)

    def log_f(u: FloatArray, theta: FloatArray) -> FloatArray:
        return normal_logs(u, theta[:, None], SIZE, 0.0)

    def log_g(u: FloatArray) -> FloatArray:
        return GAUSSIAN.log_density(OBSERVED, u, np.full(u.shape[:2], NOISE))

    rng = np.random.default_rng(6)

    def known(theta: FloatArray) -> FloatArray:
        return normal_logs(OBSERVED, theta, SIZE, NOISE)

    assert within(metropolis(rng, known, target(factor)), exact, 0.15)
    assert within(pseudo_marginal(rng, draw, log_g, target(factor), 20), exact, 0.15)
    assert within(averaged_ratio(rng, draw, log_f, log_g, target(factor), 10), exact, 0.15)
    flat = Target(
        lambda theta: np.where(np.isfinite(log_prior(theta)), 0.0, -np.inf), target(factor).start, factor, STEPS
    )
    assert not within(metropolis(rng, known, flat), exact, 0.15)


@pytest.mark.parametrize("noise", [LAPLACE, CAUCHY], ids=lambda noise: noise.law)
def test_algorithm_8_has_the_posterior_of_two_parameters(noise: Noise) -> None:
    """Twelve noisy values of N(μ, v), each integrated out on quantiles; all chains have the same data."""
    rng = np.random.default_rng(7)
    y = 0.5 + 1.2 * rng.standard_normal(12) + 0.5 * noise.sample(rng, (12,))

    z = ndtri((np.arange(100) + 0.5) / 100)
    coarse = GRID[::7]
    logs = log_prior(coarse)
    for value in y:
        x = coarse[:, :1] + np.sqrt(coarse[:, 1:]) * z
        logs = logs + logsumexp(noise.log_density(np.array([value]), x[..., None], np.full(x.shape, 0.5)), axis=1)
    exact = grid_moments(logs, coarse)

    def log_h(z: FloatArray, theta: FloatArray) -> FloatArray:
        x = theta[:, 0, None, None] + np.sqrt(theta[:, 1, None, None]) * z
        return noise.log_density(y[:, None, None], x[..., None], np.full(x.shape, 0.5))

    states = sequence_latents(
        rng, lambda rng, shape: rng.standard_normal(shape), log_h, 12, target(1.5 * np.diag(exact[1])), 10
    )
    assert within(states, exact, 0.2)


@pytest.mark.parametrize("renewed", [None, 2])
def test_algorithm_7_has_the_posterior_of_two_parameters(renewed: int | None) -> None:
    """The middle of five values with Cauchy noise, against 40,000 simulated samples shared by all θ of a grid."""
    rng = np.random.default_rng(8)
    y, scale = 1.0, 0.7
    middle = np.sort(rng.standard_normal((40_000, 5)), axis=1)[:, 2]
    coarse = GRID[::97]
    logs = log_prior(coarse)
    for i, (mu, v) in enumerate(coarse):
        logs[i] += np.log(np.mean(1 / (1 + ((y - mu - np.sqrt(v) * middle) / scale) ** 2)))
    exact = grid_moments(logs, coarse)

    def log_h(z: FloatArray, theta: FloatArray) -> FloatArray:
        found = theta[:, 0, None] + np.sqrt(theta[:, 1, None]) * np.median(z, axis=2)
        return CAUCHY.log_density(np.array([y]), found[..., None], np.full(found.shape, scale))

    states = sample_latents(
        rng, lambda rng, shape: rng.standard_normal(shape), log_h, 5, target(1.5 * np.diag(exact[1])), 6, renewed
    )
    assert within(states, exact, 0.2)


def test_cauchy_noise_keeps_epsilon_whatever_the_neighbours() -> None:
    """Over moves, factors and answers the largest log ratio is at most ε; a move alone reaches it within 2%."""
    y = np.concatenate([np.linspace(-40, 40, 20_001), np.geomspace(40, 1e6, 200)])
    for alpha, beta in (cauchy_rates(1.0), cauchy_rates(3.0, 0.2), published_cauchy_rates(1.0)):
        worst = 0.0
        for ratio in np.exp(beta * np.linspace(-1, 1, 9)):
            for move in alpha * min(1.0, ratio) * np.linspace(-1, 1, 9):
                logs = -np.log1p(y**2) + np.log(ratio) + np.log1p(((y - move) / ratio) ** 2)
                worst = max(worst, float(np.abs(logs).max()))
        assert worst <= cauchy_epsilon(alpha, beta) + 1e-9
        alone = np.abs(np.log1p((y - alpha) ** 2) - np.log1p(y**2)).max()
        assert alone == pytest.approx(cauchy_epsilon(alpha, 0.0), rel=0.02)
    assert cauchy_epsilon(*cauchy_rates(1.0)) == pytest.approx(1.0)
    assert cauchy_epsilon(*published_cauchy_rates(1.0)) < 0.34, "a third would do"
    with pytest.raises(ValueError, match="share"):
        cauchy_rates(1.0, 1.0)
