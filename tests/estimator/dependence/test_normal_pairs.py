"""Probabilities of two normal numbers, against SciPy's own, quadrature and closed forms."""

import math
from itertools import pairwise

import numpy as np
import pytest
from normal_cells import cell_probabilities
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from dither_estimator.dependence.boxes import Boxes
from dither_estimator.dependence.normal_pairs import normal_cdf, normal_cdf_slopes
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.families import FloatArray

POINTS = np.linspace(-4.0, 4.0, 17)


def by_quadrature(h: float, k: float, rho: float) -> float:
    """`∫_{-∞}^h φ(x) Φ((k - ρ x) / √(1 - ρ²)) dx`."""
    root = math.sqrt((1 - rho) * (1 + rho))
    at = min(max(k / rho, -9.0), h) if rho else 0.0
    parts = sorted({-9.0, max(min(at, h), -9.0), h})
    return sum(
        quad(lambda x: norm.pdf(x) * ndtr((k - rho * x) / root), a, b, epsabs=1e-12, limit=200)[0]
        for a, b in pairwise(parts)
    )


@pytest.mark.parametrize("rho", [-0.999, -0.95, -0.6, 0.0, 0.3, 0.9, 0.95, 0.951, 0.99, 0.9999])
def test_the_distribution_function_is_that_of_a_quadrature(rho: float) -> None:
    for h, k in [(0.0, 0.0), (0.0, 1.3), (-0.7, 0.0), (1.2, 1.1), (-2.0, 1.0), (0.3, -0.3), (-1.5, -1.6)]:
        found = normal_cdf(np.array(h), np.array(k), np.array(rho))
        assert float(found) == pytest.approx(by_quadrature(h, k, rho), abs=2e-9)


@pytest.mark.parametrize("rho", [0.9, 0.95, -0.95])
def test_both_ways_agree_where_one_takes_over(rho: float) -> None:
    h, k = np.meshgrid(POINTS, POINTS)
    quadrature = normal_cdf(h, k, np.array(math.copysign(0.95, rho)))
    owens_t = normal_cdf(h, k, np.array(math.copysign(0.95 + 1e-12, rho)))
    np.testing.assert_allclose(quadrature, owens_t, atol=2e-9)


def test_it_agrees_with_scipy_everywhere() -> None:
    rng = np.random.default_rng(1)
    h, k, rho = rng.normal(0, 1.5, 60), rng.normal(0, 1.5, 60), rng.uniform(-1, 1, 60)
    expected = [multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([x, y]) for x, y, r in zip(h, k, rho, strict=True)]
    np.testing.assert_allclose(normal_cdf(h, k, rho), expected, atol=1e-8)


def test_ends_and_perfect_correlation() -> None:
    one, far = np.array(1.0), np.array(np.inf)
    assert float(normal_cdf(one, far, np.array(0.5))) == pytest.approx(ndtr(1.0))
    assert float(normal_cdf(one, -far, np.array(0.99))) == 0.0
    assert float(normal_cdf(one, 2 * one, one)) == pytest.approx(ndtr(1.0), abs=1e-6)
    assert float(normal_cdf(one, -one, -one)) == pytest.approx(0.0, abs=1e-6)
    assert float(normal_cdf(0 * one, 0 * one, 0.97 * one)) == pytest.approx(0.25 + math.asin(0.97) / (2 * math.pi))


def test_a_correlation_for_each_row_is_the_same_as_one_for_each_number() -> None:
    rng = np.random.default_rng(2)
    h, k = rng.normal(size=(9, 5)), rng.normal(size=(9, 5))
    rho = np.linspace(-0.99, 0.99, 9)[:, np.newaxis]
    np.testing.assert_allclose(
        normal_cdf(h, k, rho), normal_cdf(h, k, np.broadcast_to(rho, h.shape).copy()), atol=1e-12
    )


def test_slopes_are_differences() -> None:
    h, k, rho, step = np.array(0.4), np.array(-1.1), 0.7, 1e-5

    def at(x: FloatArray, y: FloatArray, r: float) -> float:
        return float(normal_cdf(x, y, np.array(r)))

    expected = [
        at(h + step, k, rho) - at(h - step, k, rho),
        at(h, k + step, rho) - at(h, k - step, rho),
        at(h, k, rho + step) - at(h, k, rho - step),
    ]
    np.testing.assert_allclose(normal_cdf_slopes(h, k, rho), np.array(expected) / (2 * step), atol=1e-6)


def test_cells_sum_to_the_margins() -> None:
    first, second = np.array([[-0.9, 0.0, 0.9]]), np.array([[-0.2, 1.0]])
    cells = cell_probabilities(first, second, np.array([0.8]))[0]
    np.testing.assert_allclose(cells.sum(axis=1), np.diff(ndtr(first[0]), prepend=0, append=1), atol=1e-9)
    np.testing.assert_allclose(cells.sum(axis=0), np.diff(ndtr(second[0]), prepend=0, append=1), atol=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9])
def test_boxes_of_three_numbers_have_the_cells_of_two_as_margins(rho: float) -> None:
    cuts = np.array([-0.9, 0.0, 0.9])
    boxes = Boxes(EqualNormals(3, rho), cuts)
    cells = cell_probabilities(cuts[np.newaxis], cuts[np.newaxis], np.array([rho]))[0]
    found = boxes.probabilities.reshape(4, 4, 4)
    for summed in (found.sum(axis=number) for number in range(3)):
        np.testing.assert_allclose(summed, cells, atol=1e-10)


def test_slopes_of_boxes_are_differences() -> None:
    """Moving all correlations together, or all means, moves the boxes as the sum of the slopes says."""
    cuts, step = np.array([-0.5, 0.8]), 1e-5
    slopes = Boxes(EqualNormals(3, 0.4), cuts).slopes
    ahead, back = (Boxes(EqualNormals(3, 0.4 + move), cuts).probabilities for move in (step, -step))
    np.testing.assert_allclose(slopes[:, 6:].sum(axis=1), (ahead - back) / (2 * step), atol=1e-8)
    left, right = (Boxes(EqualNormals(3, 0.4), cuts - move).probabilities for move in (step, -step))
    np.testing.assert_allclose(slopes[:, :6:2].sum(axis=1), (left - right) / (2 * step), atol=1e-8)
    narrow, wide = (Boxes(EqualNormals(3, 0.4), cuts / (1 + move)).probabilities for move in (step, -step))
    np.testing.assert_allclose(slopes[:, 1:6:2].sum(axis=1), (narrow - wide) / (2 * step), atol=1e-8)
