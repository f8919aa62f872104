"""Shared by the studies of Lakshminarayanan & Rojas: their Bernoulli example, on a grid and with a certificate."""

import numpy as np

from dither_papers.bayes_point.certificate import squared_lower_bound
from dither_papers.bayes_point.geometric import geometric_estimator
from dither_papers.bayes_point.problem import (
    Moments,
    PointProblem,
    binomial_likelihood,
    chain,
    count_moments,
    moments_of,
    squared_problem,
)
from dither_papers.bayes_point.ubapp import Ubapp, solve, solve_at_once

__all__ = ["GRID", "PAPER", "certified", "grid_moments", "grid_problem", "on_grid"]

PAPER = "Lakshminarayanan & Rojas"

GRID = 5_000
"""`M_θ`, the paper's number of points for θ."""


def grid_moments(points: int, trials: int) -> Moments:
    """The moments of the paper's prior: equally likely points, equally spaced from 0 to 1."""
    theta = np.linspace(0.0, 1.0, points)
    return moments_of(theta, binomial_likelihood(trials, theta), np.full(points, 1.0 / points))


def grid_problem(points: int, trials: int) -> PointProblem:
    """The paper's programme (11): prior and estimates on the grid, squared loss."""
    return squared_problem(np.linspace(0.0, 1.0, points), grid_moments(points, trials), chain(trials + 1))


def on_grid(points: int, trials: int, epsilon: float) -> Ubapp:
    """Algorithm 1 on the grid."""
    return solve(grid_problem(points, trials), epsilon)


def certified(trials: int, epsilon: float) -> float:
    """A lower bound on the mean squared error of every ε-private estimator, for θ uniform on [0, 1]."""
    moments = count_moments(trials)
    means, _ = geometric_estimator(moments, epsilon)
    prices = solve_at_once(squared_problem(means, moments, chain(trials + 1)), epsilon).prices
    return squared_lower_bound(moments, prices, epsilon, 0.0, 1.0)
