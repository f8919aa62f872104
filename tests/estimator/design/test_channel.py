"""The best ε-LDP channel on cells whose probabilities are all unknown: closed forms, every column, other cells."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, minimize

from dither_estimator.design.channel import MOST_SEARCHED, best_channel, intervals
from dither_estimator.design.columns import Columns
from dither_estimator.design.convex import Criterion
from dither_estimator.families import FloatArray

NEXT_TO_NOTHING = 1e-9
"""A prior that hardly counts, as a share of the values' own information."""


def unknown(cells: FloatArray, epsilon: float) -> Columns:
    """Cells whose probabilities are the unknowns, but for the last, which follows."""
    n = len(cells)
    return Columns(cells, np.vstack([np.eye(n - 1), -np.ones(n - 1)]), math.exp(-epsilon))


def mean_variance(columns: Columns) -> Criterion:
    """The mean of the variances of the distribution function between cells, per respondent."""
    below = np.cumsum(columns.slopes, axis=0)[:-1]
    values = (columns.slopes.T / columns.cells) @ columns.slopes
    return Criterion(below.T @ below / len(below), NEXT_TO_NOTHING * values)


def information(columns: Columns, channel: FloatArray) -> FloatArray:
    """The information of one answer of a channel, whose shape is (cells, answers)."""
    moved = channel.T @ columns.slopes
    return moved.T @ (moved / (channel.T @ columns.cells)[:, np.newaxis])


def limit(columns: Columns) -> float:
    return best_channel(columns, mean_variance(columns), intervals(len(columns.cells))).criterion


@pytest.mark.parametrize(
    ("n", "epsilon", "low", "high"), [(8, 1.0, 3.46, 3.50), (12, 1.0, 4.36, 4.50), (8, 0.5, 14.6, 14.9)]
)
def test_a_uniform_population(n: int, epsilon: float, low: float, high: float) -> None:
    """Figures that were found before, by other programs."""
    columns = unknown(np.full(n, 1 / n), epsilon)
    found = best_channel(columns, mean_variance(columns), intervals(n))
    assert low <= found.criterion <= high
    assert 0 <= found.gap < 1e-3 * found.criterion


def test_what_randomised_response_and_subset_selection_reach() -> None:
    """58% and 72% on 8 cells at ε = 1, from the variance of counts and from all subsets of two cells."""
    n, epsilon = 8, 1.0
    columns = unknown(np.full(n, 1 / n), epsilon)
    criterion = mean_variance(columns)
    slope = (math.exp(epsilon) - 1) / (math.exp(epsilon) + n - 1)
    j = np.arange(1, n)
    by_hand = float((j * (n - j)).mean()) / n**2 / slope**2
    answers = np.where(np.eye(n, dtype=bool), 1.0, columns.low)
    response = criterion.value(information(columns, answers / answers[0].sum()))
    assert response == pytest.approx(by_hand, rel=1e-5)
    assert limit(columns) / response == pytest.approx(0.58, abs=0.005)
    subsets = np.array([np.isin(np.arange(n), some) for some in combinations(range(n), 2)]).T
    answers = np.where(subsets, 1.0, columns.low)
    selection = criterion.value(information(columns, answers / answers[0].sum()))
    assert limit(columns) / selection == pytest.approx(0.72, abs=0.005)


def test_nearly_without_privacy_it_is_the_multinomial_law() -> None:
    cells = np.array([0.1, 0.2, 0.4, 0.3])
    below = np.cumsum(cells)[:-1]
    assert limit(unknown(cells, 10.0)) == pytest.approx(float((below * (1 - below)).mean()), rel=2e-3)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("n", [4, 5])
def test_every_column_by_another_solver(n: int, epsilon: float) -> None:
    """Sequential quadratic programming over the weights of all `2^n` columns, for unequal cells and any goal."""
    rng = np.random.default_rng(n)
    columns = unknown(rng.dirichlet(np.full(n, 3.0)), epsilon)
    root = rng.normal(size=(n - 1, n - 1))
    criterion = Criterion(root @ root.T, mean_variance(columns).ridge)
    every = np.array(list(product([columns.low, 1.0], repeat=n)))
    gradients = every @ columns.slopes
    told = gradients[:, :, None] * gradients[:, None, :] / (every @ columns.cells)[:, None, None]

    even = np.full(len(every), 1 / every.sum(axis=0)[0])
    unit = criterion.value(np.tensordot(even, told, 1))

    def value(weights: FloatArray) -> float:
        return criterion.value(np.tensordot(weights, told, 1)) / unit

    def slope(weights: FloatArray) -> FloatArray:
        return -np.tensordot(told, criterion.slope(np.tensordot(weights, told, 1)), 2) / unit

    slsqp = minimize(
        value,
        even,
        jac=slope,
        method="SLSQP",
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(every.T, 1, 1),
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert slsqp.success
    found = best_channel(columns, criterion, intervals(n))
    assert found.criterion == pytest.approx(slsqp.fun * unit, rel=1e-3)
    assert found.criterion - found.gap <= slsqp.fun * unit * (1 + 1e-6)


def test_the_search_among_some_columns_finds_what_all_would() -> None:
    """Cells in two halves of which nobody knows more than of the whole have the limit of the whole."""
    rng = np.random.default_rng(2)
    whole = unknown(rng.dirichlet(np.full(12, 5.0)), 1.0)
    halves = Columns(np.repeat(whole.cells / 2, 2), np.repeat(whole.slopes / 2, 2, axis=0), whole.low)
    assert len(halves.cells) > MOST_SEARCHED > len(whole.cells)
    criterion = mean_variance(whole)
    found = best_channel(halves, criterion, intervals(24))
    assert found.criterion == pytest.approx(limit(whole), rel=1e-3)
    assert found.gap < 1e-3 * found.criterion


def random_channel(rng: np.random.Generator, n: int, epsilon: float) -> FloatArray:
    """A channel with 12 answers whose columns vary by at most `e^ε`."""
    columns = np.exp(epsilon / 2 * rng.integers(0, 2, size=(n, 12)))
    return columns / columns.sum(axis=1, keepdims=True)


def test_no_channel_beats_it_but_one_with_less_privacy_does() -> None:
    """Rows are scaled by at most `e^(ε/2)`, columns have the other half. At ε = 2 subset selection goes below it."""
    rng = np.random.default_rng(3)
    columns = unknown(rng.dirichlet(np.full(6, 5.0)), 1.0)
    criterion, least = mean_variance(columns), limit(columns)
    for _ in range(200):
        channel = random_channel(rng, 6, 1.0)
        assert (channel.max(axis=0) / channel.min(axis=0)).max() <= math.e * (1 + 1e-9)
        assert criterion.value(information(columns, channel)) > least
    answers = np.where(np.eye(6, dtype=bool), 1.0, math.exp(-2.0))
    assert criterion.value(information(columns, answers / answers[0].sum())) < least
