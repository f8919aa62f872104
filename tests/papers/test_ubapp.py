"""UBaPP and LBaPP against other formulations of the same problem, closed forms and bounds."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog

from dither_client import Laplace
from dither_estimator.families import FloatArray
from dither_papers.bayes_point.certificate import excess, lower_bound, squared_lower_bound
from dither_papers.bayes_point.geometric import geometric_channel, geometric_estimator
from dither_papers.bayes_point.lbapp import lbapp_mse, lbapp_squared_errors
from dither_papers.bayes_point.local import local_moments
from dither_papers.bayes_point.problem import (
    InvalidProblem,
    Moments,
    PointProblem,
    binomial_likelihood,
    chain,
    count_moments,
    finite_problem,
    moments_of,
    squared_problem,
)
from dither_papers.bayes_point.ubapp import solve, solve_at_once

EPSILONS = (0.001, 0.3, 1.0, 2.5, 5.0)


def grid_problem(points: int, trials: int) -> PointProblem:
    theta = np.linspace(0, 1, points)
    moments = moments_of(theta, binomial_likelihood(trials, theta), np.full(points, 1 / points))
    return squared_problem(theta, moments, chain(trials + 1))


def by_rays(problem: PointProblem, epsilon: float) -> float:
    """The least risk by another programme: every action with every extreme ray of the cone as a variable, few as they
    are; no ratio constraints."""
    n = problem.costs.shape[1]
    signs = np.array(list(product((-1.0, 1.0), repeat=n - 1)))
    rays = np.exp(epsilon * np.concatenate([np.zeros((len(signs), 1)), signs.cumsum(axis=1)], axis=1))
    rays /= rays.max(axis=1, keepdims=True)
    costs = (problem.costs @ rays.T).ravel()
    found = linprog(costs, A_eq=np.tile(rays.T, len(problem.costs)), b_eq=np.ones(n), method="highs")
    assert found.fun is not None
    return float(found.fun)


def check_private(channel: FloatArray, neighbours: list[tuple[int, int]], epsilon: float) -> None:
    assert np.allclose(channel.sum(axis=0), 1.0, atol=1e-12)
    assert (channel >= 0).all()
    for i, j in neighbours:
        assert (channel[:, i] <= math.exp(epsilon) * channel[:, j] * (1 + 1e-7)).all()
        assert (channel[:, j] <= math.exp(epsilon) * channel[:, i] * (1 + 1e-7)).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_programme_agrees_with_the_one_over_extreme_rays(epsilon: float) -> None:
    problem = grid_problem(11, 4)
    best = by_rays(problem, epsilon)
    for found in (solve(problem, epsilon), solve_at_once(problem, epsilon)):
        assert found.risk == pytest.approx(best, abs=1e-8)
        check_private(found.channel, chain(5), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_growing_list_of_actions_is_as_good_as_all_of_them(epsilon: float) -> None:
    problem = grid_problem(201, 10)
    few, all_at_once = solve(problem, epsilon), solve_at_once(problem, epsilon)
    assert few.risk == pytest.approx(all_at_once.risk, abs=1e-8)
    assert few.risk - lower_bound(problem, few.prices, epsilon) < 1e-8


@pytest.mark.slow
def test_the_papers_5000_points_in_one_programme() -> None:
    problem = grid_problem(5_000, 10)
    assert solve(problem, 5.0).risk == pytest.approx(solve_at_once(problem, 5.0).risk, abs=1e-8)


def test_any_loss_and_any_prior() -> None:
    """Absolute loss, a prior on eleven points that is far from even, and estimates between the points."""
    theta, actions = np.linspace(0.05, 0.95, 11), np.linspace(0, 1, 41)
    prior = np.arange(1.0, 12.0) ** 2
    loss = np.abs(theta[:, np.newaxis] - actions)
    problem = finite_problem(actions, loss, binomial_likelihood(5, theta), prior / prior.sum(), chain(6))
    for epsilon in (0.5, 2.0):
        found = solve(problem, epsilon)
        assert found.risk == pytest.approx(by_rays(problem, epsilon), abs=1e-8)


def test_squared_loss_needs_three_moments_for_each_observation() -> None:
    """The costs of the paper's triple sum (11), and those of the moments."""
    theta, actions = np.linspace(0, 1, 7), np.linspace(0, 1, 13)
    prior = np.arange(1.0, 8.0) / 28
    likelihood = binomial_likelihood(6, theta)
    triple = [
        [sum((t - a) ** 2 * likelihood[y, j] * prior[j] for j, t in enumerate(theta)) for y in range(7)]
        for a in actions
    ]
    reduced = squared_problem(actions, moments_of(theta, likelihood, prior), chain(7))
    full = finite_problem(actions, (theta[:, np.newaxis] - actions) ** 2, likelihood, prior, chain(7))
    assert np.allclose(reduced.costs, triple, atol=1e-15)
    assert np.allclose(full.costs, triple, atol=1e-15)
    assert np.allclose(full.weights, reduced.weights)


def test_neighbours_that_are_no_chain() -> None:
    """Two counts together, of two trials each: a grid of observations; against privacy between all pairs at once.

    With `d` the distance, `P(a | y) ≤ e^(ε d) P(a | y')` for all pairs says the same.
    """
    cells = list(product(range(3), repeat=2))
    pairs = [
        (i, j) for i, a in enumerate(cells) for j, b in enumerate(cells[:i]) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    ]
    theta = np.linspace(0.1, 0.9, 5)
    one = binomial_likelihood(2, theta)
    likelihood = np.array([one[a] * one[b] for a, b in cells])
    problem = finite_problem(theta, (theta[:, np.newaxis] - theta) ** 2, likelihood, np.full(5, 0.2), pairs)
    assert problem.distances.max() == 4
    epsilon = 0.8
    found = solve(problem, epsilon)
    check_private(found.channel, pairs, epsilon)
    n_actions, n = problem.costs.shape
    rows = []
    for a, i, j in product(range(n_actions), range(n), range(n)):
        row = np.zeros((n_actions, n))
        row[a, i], row[a, j] = 1.0, row[a, j] - math.exp(epsilon * problem.distances[i, j])
        rows.append(row.ravel())
    best = linprog(
        problem.costs.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)),
        A_eq=np.tile(np.eye(n), n_actions), b_eq=np.ones(n), method="highs",
    )  # fmt: skip
    assert found.risk == pytest.approx(best.fun, abs=1e-8)
    # The sum of both counts is sufficient, and a chain: nothing is lost by it.
    total = solve(
        squared_problem(theta, moments_of(theta, binomial_likelihood(4, theta), np.full(5, 0.2)), chain(5)), epsilon
    )
    assert found.risk == pytest.approx(total.risk, abs=1e-8)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_limits(loss: str) -> None:
    """No privacy: the Bayes estimate. All privacy: the best constant."""
    theta = np.linspace(0, 1, 21)
    difference = np.abs(theta[:, np.newaxis] - theta)
    problem = finite_problem(
        theta,
        difference**2 if loss == "squared" else difference,
        binomial_likelihood(8, theta),
        np.full(21, 1 / 21),
        chain(9),
    )
    assert solve(problem, 60.0).risk == pytest.approx(problem.costs.min(axis=0).sum(), abs=1e-9)
    assert solve(problem, 1e-9).risk == pytest.approx(problem.costs.sum(axis=1).min(), abs=1e-7)


@pytest.mark.parametrize(("trials", "prior"), [(1, (1, 1)), (4, (1, 1)), (10, (1, 1)), (10, (0.5, 3)), (25, (8, 2))])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_geometric_mechanism_is_ubapp(trials: int, prior: tuple[float, float], epsilon: float) -> None:
    """K + 1 estimates in closed form: no ε-private estimator with values in [0, 1] has a risk lower by 1e-9."""
    moments = count_moments(trials, *prior)
    means, risk = geometric_estimator(moments, epsilon)
    assert len(means) == trials + 1
    prices = solve_at_once(squared_problem(means, moments, chain(trials + 1)), epsilon).prices
    bound = squared_lower_bound(moments, prices, epsilon, 0, 1)
    assert -1e-12 < risk - bound < 1e-9


def test_a_worse_estimator_is_not_certified() -> None:
    """The certificate can fail: the Bayes estimates as actions are not the best ones at ε = 1, nor are other prices."""
    moments = count_moments(10)
    problem = squared_problem(moments.means, moments, chain(11))
    found = solve_at_once(problem, 1.0)
    assert found.risk - squared_lower_bound(moments, found.prices, 1.0, 0, 1) > 1e-4
    assert excess(squared_problem(np.linspace(0, 1, 101), moments, chain(11)), found.prices, 1.0).min() < -1e-4
    _, risk = geometric_estimator(moments, 1.0)
    assert squared_lower_bound(moments, found.prices * 0.9, 1.0, 0, 1) < risk - 1e-3


def test_the_bound_holds_for_random_prices_and_mechanisms() -> None:
    """Whatever the prices, no private mechanism is below the bound (weak duality)."""
    rng = np.random.default_rng(5)
    problem = grid_problem(9, 3)
    for _ in range(50):
        epsilon = float(rng.uniform(0.1, 3))
        lengths = rng.uniform(-epsilon, epsilon, (9, 3)) / 2
        channel = np.exp(np.concatenate([np.zeros((9, 1)), lengths.cumsum(axis=1)], axis=1))
        channel /= channel.sum(axis=0)  # the sums change by e^(ε/2) at most, too
        risk = float((problem.costs * channel).sum())
        assert lower_bound(problem, rng.normal(0.02, 0.02, 4), epsilon) <= risk
    assert all(a > b for a, b in pairwise(solve(problem, e).risk for e in (0.1, 1, 3)))


def test_the_geometric_channel_is_dithers_laplace() -> None:
    """K levels on 0..K at K ε."""
    channel = np.array(Laplace(0, 6, 6, "4.2").channel())
    assert np.allclose(geometric_channel(6, 0.7), channel, atol=1e-15)


def test_moments_of_a_count() -> None:
    """Beta and binomial against a fine grid of θ."""
    theta = (np.arange(20_000) + 0.5) / 20_000
    density = theta * (1 - theta) ** 2
    grid = moments_of(theta, binomial_likelihood(7, theta), density / density.sum())
    for exact, near in zip(count_moments(7, 2, 3), grid, strict=True):
        assert np.allclose(exact, near, atol=1e-8)
    assert np.allclose(count_moments(10).means, (np.arange(11) + 1) / 12)
    assert count_moments(10).bayes_risk == pytest.approx(1 / 72)


def test_lbapp() -> None:
    """Formula (13), and Algorithm 2: 200,000 draws within 5 standard errors of the closed form (6e-7)."""
    for epsilon in (0.01, 1.0, 5.0):
        mse = lbapp_mse(count_moments(10), epsilon)
        assert mse == pytest.approx(1 / 72 + 2 / (12 * epsilon) ** 2)
        errors = lbapp_squared_errors(np.random.default_rng(1), 10, epsilon, 200_000)
        assert abs(errors.mean() - mse) < 5 * errors.std() / math.sqrt(len(errors))
        half = lbapp_squared_errors(np.random.default_rng(1), 10, epsilon * 2**0.5, 200_000)
        assert epsilon > 1 or abs(half.mean() - mse) > 5 * half.std() / math.sqrt(len(half)), "noise too small is seen"


def test_without_a_curator() -> None:
    """Against simulation: the posterior mean given the number of noisy ones. 5 standard errors, 6e-7."""
    rng, trials, epsilon = np.random.default_rng(2), 6, 1.0
    moments: Moments = local_moments(trials, epsilon)
    assert moments.zeroth.sum() == pytest.approx(1)
    theta = rng.random(200_000)
    ones = rng.binomial(trials, theta)
    honest = 1 / (1 + math.exp(-epsilon))
    says = rng.binomial(ones, honest) + rng.binomial(trials - ones, 1 - honest)
    errors = (moments.means[says] - theta) ** 2
    assert abs(errors.mean() - moments.bayes_risk) < 5 * errors.std() / math.sqrt(len(errors))
    assert local_moments(trials, 40.0).bayes_risk == pytest.approx(count_moments(trials).bayes_risk)


def test_bad_problems_are_refused() -> None:
    moments = count_moments(3)
    good = squared_problem(np.array([0.2, 0.8]), moments, chain(4))
    for epsilon in (0.0, -1.0, math.nan, 1e4):
        with pytest.raises(InvalidProblem, match="epsilon"):
            solve(good, epsilon)
    with pytest.raises(InvalidProblem, match="neighbours"):
        squared_problem(np.array([0.2]), moments, [(0, 4)])
    with pytest.raises(InvalidProblem, match="finite"):
        PointProblem(np.zeros(1), np.full((1, 4), np.inf), chain(4), moments.zeroth)
    with pytest.raises(InvalidProblem, match="prior"):
        finite_problem(np.zeros(1), np.zeros((2, 1)), np.full((2, 2), 0.5), np.array([0.5, 0.6]), [(0, 1)])
    with pytest.raises(InvalidProblem, match="agree"):
        finite_problem(np.zeros(1), np.zeros((3, 1)), np.full((2, 2), 0.5), np.array([0.5, 0.5]), [(0, 1)])
