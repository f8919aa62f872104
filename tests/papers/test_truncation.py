"""The paper's method as stated: density, information and intervals, each against an independent oracle."""

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from dither_estimator.design.convex import mix
from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers, Interval, answer, log_density, scores
from dither_papers.truncation.criteria import harmonic, of_the_mean
from dither_papers.truncation.information import exact_information, monte_carlo_information, monte_carlo_scores
from dither_papers.truncation.intervals import PAPER_INTERVALS, best_interval, best_mixture

EPSILONS = (1.0, 2.0, 5.0, 10.0)


def asked(y: Sequence[float], interval: Interval, epsilon: float) -> Answers:
    values = np.array(y, dtype=np.float64)
    return Answers(values, np.full_like(values, interval[0]), np.full_like(values, interval[1]), epsilon)


def oracle_density(y: float, interval: Interval, scale: float, mu: float, sigma: float) -> float:
    """The definition: an integral of SciPy's normal and Laplace densities, times exp(distance to the interval / scale).

    Without that factor it would underflow far away.
    """
    low, high = interval
    away = max(low - y, y - high, 0.0)
    law = stats.norm(mu, sigma)

    def kernel(x: float) -> float:
        return float(np.exp((away - abs(y - x)) / scale) / (2.0 * scale))

    turn = min(max(y, low), high)
    total = float(law.cdf(low) * kernel(low) + law.sf(high) * kernel(high))
    for start, end in ((low, turn), (turn, high)):
        cuts = {start, end}  # pieces as fine as either of the two factors
        cuts |= {x for c, s in ((mu, sigma), (turn, scale)) for i in range(-40, 41) if start < (x := c + i * s) < end}
        edges = np.array(sorted(cuts))
        half = np.diff(edges)[:, None] / 2.0
        at, weights = np.polynomial.legendre.leggauss(20)
        nodes = edges[:-1, None] + half * (1.0 + at)
        part = law.pdf(nodes) * np.exp((away - np.abs(y - nodes)) / scale) / (2.0 * scale)
        total += float((part * weights * half).sum())
    return total


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6])
def test_the_density_is_that_of_the_definition(width: float) -> None:
    """Widths of 1e-6 σ to 1e6 σ, intervals up to 30 σ off, answers inside and 30 noise scales beyond: to 1e-9."""
    mu, sigma = 3.0, 2.0
    for epsilon, centre, place in product((0.1, 1.0, 10.0), (-30.0, -1.3, 0.0, 0.4, 5.0), (-0.4, 0.0, 0.31, 1.0, 1.3)):
        low = mu + sigma * (centre - width / 2.0)
        interval = (low, low + sigma * width)
        scale = (interval[1] - interval[0]) / epsilon
        y = interval[0] + place * sigma * width if abs(place) != 1.3 else interval[1] + 30.0 * scale
        found = float(log_density(np.array([[mu, sigma]]), asked([y], interval, epsilon))[0, 0])
        away = max(interval[0] - y, y - interval[1], 0.0) / scale
        expected = np.log(oracle_density(y, interval, scale, mu, sigma)) - away
        assert found == pytest.approx(expected, abs=1e-9), (epsilon, centre, place)
        published = np.log(oracle_density(y, interval, scale / 2**0.5, mu, sigma)) - away
        assert abs(found - published) > 1e-3, "noise as the published program draws it is another law"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 100.0])
def test_the_density_of_many_answers_at_once_is_that_of_each_alone(epsilon: float) -> None:
    """Thousands go through a polynomial in place of SciPy's erfcx: to 1e-11, scores to 1e-5, as they are small
    differences where an interval is narrow."""
    rng = np.random.default_rng(5)
    theta = np.column_stack([rng.normal(0.0, 3.0, 40), np.exp(rng.normal(0.0, 1.0, 40))])
    low = rng.normal(0.0, 3.0, 200)
    high = low + np.exp(rng.uniform(-14.0, 14.0, 200))
    answers = Answers(answer(rng, rng.normal(0.0, 3.0, 200), low, high, epsilon), low, high, epsilon)
    alone = [Answers(answers.y[[t]], low[[t]], high[[t]], epsilon) for t in range(200)]
    found, expected = log_density(theta, answers), np.column_stack([log_density(theta, one) for one in alone])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    slopes, each = scores(theta, answers), np.concatenate([scores(theta, one) for one in alone], axis=1)
    np.testing.assert_allclose(slopes, each, rtol=1e-5, atol=1e-5)


def test_the_density_integrates_to_one() -> None:
    for epsilon, interval in product(EPSILONS, ((-0.3, 0.2), (0.5, 4.0), (-30.0, 20.0))):
        theta = np.array([[0.1, 1.7]])

        def density(y: float, interval: Interval = interval, epsilon: float = epsilon, at: FloatArray = theta) -> float:
            return float(np.exp(log_density(at, asked([y], interval, epsilon))[0, 0]))

        scale = (interval[1] - interval[0]) / epsilon
        inside = integrate.quad(density, *interval, points=[0.1], limit=200)[0]
        assert inside + scale * (density(interval[0]) + density(interval[1])) == pytest.approx(1.0, abs=1e-8)


def test_scores_are_derivatives_of_the_density() -> None:
    rng = np.random.default_rng(1)
    for width, epsilon in product((1e-4, 0.1, 1.0, 20.0), EPSILONS):
        low = rng.normal(0.0, 1.0, 50)
        answers = Answers(low + width * rng.uniform(-1.0, 2.0, 50), low, low + width, epsilon)
        for theta in ((0.3, 1.2), (-1.0, 0.4)):
            found = scores(np.array([theta]), answers)[0]
            for j, h in ((0, 1e-5), (1, 1e-5)):
                shift = np.array([theta]) * 0.0
                shift[0, j] = h
                above, below = (log_density(np.array([theta]) + s * shift, answers)[0] for s in (1, -1))
                assert found[:, j] == pytest.approx((above - below) / (2.0 * h), abs=1e-6 + 1e-4 * width)


def test_answers_follow_their_density() -> None:
    """Kolmogorov-Smirnov of 20,000 answers inside the interval, and their share beyond each end: 1e-6 each."""
    rng = np.random.default_rng(2)
    interval, epsilon = (-0.5, 1.5), 2.0
    y = answer(rng, rng.normal(0.2, 0.8, 20_000), *interval, epsilon)
    theta = np.array([[0.2, 0.8]])
    grid = np.linspace(*interval, 4_001)
    density = np.exp(log_density(theta, asked(grid.tolist(), interval, epsilon))[0])
    inside = integrate.cumulative_trapezoid(density, grid, initial=0)
    below = density[0]  # times the scale, which is 1
    cdf = partial(np.interp, xp=grid, fp=inside / inside[-1])
    assert stats.kstest(y[(y > -0.5) & (y < 1.5)], cdf).pvalue > 1e-6
    assert stats.binomtest(int((y < -0.5).sum()), len(y), below).pvalue > 1e-6


@pytest.mark.parametrize("low", [0.0, 1.0])
def test_an_interval_without_width_is_refused(low: float) -> None:
    with pytest.raises(ValueError, match="low end must be below"):
        asked([0.5], (low, 0.0), 1.0)


def test_information_is_exact() -> None:
    """The figures of the stated mechanism, and brute-force sums over a fine grid of answers."""
    for epsilon, half, expected in ((1.0, 0.071, 0.1089), (2.0, 0.223, 0.2860), (5.0, 0.728, 0.6122)):
        assert exact_information((-half, half), epsilon)[0, 0] == pytest.approx(expected, abs=1e-4)
    interval, epsilon = (-0.4, 1.9), 5.0
    grid = np.linspace(-12.0, 13.0, 200_001)
    at = asked(grid.tolist(), interval, epsilon)
    score, density = scores(np.array([[0.0, 1.0]]), at)[0], np.exp(log_density(np.array([[0.0, 1.0]]), at)[0])
    brute = (score * density[:, None]).T @ score * (grid[1] - grid[0])
    assert exact_information(interval, epsilon) == pytest.approx(brute, abs=1e-7)


def test_limits_of_the_information() -> None:
    """At ε = 400 on ±6 σ hardly any noise is left: 1 and 2, what a value itself tells. Without width only the side is
    asked for, and the noise mixes two Laplace distributions one Δ apart."""
    assert exact_information((-6.0, 6.0), 400.0) == pytest.approx(np.diag([1.0, 2.0]), rel=1e-2, abs=1e-6)
    for epsilon in EPSILONS:

        def of_the_share(y: float, epsilon: float = epsilon) -> float:
            left, right = (stats.laplace.pdf(y, x, 1.0 / epsilon) for x in (0.0, 1.0))
            return float((right - left) ** 2 / (0.5 * left + 0.5 * right))

        side = sum(integrate.quad(of_the_share, *ends)[0] for ends in ((-30.0, 0.0), (0.0, 1.0), (1.0, 31.0)))
        assert exact_information((-1e-6, 1e-6), epsilon)[0, 0] == pytest.approx(side / (2.0 * np.pi), rel=1e-5)


def test_the_papers_monte_carlo_agrees() -> None:
    """(7) with Algorithm 5, 3,000 answers, 2,000 samples each: within six standard errors (2e-9) and a bias of 1%."""
    rng = np.random.default_rng(3)
    for epsilon in (1.0, 5.0):
        interval = best_interval("mean", epsilon)
        found = monte_carlo_information(rng, interval, epsilon, 3_000, 2_000)[0, 0]
        exact = exact_information(interval, epsilon)[0, 0]
        y = answer(rng, rng.standard_normal(3_000), *interval, epsilon)
        score = scores(np.array([[0.0, 1.0]]), asked(y.tolist(), interval, epsilon))[0, :, 0]
        assert abs(found - exact) < 6.0 * (score**2).std() / 3_000**0.5 + 0.01 * exact


def test_monte_carlo_scores_agree_with_exact_ones() -> None:
    """200,000 samples: within 0.02 for every answer, eight standard errors or so."""
    rng = np.random.default_rng(4)
    answers = asked([-2.0, -0.5, 0.3, 0.9, 4.0], (-0.7, 0.9), 5.0)
    found = monte_carlo_scores(rng, np.array([0.2, 1.5]), answers, 200_000)
    assert found == pytest.approx(scores(np.array([[0.2, 1.5]]), answers)[0], abs=0.02)


def test_best_intervals_for_the_mean() -> None:
    """Exactly 0.071, 0.223, 0.728 and 1.224; the paper's 0.06, 0.12, 0.54 and 0.96 lose 0% to 1% of the information."""
    for epsilon, half in zip(EPSILONS, (0.0706, 0.2234, 0.7281, 1.2244), strict=True):
        low, high = best_interval("mean", epsilon)
        assert (-low, high) == pytest.approx((half, half), abs=2e-4)
        paper = PAPER_INTERVALS[int(epsilon)]
        share = of_the_mean(exact_information((-paper, paper), epsilon)) / of_the_mean(
            exact_information((low, high), epsilon)
        )
        assert 0.98 < share < 1.0


def test_the_papers_intervals_come_from_the_published_noise() -> None:
    """With noise of scale Δ/(ε√2) and scores for Δ/ε the best are 0, 0.07, 0.52 and 1.00: each within 0.07 of the
    paper's, on a grid of step 0.06; those of the stated mechanism are off by up to 0.27."""
    for epsilon in EPSILONS:
        paper = PAPER_INTERVALS[int(epsilon)]
        _, published = best_interval("mean", epsilon, epsilon * 2**0.5)
        assert abs(published - paper) < 0.07
    assert abs(best_interval("mean", 10.0)[1] - PAPER_INTERVALS[10]) > 0.25
    assert abs(best_interval("mean", 5.0)[1] - PAPER_INTERVALS[5]) > 0.15


def test_the_harmonic_score_likes_singular_information() -> None:
    """Up to ε = 2 its best interval cannot tell μ from σ, and the mixture of it and its mirror image needs many times
    fewer people; from ε = 5 on it is sound."""
    for epsilon, least in ((1.0, 1_000.0), (2.0, 100.0)):
        information = exact_information(best_interval("harmonic", epsilon), epsilon)
        mixed = best_mixture(epsilon)
        assert np.trace(np.linalg.inv(information)) > least * np.trace(np.linalg.inv(mixed.information))
    assert np.linalg.det(exact_information(best_interval("harmonic", 1.0), 1.0)) == pytest.approx(4.08e-7, rel=0.01)
    for epsilon, trace in ((5.0, 4.85), (10.0, 2.43)):
        information = exact_information(best_interval("harmonic", epsilon), epsilon)
        assert np.trace(np.linalg.inv(information)) == pytest.approx(trace, abs=0.01)
        assert harmonic(information) > harmonic(exact_information(best_interval("mean", epsilon), epsilon))


def test_the_mixture_is_certified() -> None:
    for epsilon, expected in zip(EPSILONS, (41.66, 13.87, 4.80, 2.425), strict=True):
        mixed = best_mixture(epsilon)
        assert 0 <= mixed.gap < 1e-4
        assert mixed.weights.sum() == pytest.approx(1.0)
        again = mix(mixed.weights, np.array([exact_information(interval, epsilon) for interval in mixed.intervals]))
        assert again == pytest.approx(mixed.information, abs=1e-12)
        assert np.trace(np.linalg.inv(mixed.information)) == pytest.approx(expected, rel=2e-3)
