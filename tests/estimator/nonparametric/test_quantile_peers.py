"""A quantile by noisy binary search, which Dither is measured against."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.peers.noisy_search import binary_search, screening_search
from dither_estimator.families import FloatArray

POINTS = 256
GRID = np.linspace(-3.2, 3.2, POINTS + 1)[1:]
LEVELS = (0.1, 0.5, 0.9)


def levels_found(level: float, epsilon: float, screened: bool) -> FloatArray:
    """The levels of what 8 runs of 3,000 people of N(0, 1) find."""
    rng = np.random.default_rng(1)
    people = np.searchsorted(GRID, rng.standard_normal((8, 3_000)))
    if screened:
        found = screening_search(rng, people, POINTS, level, epsilon, 0.25)
    else:
        found = binary_search(rng, people, POINTS, level, epsilon)
    assert ((found >= 0) & (found < POINTS)).all()
    return np.asarray(stats.norm.cdf(GRID[found]))


@pytest.mark.parametrize("screened", [True, False], ids=["screening", "binary"])
def test_a_quantile_is_found(screened: bool) -> None:
    """The RMS error is at most 0.05, and that of a search for another level at least 0.3.

    With everybody at the quantile, a share corrected for randomised response at ε = 2 has an sd of 0.012 at most.
    """
    for level in LEVELS:
        found = levels_found(level, 2.0, screened)
        assert np.sqrt(np.square(found - level).mean()) < 0.05
        assert all(np.sqrt(np.square(found - other).mean()) > 0.3 for other in LEVELS if other != level)


def test_both_find_it_where_nearly_all_answers_are_true() -> None:
    screened, halved = (np.abs(levels_found(0.5, 8.0, each) - 0.5).mean() for each in (True, False))
    assert screened < 0.02
    assert halved < 0.05
