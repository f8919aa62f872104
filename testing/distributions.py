"""Populations without a family, and the answers of people who are asked about them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dither_client import Query, RandomizedResponse
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.base import FittedBase, ShapedBase
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.questions import Templates, quantile_questions
from dither_estimator.nonparametric.support import ANYWHERE, Support

__all__ = ["ATOM", "EPSILON", "NORMAL", "asked", "questions_around"]

EPSILON = Fraction(1)
ATOM = 45.0
NORMAL = ShapedBase(np.array([50.0, np.log(10.0), 0.0, 0.0, -2.0]))


def asked(rng: np.random.Generator, queries: list[Query], cdf: Callable[[Any], Any], people: int) -> Counts:
    """Counts of so many people's answers, each asked one of the queries, from a population with this CDF."""
    table: dict[Query, Any] = {}
    for query, number in zip(queries, rng.multinomial(people, np.full(len(queries), 1 / len(queries))), strict=True):
        cells = np.diff(np.concatenate([[0.0], cdf(np.array(query.edges)), [1.0]]))
        table[query] = rng.multinomial(number, cells @ channel_of(query).matrix)
    return {query: row for query, row in table.items() if row.any()}


def questions_around(
    base: FittedBase, epsilon: Fraction = EPSILON, support: Support = ANYWHERE, cells: int = 5
) -> list[Query]:
    """Questions of randomized response that cut this base, and the points of its support, into equal parts."""
    share = 1 / (1 + len(support.points))
    masses = np.concatenate([np.full(BINS, share / BINS), np.full(len(support.points), share)])
    distribution = Distribution(support, base, masses[np.newaxis])
    return quantile_questions(distribution, Templates.of(RandomizedResponse((0.0,), epsilon)), cells)


ATOM = 45.0
