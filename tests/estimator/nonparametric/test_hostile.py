"""Counts that nobody asked for: whatever they are, a posterior is finite, increases, and warns of nothing."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.questions import Templates, whole_questions
from dither_estimator.nonparametric.support import ANYWHERE, Support

POSITIVE = Support(minimum=0.0)
SHARES = Support(0.0, 1.0)
LEVELS = np.array([0.01, 0.25, 0.5, 0.75, 0.99])


def row(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def cut_at(cuts: Sequence[float], answer: int, number: int = 1, epsilon: Any = 1) -> Counts:
    """So many people with one answer to one question."""
    table = np.zeros(len(cuts) + 1, dtype=np.int64)
    table[answer] = number
    return {RandomizedResponse(cuts, epsilon): table}


def spread(cuts: Sequence[float], shares: Sequence[float], number: int, epsilon: Any = 1) -> Counts:
    """The expected counts of people of whom these shares lie in the cells."""
    query = RandomizedResponse(cuts, epsilon)
    return {query: np.rint(np.array(shares) @ channel_of(query).matrix * number).astype(np.int64)}


def many_queries() -> Counts:
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.normal(0.0, 3.0, (500, 4)), axis=1)
    return {RandomizedResponse(tuple(map(float, some)), 1): rng.multinomial(40, np.full(5, 0.2)) for some in cuts}


FAR = (1e15, 1e15 + 1, 1e15 + 2)
CASES: dict[str, tuple[Counts, Support]] = {
    "no answers": ({}, ANYWHERE),
    "rows of zeros": ({RandomizedResponse((0.0,), 1): row(0, 0)}, ANYWHERE),
    "one answer": (cut_at((0.0,), 1), ANYWHERE),
    "one answer on a bound": (cut_at((0.0,), 1), POSITIVE),
    "one answer beyond the support": (cut_at((5.0,), 1), SHARES),
    "all in one cell": (cut_at((0.0, 1.0, 2.0), 1, 5_000), ANYWHERE),
    "one question answered a thousand billion times": (
        cut_at((0.03479179563087735, 17.884540008984107, 1393.1464026057204), 2, 10**15 - 1),
        POSITIVE,
    ),
    "all above": (cut_at((0.0, 1.0, 2.0), 3, 5_000), ANYWHERE),
    "all below a bound": (cut_at((-1.0, 0.5), 0, 5_000), POSITIVE),
    "far": (spread(FAR, (0.2, 0.3, 0.3, 0.2), 5_000), ANYWHERE),
    "far beyond a bound": (spread(FAR, (0.2, 0.3, 0.3, 0.2), 5_000), POSITIVE),
    "the largest": (spread((-1e307, 1e307), (0.3, 0.4, 0.3), 5_000), ANYWHERE),
    "the largest and the smallest": (spread((-1e307, -1e-307, 1e-307, 1e307), (0.2,) * 5, 5_000), ANYWHERE),
    "the smallest": (spread((5e-324, 1e-323), (0.3, 0.4, 0.3), 5_000), POSITIVE),
    "wide apart": (spread((1e-300, 1.0, 1e300), (0.2, 0.3, 0.3, 0.2), 5_000), POSITIVE),
    "near a bound": (spread((math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)), (0.3, 0.4, 0.3), 5_000), SHARES),
    "many cuts": (spread(tuple(map(float, range(1_023))), (1 / 1_024,) * 1_024, 20_000, 5), ANYWHERE),
    "little privacy": (spread((0.0, 1.0, 2.0, 3.0), (0.0, 0.3, 0.4, 0.3, 0.0), 20_000, 20), ANYWHERE),
    "much privacy": (spread((0.0, 1.0, 2.0), (0.1, 0.4, 0.4, 0.1), 20_000, Fraction("0.01")), ANYWHERE),
    "much privacy, many answers": (spread((0.0, 1.0), (0.1, 0.8, 0.1), 10**9, Fraction("0.01")), ANYWHERE),
    "10⁹ answers": (spread((0.0, 1.0, 2.0), (0.1, 0.4, 0.4, 0.1), 10**9), ANYWHERE),
    "10⁹ answers, little privacy": (spread((0.0, 1.0, 2.0), (0.1, 0.4, 0.4, 0.1), 10**9, 20), ANYWHERE),
    "10⁹ answers in one cell, little privacy": (cut_at((0.0, 1.0, 2.0), 1, 10**9, 20), ANYWHERE),
    "impossible": (spread((0.0, 1.0), (1.0, -1.0, 1.0), 10**5), ANYWHERE),
    "500 queries": (many_queries(), ANYWHERE),
    "atoms that nobody has": (
        spread((-5e-324, 0.0, 1.0, 2.0), (0.3, 0.0, 0.2, 0.2, 0.3), 20_000, 2),
        Support(atoms=(0.0, 1.5)),
    ),
    "atoms that everybody has": (spread((-5e-324, 0.0), (0.0, 1.0, 0.0), 20_000, 2), Support(atoms=(0.0,))),
    "one of many atoms": (
        spread((4.5, 5.0), (0.5, 0.4, 0.1), 20_000, 2),
        Support(atoms=tuple(map(float, range(20)))),
    ),
    "atoms outside the questions": (spread((0.0, 1.0), (0.3, 0.4, 0.3), 5_000), Support(atoms=(-50.0, 70.0))),
    "an atom at each bound": (spread((0.0, 0.5), (0.4, 0.2, 0.4), 5_000), Support(0.0, 1.0, (0.0, 1.0))),
    "an interval": ({Laplace(-1e300, 1e300, 64, 1): row(*range(65))}, ANYWHERE),
}


def check(found: Distribution, counts: Counts) -> None:
    cuts = np.unique([edge for query in counts for edge in query.edges] + [-1.0, 0.5, 2.0])
    cdf = found.cdf(cuts)
    assert np.isfinite(found.masses).all()
    assert found.masses.sum(axis=1) == pytest.approx(1)
    assert (np.diff(cdf.values, axis=1) > -1e-9).all()
    assert (cdf.values > -1e-9).all()
    assert (cdf.values < 1 + 1e-9).all()
    quantiles = found.quantile(LEVELS).values
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.isfinite(found.density(cuts).values).all()
    mean = found.mean_value
    assert mean is None or np.isfinite(mean.values).all()


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_is_sane_and_there_are_questions(case: str) -> None:
    counts, support = CASES[case]
    rng = np.random.default_rng(1)
    found = estimate_distribution(rng, counts, support, 100)
    check(found, counts)
    for template in (RandomizedResponse((0.0,), 1), Laplace(0.0, 1.0, 1, 1), Laplace(0.0, 1.0, 64, 1)):
        queries: list[Query] = whole_questions(found, Templates.of(template), None, 8, counts)
        assert all(low < high for query in queries for low, high in pairwise(query.edges))


@pytest.mark.parametrize("number", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("epsilon", [1, 20])
def test_shares_between_cuts_are_those_of_the_answers(number: int, epsilon: int) -> None:
    shares = np.array([0.1, 0.4, 0.2, 0.3])
    counts = spread((0.0, 1.0, 2.0), tuple(shares), number, epsilon)
    found = estimate_distribution(np.random.default_rng(2), counts, size=300).cdf(np.array([0.0, 1.0, 2.0]))
    assert np.abs(found.mean - np.cumsum(shares)[:3]).max() < 5 / math.sqrt(number)
    assert (found.sd > 0.1 / math.sqrt(number)).all()
    assert (found.sd < 5 / math.sqrt(number)).all()


@pytest.mark.parametrize(
    "support",
    [
        Support(minimum=-1e17, atoms=(1, 2, 3, 4, 5)),
        Support(atoms=(5e-324, 1e-323, 1.5e-323, 2e-323, 2.5e-323)),
        Support(atoms=(-1e300, -1, 0, 1, 1e300)),
    ],
)
def test_many_atoms_may_be_as_close_or_as_far_as_numbers_can_be(support: Support) -> None:
    """A bound may be so far from all of them that they have one coordinate."""
    for counts in ({}, cut_at((2.0,), 1, 40)):
        check(estimate_distribution(np.random.default_rng(1), counts, support, 100), counts)


def test_of_one_answer_little_is_known() -> None:
    band = estimate_distribution(np.random.default_rng(3), cut_at((0.0,), 1)).cdf(np.array([-10.0, 0.0, 10.0]))
    assert (band.sd > 0.2).all()
    assert 0.2 < band.mean[1] < 0.5


def test_an_atom_that_everybody_has_has_everybody() -> None:
    counts, support = CASES["atoms that everybody has"]
    shares = estimate_distribution(np.random.default_rng(4), counts, support).atom_shares
    assert shares.mean[0] > 0.95


@pytest.mark.parametrize(("epsilon", "declared"), [("0.5", True), ("2", True), ("2", False)])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.0, 250.0)])
def test_where_all_people_are_at_two_points_their_shares_are_those_of_the_answers(
    ends: tuple[float, float], epsilon: str, declared: bool
) -> None:
    """Where the others lie is never found out, as there are none; the sd is that of a share known by a threshold alone.

    Nobody is between the maximum and the number before it, nor much nearer to a bound than people were asked about.
    """
    low, high = ends
    support, below = Support(low, high, ends if declared else ()), math.nextafter(high, low)
    middle, truth, number = (low + high) / 2, (0.7, 0.3), 3_000
    parts = [
        spread((low,), truth, number // 4, epsilon),
        spread((below,), truth, number // 4, epsilon),
        spread((low, middle), (0.7, 0.0, 0.3), number // 4, epsilon),
        spread((middle, below), (0.7, 0.0, 0.3), number // 4, epsilon),
    ]
    counts = {query: row for part in parts for query, row in part.items()}
    shares = estimate_distribution(np.random.default_rng(4), counts, support).atom_shares
    told = math.tanh(float(epsilon) / 2) / 2
    sd = math.sqrt(0.25 - (2 * told * 0.2) ** 2) / (2 * told) / math.sqrt(number)
    assert np.abs(shares.mean - np.array(truth)).max() < 1.5 * sd
    assert (shares.sd > 0.7 * sd).all()
    assert (shares.sd < 2 * sd).all()


def test_an_atom_that_nobody_has_has_nobody() -> None:
    counts, support = CASES["atoms that nobody has"]
    assert estimate_distribution(np.random.default_rng(5), counts, support).atom_shares.mean[0] < 0.03


@pytest.mark.parametrize("told", [(26, 8, 26), (26, 2, 32), (20, 13, 27)])
def test_of_few_answers_an_atom_may_have_what_its_prior_and_they_leave_open(told: tuple[int, ...]) -> None:
    """By noise alone 13 of 60 people say that they are at the atom: fewer do not show that nobody is.

    Held against draws from the prior that are weighted by the answers, with all else evenly on either side.
    """
    support = Support(0.0, 1000.0, (500.0,))
    query = RandomizedResponse((math.nextafter(500, 0), 500.0), 1)
    shares = estimate_distribution(np.random.default_rng(6), {query: row(*told)}, support, 2_000).masses[:, -2]
    rng = np.random.default_rng(7)
    odds = np.exp(support.log_odds + rng.standard_normal((200_000, 3)) @ support.log_odds_root.T)
    first, atom, last = (odds / (1 + odds.sum(axis=1, keepdims=True))).T
    below = first + (1 - first - atom - last) * rng.random(len(atom))
    chances = np.stack([below, atom, 1 - below - atom], axis=1) @ channel_of(query).matrix
    weights = np.exp(np.log(chances) @ np.array(told) - np.log(chances).dot(told).max())
    low, middle = np.quantile(atom, [0.05, 0.5], weights=weights, method="inverted_cdf")
    assert low / 8 < np.quantile(shares, 0.05) < middle
    assert middle / 2 < np.quantile(shares, 0.5) < 2 * middle


@pytest.mark.parametrize("counts", [{RandomizedResponse((0.0,), 1, "log"): row(1, 2)}])
def test_questions_on_another_scale_are_refused(counts: Counts) -> None:
    with pytest.raises(ValueError, match="units of values"):
        estimate_distribution(np.random.default_rng(6), counts)
    with pytest.raises(ValueError, match="units of values"):
        estimate_distribution(np.random.default_rng(6), {**counts, RandomizedResponse((0.0,), 1): row(3, 4)})
