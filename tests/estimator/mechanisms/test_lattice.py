"""Lattice queries are dyadic, close to what was asked for, and have one name each."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import Laplace, Query, RandomizedResponse, Staircase
from dither_estimator.families import families
from dither_estimator.mechanisms.information import information
from dither_estimator.mechanisms.lattice import Address, addresses, edges_at, query_at, threshold

STANDARDS: list[Query] = [
    Laplace(-0.2, 1.8, 1, 1),
    Laplace(-1.75, 1.75, 4, 10),
    RandomizedResponse((0.75,), 1),
    RandomizedResponse((-0.701, 0.701), 1),
    RandomizedResponse((-1.5, -0.9, -0.4, 0.0, 0.4, 0.9, 1.5), 5),
    RandomizedResponse((-2.0, 0.88623046875, 0.88671875, 0.8868, 1.5), 1),
    Staircase((0.75,), [[0], [1]], [1, 1], 1),
    Staircase((-0.701, 0.0, 0.701), [[0, 1], [0, 3], [1, 2], [2, 3]], [3, 2, 2, 3], "0.1"),
]
ONE_LEVEL = Laplace(0, 1, 1, 1)
locations = st.floats(-1e6, 1e6)
scales = st.floats(-2, 9).map(lambda exponent: 10.0**exponent)


def address(standard: Query, location: float, scale: float) -> Address:
    return addresses(standard, np.array([location]), np.array([scale]))[0]


@pytest.mark.parametrize("step", [0.1, 3.0, 1e6])
def test_a_coarse_lattice_has_few_points(step: float) -> None:
    """Steps are within √2 of what is wanted, and so questions miss by no more than 0.71 of it."""
    wanted = np.linspace(-4 * step, 4 * step, 101)
    at = addresses(RandomizedResponse((0.0,), 1), wanted, np.full(101, 1e-3), step)
    edges = edges_at(RandomizedResponse((0.0,), 1), at)[0]
    assert np.abs(edges - wanted).max() <= 0.71 * step
    assert 5 <= len(np.unique(edges)) <= 13


def _dyadic(value: float, bits: int) -> bool:
    """Whether the value is an integer of so many bits times a power of two."""
    numerator, _ = abs(Fraction(value)).as_integer_ratio()
    return numerator == 0 or (numerator // (numerator & -numerator)).bit_length() <= bits


@given(st.sampled_from(STANDARDS), locations, scales)
def test_coordinates_are_near_and_dyadic(standard: Query, location: float, scale: float) -> None:
    at = address(standard, location, scale)
    query = query_at(standard, at, "identity")
    assert query.edges == pytest.approx(edges_at(standard, [at])[:, 0], rel=1e-12, abs=1e-12 * scale)
    wanted = location + scale * np.array(standard.edges)
    assert np.abs(np.array(query.edges) - wanted).max() < 0.3 * scale
    assert all(_dyadic(edge, 45) for edge in query.edges)
    assert query.epsilon == standard.epsilon


@given(st.integers(-(2**40), 2**40), st.integers(-60, 20))
def test_a_threshold_has_one_name(multiple: int, exponent: int) -> None:
    cut = multiple * 2.0**exponent
    query = threshold(cut, ONE_LEVEL, "identity")
    assert query.edges == (cut,)
    again = threshold(float(Fraction(multiple * 8) * Fraction(2) ** (exponent - 3)), ONE_LEVEL, "identity")
    assert query == again
    assert query.id == again.id


@pytest.mark.parametrize("standard", STANDARDS)
def test_rounding_costs_little_information(standard: Query) -> None:
    """Averaged over where the lattice happens to lie, at most 2% of the determinant or of F11."""
    family = families["normal"]
    rng = np.random.default_rng(1)
    exact = information(family, family.standard, standard)
    losses = []
    for _ in range(200):
        mu, sigma = rng.uniform(-100, 100), 2 ** rng.uniform(-3, 3)
        moved = query_at(standard, address(standard, mu, sigma), "identity")
        found = information(family, np.array([mu, sigma]), moved) * sigma**2
        losses.append(1 - found[0, 0] / exact[0, 0])
    assert abs(float(np.mean(losses))) < 0.02


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_dyadic_threshold_is_a_valid_query(cut: float) -> None:
    query = threshold(cut, ONE_LEVEL, "log")
    assert isinstance(query, Laplace)
    assert query.low < cut < query.high or cut == 0
    assert math.isclose(query.edges[0], cut, abs_tol=0)


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize(("location", "scale"), [(1e9, 1e-6), (-1e300, 1.0), (0.0, 1e-300), (1e-300, 1e250)])
def test_a_lattice_too_fine_for_floating_point_is_made_coarser(standard: Query, location: float, scale: float) -> None:
    at = address(standard, location, scale)
    assert query_at(standard, at, "identity").edges == tuple(edges_at(standard, [at])[:, 0])


@pytest.mark.parametrize("gap", [2.0**-11, 1e-4, 1e-9])
def test_cuts_that_lie_close_together_stay_apart(gap: float) -> None:
    """Cuts of a design with many levels may agree when rounded; four of them move by 4/1,024 at most."""
    cuts = (-1.0, *(0.88623046875 + gap * np.arange(4)).tolist(), 2.0)
    standard = RandomizedResponse(cuts, 1)
    for location, scale in ((0.0, 1.0), (2e9, 1e3), (-3e-6, 1e-6)):
        query = query_at(standard, address(standard, location, scale), "log")
        assert (np.diff(query.edges) > 0).all()
        assert query.n_cells == standard.n_cells
    near = np.array(query_at(standard, (0.0, 1.0), "identity").edges)
    assert np.abs(near - cuts).max() <= 4 / 1_024
    assert near[[0, -1]].tolist() == [-1.0, 2.0]
