"""Moments of weighted particles against exact arithmetic, near 0 and far from it, narrow and wide."""

from collections.abc import Iterable
from fractions import Fraction
from operator import mul

import numpy as np
import numpy.typing as npt
import pytest

from dither_estimator.weighted.moments import Moments, weighted_mean

Floats = npt.NDArray[np.float64]

PLACES = [(0.0, 1.0), (0.0, 1e-70), (1e70, 1e60), (1e9, 1e-6), (-3e15, 10.0), (1e-9, 1e-12), (12.0, 1e-13)]
"""Where two of the parameters lie, and how wide the particles are there."""
SIZE = 300


def particles(centre: float, width: float, seed: int, spread: float) -> tuple[Floats, Floats]:
    """Particles (n, 3), the third parameter being of ordinary size, and weights that differ by a factor `e^spread`."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((SIZE, 3)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 0.9]])
    values = z * [width, width, 1.0] + [centre, -centre, 0.5]
    weights = np.exp(spread * rng.standard_normal(SIZE))
    return values, weights / weights.sum()


def exact(values: Floats, weights: Floats) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Mean and covariance in rational arithmetic, with weights that sum to 1 exactly."""
    shares = [Fraction(weight) for weight in weights.tolist()]

    def mean(numbers: Iterable[Fraction]) -> Fraction:
        terms = (share * number for share, number in zip(shares, numbers, strict=True))
        return sum(terms, Fraction(0)) / sum(shares, Fraction(0))

    columns = [[Fraction(x) for x in column] for column in values.T.tolist()]
    means = [mean(column) for column in columns]
    apart = [[x - middle for x in column] for column, middle in zip(columns, means, strict=True)]
    return means, [[mean(map(mul, one, other)) for other in apart] for one in apart]


def check_mean(found: Floats, means: list[Fraction], sds: list[float]) -> None:
    """Within one unit in the last place, or a tiny share of an sd where that is more."""
    for x, mean, sd in zip(found.tolist(), means, sds, strict=True):
        assert abs(Fraction(x) - mean) <= Fraction(float(np.spacing(abs(x)))) + Fraction(1e-13 * sd)


@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(("centre", "width"), PLACES)
def test_moments_are_exact_to_rounding(centre: float, width: float, spread: float) -> None:
    values, weights = particles(centre, width, 1, spread)
    means, covariance = exact(values, weights)
    sds = [float(covariance[j][j]) ** 0.5 for j in range(3)]
    found = Moments.of(values, weights)
    check_mean(found.mean, means, sds)
    check_mean(weighted_mean(values, weights), means, sds)
    check_mean(np.array([weighted_mean(column, weights) for column in values.T]), means, sds)
    assert found.sd == pytest.approx(sds, rel=1e-12)
    scaled = found.covariance / np.outer(found.sd, found.sd)
    expected = [[float(x) / (sds[i] * sds[j]) for j, x in enumerate(row)] for i, row in enumerate(covariance)]
    assert scaled == pytest.approx(np.array(expected), abs=1e-12)


def test_moments_about_zero_would_be_found_wrong() -> None:
    values, weights = particles(1e9, 1e-6, 1, 1.0)
    means, covariance = exact(values, weights)
    sds = [float(covariance[j][j]) ** 0.5 for j in range(3)]
    naive = weights @ values
    with pytest.raises(AssertionError):
        check_mean(naive, means, sds)
    naive_sd = np.sqrt(weights @ (values - naive) ** 2)
    assert naive_sd != pytest.approx(sds, rel=1e-3)


def test_numpy_has_the_same_where_nothing_is_extreme() -> None:
    values, weights = particles(2.0, 3.0, 4, 1.0)
    found = Moments.of(values, weights)
    assert found.mean == pytest.approx(np.average(values, axis=0, weights=weights), rel=1e-13)
    assert found.covariance == pytest.approx(np.cov(values.T, aweights=weights, ddof=0), rel=1e-12)


def test_particles_that_are_all_equal() -> None:
    found = Moments.of(np.full((5, 2), [1e9, -0.1]), np.full(5, 0.2))
    assert found.mean.tolist() == [1e9, -0.1]
    assert found.covariance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    scale, correlation = found.standardised()
    assert (scale > 0).all()
    np.linalg.cholesky(correlation)


def test_distances_are_mahalanobis() -> None:
    values, weights = particles(0.0, 2.0, 2, 1.0)
    found = Moments.of(values, weights)
    apart = np.array([1.0, -2.0, 0.5])
    expected = np.sqrt(apart @ np.linalg.solve(found.covariance, apart))
    assert found.distance(found.mean + apart) == pytest.approx(expected, rel=1e-6)
    assert found.distance(found.mean) == 0.0
