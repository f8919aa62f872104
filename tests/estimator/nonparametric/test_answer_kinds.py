"""Answers of few kinds, against the same answers in full tables."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.answer_kinds import AnswerKinds
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.support import Support

SUPPORT = Support(minimum=0.0, atoms=(3.0, 7.0))


def answered() -> Counts:
    """A few answers to queries of three channels, some with the same edges, and none to one of them."""
    rng = np.random.default_rng(1)
    queries: list[Query] = [
        *(RandomizedResponse(sorted(rng.uniform(0, 10, 4)), Fraction(2)) for _ in range(5)),
        RandomizedResponse((3.0, 7.0, 8.0, 9.0), Fraction(2)),
        RandomizedResponse((np.nextafter(3.0, 0.0), 3.0, 8.0, 9.0), Fraction(2)),
        RandomizedResponse((7.0,), Fraction(1, 2)),
        Laplace(2.0, 6.0, 8, Fraction(1)),
        Laplace(1.0, 9.0, 20, Fraction(1)),
    ]
    found = {query: rng.multinomial(8, np.full(query.n_answers, 1 / query.n_answers)) for query in queries}
    return {**found, RandomizedResponse((5.0,), 3): np.zeros(2, dtype=int)}


def in_full(observations: list[Observations], shares: FloatArray, below: Callable[[FloatArray], FloatArray]) -> float:
    """The log-likelihood of shares at the points, where all else has a distribution function of coordinates."""
    cdfs = (part.points_below @ shares[:-1] + shares[-1] * below(part.edges) for part in observations)
    return sum(part.log_likelihood(cdf) for part, cdf in zip(observations, cdfs, strict=True))


def test_the_log_likelihood_is_that_of_all_answers() -> None:
    observations = Observations.of(answered(), SUPPORT)
    kinds = AnswerKinds.of(observations, len(SUPPORT.points))
    laws = [stats.norm(1.0, 0.5), stats.norm(2.0, 2.0), stats.t(2)]
    below = np.column_stack([law.cdf(kinds.edges) for law in laws])
    shares = np.random.default_rng(2).dirichlet(np.ones(4), 3)
    expected = [in_full(observations, row, law.cdf) for row, law in zip(shares, laws, strict=True)]
    assert kinds.log_likelihood(shares, below) == pytest.approx(expected, rel=1e-12)
    alike = [in_full(observations, shares[0], law.cdf) for law in laws]
    assert kinds.log_likelihood(shares[:1], below) == pytest.approx(alike, rel=1e-12)


def test_chances_are_those_of_the_channels() -> None:
    counts = answered()
    kinds = AnswerKinds.of(Observations.of(counts, SUPPORT), len(SUPPORT.points))
    assert kinds.counts.sum() == sum(row.sum() for row in counts.values())
    assert len(kinds.counts) == sum((row > 0).sum() for row in counts.values())
    at_points = [
        np.array(query.channel())[np.searchsorted(query.edges, SUPPORT.points)][:, row > 0].T
        for query, row in counts.items()
        if row.any()
    ]
    by_chance = np.sort(np.concatenate(at_points), axis=0)
    assert np.sort(kinds.at_points, axis=0) == pytest.approx(by_chance, rel=1e-12)


def test_without_answers_there_are_no_kinds() -> None:
    kinds = AnswerKinds.of([], 1)
    assert kinds.log_likelihood(np.array([[0.5, 0.5]]), np.empty((0, 3))).tolist() == [0.0, 0.0, 0.0]
