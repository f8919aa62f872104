"""What the interior-point solvers share, and a programme with a closed form."""

import numpy as np
import pytest
from scipy.linalg import solve

from dither_estimator.design.convex import Criterion, best_weights
from dither_estimator.design.interior_point import Factorised, centre, longest_step


def test_badly_scaled_equations_are_solved_as_scipy_solves_them() -> None:
    """Variables of sizes 1e-8 to 1e8; rounding may cost the condition of the scaled system, about 100."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 9))
    sizes = np.array([1e-8, 1e-4, 1.0, 1e4, 1e8])
    right = rng.normal(size=5)
    found = Factorised.of(root @ root.T * np.outer(sizes, sizes)).solve(right)
    assert found * sizes == pytest.approx(solve(root @ root.T, right / sizes, assume_a="pos"), rel=1e-9)


def test_singular_equations_have_a_solution() -> None:
    """Two equal rows: the jitter shares the solution among them; an equation without coefficients gives 0 of 0."""
    system = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    assert Factorised.of(system).solve(np.array([4.0, 4.0, 0.0])) == pytest.approx([1.0, 1.0, 0.0], rel=1e-2)


def test_steps_stop_short_of_the_boundary() -> None:
    position = np.array([1.0, 2.0, 3.0])
    assert longest_step(position, np.array([-4.0, -2.0, 5.0]), 0.99) == 0.99 / 4
    assert longest_step(position, np.array([-0.5, 0.0, 5.0]), 0.99) == 1.0
    assert longest_step(position, np.ones(3), 0.99) == 1.0


def test_the_corrector_aims_lower_after_a_good_prediction() -> None:
    assert centre(0.5, 0.1) == pytest.approx(0.5e-3)
    assert centre(0.5, 1.5) == 0.5


def test_queries_about_one_parameter_each() -> None:
    """For `F_i = a_i e_i e_iᵀ` the criterion is `Σ 1 / (w_i a_i)`, least at `w_i ∝ 1 / √a_i`."""
    values = np.array([0.01, 1.0, 4.0, 100.0])
    informations = np.array([np.diag(row) for row in np.diag(values)])
    criterion = Criterion(np.eye(4), 1e-14 * np.eye(4))
    expected = 1 / np.sqrt(values)
    assert best_weights(criterion, informations) == pytest.approx(expected / expected.sum(), rel=1e-5)
