"""The posterior of shares, by brute force for two, three and six categories."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm, qmc, t

from dither_client import GroupedRandomizedResponse, RandomizedResponse
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.posterior import estimate_shares, sketch_shares
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of

ALARM = norm.isf(1e-6 / 2)
"""Standard errors that one of a million seeds exceeds; the seeds are fixed."""
MEMORY = 3.0
"""The most that a chain's standard errors exceed those of independent draws, as a factor: chains have a memory."""
DRAWS = 20_000


def asked(*questions: tuple[list[list[int]], str, list[int]]) -> Counts:
    return {GroupedRandomizedResponse(groups, epsilon): np.array(row) for groups, epsilon, row in questions}


TWO = asked(([[0], [1]], "1", [40, 25]))
FEW = asked(([[0, 1], [2]], "1", [30, 10]), ([[0], [1, 2]], "2", [3, 20]), ([[0], [1], [2]], "4", [1, 2, 0]))
MANY = asked(
    ([[0, 1, 2], [3, 4, 5]], "2", [16, 6]),
    ([[0, 3], [1, 4], [2, 5]], "2", [12, 5, 5]),
    ([[0], [1], [2], [3, 4, 5]], "3", [14, 4, 2, 4]),
    ([[0, 1, 2, 3], [4], [5]], "3", [10, 1, 1]),
)


def moments(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Means and sds, shape (2, categories)."""
    weights = weights / weights.sum()
    mean = weights @ shares
    return np.array([mean, np.sqrt(weights @ (shares - mean) ** 2)])


def by_quadrature(counts: Counts, categories: int) -> FloatArray:
    """The moments of the shares on 2^20 points of equal prior probability, which fill the prior evenly."""
    points = np.clip(qmc.Sobol(categories + 1, rng=0).random_base2(20), 1e-12, 1 - 1e-12)
    spreads = 1.5 * np.exp(norm.ppf(points[:, :1]))
    log_weights = spreads * t(4).ppf(points[:, 1:])
    shares = softmax(log_weights, axis=1)
    likelihood = SharesLikelihood.of(counts, categories)
    log = np.log(shares @ likelihood.chances.T) @ likelihood.times
    return moments(shares, np.exp(log - log.max()))


def errors(found: FloatArray, exact: FloatArray) -> FloatArray:
    """How many standard errors the moments of the draws are off."""
    got = moments(found, np.ones(len(found)))
    fourth = ((found - got[0]) ** 4).mean(axis=0) / got[1] ** 4
    standard = np.array([exact[1], exact[1] * np.sqrt((fourth - 1) / 4)]) / np.sqrt(len(found))
    return np.asarray(np.abs(got - exact) / standard / MEMORY)


@pytest.mark.parametrize(("counts", "categories"), [(TWO, 2), (FEW, 3), (MANY, 6)])
def test_brute_force(counts: Counts, categories: int) -> None:
    found = estimate_shares(np.random.default_rng(1), counts, categories, DRAWS)
    assert found.sum(axis=1) == pytest.approx(1)
    assert errors(found, by_quadrature(counts, categories)).max() < ALARM


def test_answers_that_count_twice_are_noticed() -> None:
    """The broken variant: one answer of each kind is learnt twice."""
    more = {query: row + 1 for query, row in FEW.items()}
    found = estimate_shares(np.random.default_rng(1), more, 3, DRAWS)
    assert errors(found, by_quadrature(FEW, 3)).max() > ALARM


def off(found: FloatArray, exact: FloatArray) -> float:
    """The most that a mean of the draws is off, in posterior sds."""
    return float((np.abs(found.mean(axis=0) - exact[0]) / exact[1]).max())


@pytest.mark.parametrize(("counts", "categories"), [(TWO, 2), (FEW, 3), (MANY, 6)])
def test_a_sketch_has_about_the_posterior_means(counts: Counts, categories: int) -> None:
    """In sds it is off by 0.34, 0.44 and 0.29; equal shares, as if nothing had been learnt, by 1.7, 4.5 and 4.4."""
    exact = by_quadrature(counts, categories)
    assert off(sketch_shares(np.random.default_rng(2), counts, categories, DRAWS), exact) < 0.6
    assert off(np.full((1, categories), 1 / categories), exact) > 1.5


def test_before_any_answer_it_is_the_prior() -> None:
    """As the text of `prior` says how unequal it expects shares to be."""
    for categories, number in ((10, 4), (32, 8), (64, 14)):
        found = estimate_shares(np.random.default_rng(4), {}, categories, DRAWS)
        assert found.mean(axis=0) == pytest.approx(1 / categories, abs=0.02)
        largest_first = np.sort(found, axis=1)[:, ::-1].cumsum(axis=1)
        assert round(float((largest_first < 0.8).sum(axis=1).mean()) + 1) == number


def test_two_dominant_of_many_are_found_and_equal_ones_too() -> None:
    """Whose spreads differ by a factor of a hundred. A prior that expects one spread has both outside its intervals."""
    rng, categories = np.random.default_rng(6), 64
    questions = [
        GroupedRandomizedResponse.of_labels(rng.permutation(np.arange(categories) % 4).tolist(), "2") for _ in range(40)
    ]
    dominant, equal = np.zeros(categories), np.full(categories, 1 / categories)
    dominant[[3, 5]] = 0.6, 0.4
    for truth in (dominant, equal):
        counts: Counts = {query: rng.multinomial(75, truth @ channel_of(query).matrix) for query in questions}
        found = estimate_shares(rng, counts, categories, 1_000)
        expected, sds = found.mean(axis=0), found.std(axis=0)
        assert (np.abs(expected - truth)[[3, 5]] < 3 * sds[[3, 5]]).all()
        assert sds.max() < 0.05


@pytest.mark.parametrize("times", [10**3, 10**9])
@pytest.mark.parametrize("epsilon", ["0.01", "50"])
def test_extreme_counts_have_a_posterior(times: int, epsilon: str) -> None:
    """All answers alike, as no population would give them where ε is small, and where it is large."""
    counts = asked(([[0], [1, 2], [3]], epsilon, [times, 0, 0]))
    for draw in (estimate_shares, sketch_shares):
        found = draw(np.random.default_rng(5), counts, 4, 100)
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(1)
        assert found[:, 0].mean() > 0.5


def test_questions_about_anything_else_are_refused() -> None:
    for query in (RandomizedResponse([0.5], 1), GroupedRandomizedResponse([[0], [1]], 1)):
        with pytest.raises(ValueError, match="groups of the 3 categories"):
            SharesLikelihood.of({query: np.array([1, 1])}, 3)
