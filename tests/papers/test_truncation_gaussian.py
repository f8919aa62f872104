"""The Gaussian mechanism, and scores to choose intervals by: against quadrature, differences and other programs."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dither_estimator.design.goal import InvalidGoal, parse_goal
from dither_estimator.families.normal import Normal
from dither_papers.truncation.criteria import SCORES, Precision, WeightedHarmonic, WeightedTrace, find_score
from dither_papers.truncation.gaussian import GaussianAnswers, answer, information, log_density, scores
from dither_papers.truncation.gaussian_privacy import (
    composed,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_parameter,
)
from dither_papers.truncation.information import exact_information
from dither_papers.truncation.intervals import best_interval, best_on_grid

CASES = [(0.3, 1.2, -0.5, 1.0, 0.7), (0.0, 1.0, -3.0, 3.0, 0.2), (2.0, 0.5, -1.0, 0.0, 2.0), (0.0, 1.0, 0.5, 0.6, 0.1)]


def asked(y: float, low: float, high: float, noise: float) -> GaussianAnswers:
    return GaussianAnswers(*(np.array([value]) for value in (y, low, high, noise)))


@pytest.mark.parametrize(("mu", "sigma", "low", "high", "noise"), CASES)
def test_the_density_is_the_convolution_and_the_score_its_slope(
    mu: float, sigma: float, low: float, high: float, noise: float
) -> None:
    theta, step = np.array([[mu, sigma]]), 1e-5
    for y in (low - 2.5 * noise, (low + high) / 2, high, high + 4 * noise):
        inside = quad(
            lambda x, y=y: norm.pdf(x, mu, sigma) * norm.pdf(y, x, noise), low, high, points=[np.clip(y, low, high)]
        )
        ends = norm.cdf(low, mu, sigma) * norm.pdf(y, low, noise) + norm.sf(high, mu, sigma) * norm.pdf(y, high, noise)
        one = asked(y, low, high, noise)
        assert np.exp(log_density(theta, one)[0, 0]) == pytest.approx(inside[0] + ends, rel=1e-8)
        for j in (0, 1):
            moved = [theta + s * step * np.eye(2)[j] for s in (1, -1)]
            slope = (log_density(moved[0], one) - log_density(moved[1], one))[0, 0] / (2 * step)
            assert scores(theta, one)[0, 0, j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_information_is_that_of_an_adaptive_quadrature_and_has_the_right_limit() -> None:
    low, high, noise = -0.4, 1.1, 0.6
    found = information((low, high), noise)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        exact = quad(
            lambda y, i=i, j=j: (
                np.prod(scores(np.array([[0.0, 1.0]]), asked(y, low, high, noise))[0, 0, [i, j]])
                * np.exp(log_density(np.array([[0.0, 1.0]]), asked(y, low, high, noise))[0, 0])
            ),
            low - 8,
            high + 8,
            points=[low, high],
            limit=200,
        )[0]
        assert found[i, j] == pytest.approx(exact, rel=1e-7, abs=1e-10)
    assert information((-8.0, 8.0), 1e-2) == pytest.approx(np.diag([1.0, 2.0]), rel=1e-3, abs=1e-6)


def test_answers_follow_the_density() -> None:
    """A Kolmogorov distance of 20,000 draws: above 0.0172 with probability 1e-5."""
    rng = np.random.default_rng(5)
    y = np.sort(answer(rng, rng.normal(0.3, 1.2, 20_000), -0.5, 1.0, 0.7))
    grid = np.linspace(-6, 7, 4001)
    density = np.exp(
        log_density(np.array([[0.3, 1.2]]), GaussianAnswers(grid, *(np.full_like(grid, v) for v in (-0.5, 1.0, 0.7))))
    )[0]
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    distance = np.abs(np.interp(y, grid, below) - (np.arange(len(y)) + 0.5) / len(y)).max()
    assert distance < 0.0172
    wrong = np.interp(y + 0.1, grid, below)
    assert np.abs(wrong - (np.arange(len(y)) + 0.5) / len(y)).max() > 0.0172


@pytest.mark.parametrize("parameter", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_is_what_exceeds_the_other_density(parameter: float, epsilon: float) -> None:
    """By quadrature of `[p - e^ε q]₊` for N(m, 1) and N(0, 1), which are equal at `m/2 + ε/m`."""
    start = parameter / 2 + epsilon / parameter
    exact = quad(
        lambda y: norm.pdf(y, parameter) - np.exp(epsilon) * norm.pdf(y), start, start + 12, epsabs=0, epsrel=1e-10
    )[0]
    assert gaussian_delta(parameter, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_the_accounts_invert_each_other() -> None:
    for epsilon, delta in ((0.5, 1e-5), (1.0, 1e-6), (8.0, 1e-9)):
        m = gaussian_parameter(epsilon, delta)
        assert gaussian_delta(m, epsilon) == pytest.approx(delta, rel=1e-6)
        assert gaussian_epsilon(m, delta) == pytest.approx(epsilon, rel=1e-6)
        assert gaussian_delta(1.01 * m, epsilon) > delta
    assert composed([1.0] * 4) == 2.0
    assert gaussian_epsilon(1e-3, 0.1) == 0.0
    with pytest.raises(ValueError, match="delta between 0 and 1"):
        gaussian_parameter(1.0, 0.0)


def test_scores_are_what_they_say() -> None:
    matrix = np.array([[2.0, 0.6], [0.6, 1.5]])
    inverse = np.linalg.inv(matrix)
    assert SCORES["trace"](matrix) == 3.5
    assert WeightedTrace(1.0, 3.0)(matrix) == 6.5
    assert SCORES["harmonic"](matrix) == pytest.approx(1 / (1 / 2 + 1 / 1.5))
    assert WeightedHarmonic(2.0, 1.0)(matrix) == pytest.approx(1 / (2 / 2 + 1 / 1.5))
    assert Precision(1.0, 3.0)(matrix) == pytest.approx(1 / (inverse[0, 0] + 3 * inverse[1, 1]))
    assert Precision()(np.ones((2, 2))) == 0.0
    assert WeightedHarmonic()(np.diag([1.0, 0.0])) == 0.0


def test_a_goal_of_dither_design_and_a_score_of_ones_own_choose_intervals() -> None:
    family = Normal()
    assert find_score("mu=1,sigma=3") == Precision(1.0, 3.0)
    assert find_score(parse_goal("mu", family)) == Precision(1.0, 0.0)
    assert find_score("all") == Precision(1.0, 1.0)
    with pytest.raises(InvalidGoal, match="about mu and sigma"):
        find_score("quantiles=0.5")
    with pytest.raises(InvalidGoal):
        find_score("nonsense")
    # σ unknown or known makes no difference about the mean, where the matrix is diagonal.
    assert best_interval("mu", 5.0) == pytest.approx(best_interval("mean", 5.0), abs=1e-3)

    def spread(information: np.ndarray) -> float:
        return float(information[1, 1])

    low, high = best_interval(spread, 5.0)
    assert exact_information((low, high), 5.0)[1, 1] > exact_information(best_interval("mean", 5.0), 5.0)[1, 1]
    assert best_interval("sigma=1", 5.0) != best_interval("mu", 5.0)


def test_the_best_interval_of_the_papers_grid_is_symmetric_for_the_mean() -> None:
    """The best of all 1,225 pairs. No point of that grid over [-3, 3] is at 0.12, 0.54 or 0.96, as the paper has it."""
    grid = np.linspace(-3, 3, 50)
    for epsilon, half in ((1.0, 0.0612), (2.0, 0.1837), (5.0, 0.6735), (10.0, 1.2857)):
        low, high = best_on_grid("mean", epsilon)
        assert -low == pytest.approx(high)
        assert high == pytest.approx(half, abs=1e-4)
    assert all(np.abs(grid - half).min() > 0.008 for half in (0.12, 0.54, 0.96))
    low, high = best_on_grid("harmonic", 1.0)
    assert 0 < low < high, "beside the mean"
