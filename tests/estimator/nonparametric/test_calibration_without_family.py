"""Simulation-based calibration in short; `python -m benchmarks.calibration_without_family` lets a learner ask."""

from fractions import Fraction

import numpy as np

from benchmarks.calibration import pvalues
from benchmarks.calibration_without_family import drawn_population, ranks
from dither_client import RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import ShapedBase
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.questions import Templates, quantile_questions
from dither_estimator.nonparametric.support import ANYWHERE

DRAWS = 60
ANSWERS = 2_000
PLACE_SD = (0.3, 0.2)
"""Wide beside what so many answers leave unknown, and narrow enough that the same questions suit all truths."""
LIMIT = 1e-3 / 16
"""A right posterior has any of 16 p-values below it for one in 1,000 seeds."""


def smallest_pvalue(times: int) -> float:
    """With a posterior that takes each answer for so many."""
    rng, middle = np.random.default_rng(16), ShapedBase(np.zeros(5))
    around = Distribution(ANYWHERE, middle, np.full((1, BINS), 1 / BINS))
    queries = quantile_questions(around, Templates.of(RandomizedResponse((0.0,), Fraction(2))), 6)
    found: list[FloatArray] = []
    for _ in range(DRAWS):
        truth = drawn_population(rng, PLACE_SD)
        known = KnownPopulation(lambda x, truth=truth: truth.cdf(x).values[0], np.zeros(1))  # type: ignore[misc]
        counts = {query: rng.multinomial(ANSWERS // len(queries), known.chances(query)) for query in queries}
        believed = {query: times * row for query, row in counts.items()}
        found.append(ranks(estimate_distribution(rng, believed, size=200), truth, counts))
    return float(pvalues(np.array(found)).min())


def test_ranks_are_uniform_unless_answers_count_three_times() -> None:
    assert smallest_pvalue(1) > LIMIT
    assert smallest_pvalue(3) < LIMIT
