"""Simulation-based calibration in short; `python -m benchmarks.calibration_without_family` lets a learner ask."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from benchmarks.calibration import pvalues
from benchmarks.calibration_without_family import drawn_member, drawn_population, ranks
from dither_client import RandomizedResponse
from dither_estimator.checks.averaging import averaged
from dither_estimator.checks.family_fits import fit_families
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


def smallest_pvalue(times: int = 1, favour: float = 0.0) -> float:
    """With a posterior that takes each answer for so many, and favours families by so many nats."""
    rng, middle = np.random.default_rng(16), ShapedBase(np.zeros(5))
    around = Distribution(ANYWHERE, middle, np.full((1, BINS), 1 / BINS))
    queries = quantile_questions(around, Templates.of(RandomizedResponse((0.0,), Fraction(2))), 6)
    found: list[FloatArray] = []
    for draw in range(DRAWS):
        truth = drawn_member(rng, PLACE_SD) if draw % 2 else drawn_population(rng, PLACE_SD)
        known = KnownPopulation(lambda x, truth=truth: truth.cdf(x).values[0], np.zeros(1))  # type: ignore[misc]
        counts = {query: rng.multinomial(ANSWERS // len(queries), known.chances(query)) for query in queries}
        believed = {query: times * row for query, row in counts.items()}
        without = estimate_distribution(rng, believed, size=200)
        fits = fit_families(believed, without)
        average = averaged(rng, without, believed, replace(fits, none=fits.none - favour))
        found.append(ranks(average, truth, counts))
    return float(pvalues(np.array(found)).min())


def test_ranks_are_uniform_unless_answers_count_three_times_or_only_families_can_hold() -> None:
    """Half of the truths have no family. Then ranks are those of families that are wrong."""
    assert smallest_pvalue() > LIMIT
    assert smallest_pvalue(times=3) < LIMIT
    assert smallest_pvalue(favour=50.0) < LIMIT
