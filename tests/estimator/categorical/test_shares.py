"""The posterior of shares: by brute force for two and three categories, by another sampler for six."""

import numpy as np
import pytest
from scipy.stats import norm

from dither_client import GroupedRandomizedResponse, RandomizedResponse
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.posterior import CONCENTRATION, estimate_shares
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

ALARM = norm.isf(1e-6 / 2)
"""Standard errors that one of a million seeds exceeds; the seeds are fixed."""
MEMORY = 2.0
"""The most that a chain's standard errors exceed those of independent draws, as a factor: chains have a memory."""
DRAWS = 20_000


def asked(*questions: tuple[list[list[int]], str, list[int]]) -> Counts:
    return {GroupedRandomizedResponse(groups, epsilon): np.array(row) for groups, epsilon, row in questions}


TWO = asked(([[0], [1]], "1", [40, 25]))
FEW = asked(([[0, 1], [2]], "1", [30, 10]), ([[0], [1, 2]], "2", [3, 20]), ([[0], [1], [2]], "4", [1, 2, 0]))
MANY = asked(
    ([[0, 1, 2], [3, 4, 5]], "2", [80, 30]),
    ([[0, 3], [1, 4], [2, 5]], "2", [60, 25, 25]),
    ([[0], [1], [2], [3, 4, 5]], "3", [70, 20, 12, 20]),
    ([[0, 1, 2, 3], [4], [5]], "3", [50, 5, 3]),
)


def moments(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Means and sds, shape (2, categories)."""
    weights = weights / weights.sum()
    mean = weights @ shares
    return np.array([mean, np.sqrt(weights @ (shares - mean) ** 2)])


def by_quadrature(counts: Counts, categories: int, points: int = 600) -> FloatArray:
    """The moments of two or three shares, on a grid of equal prior probability.

    The first of three shares of Dirichlet(1/2, 1/2, 1/2) is Beta(1/2, 1), the square of a uniform, and what is left is
    split by the arcsine distribution.
    """
    middles = (np.arange(points) + 0.5) / points
    split = np.sin(middles * np.pi / 2) ** 2
    first = np.zeros(1) if categories == 2 else middles**2
    one, two = (axis.ravel() for axis in np.meshgrid(first, split))
    shares = np.column_stack([one, (1 - one) * two, (1 - one) * (1 - two)])[:, 3 - categories :]
    likelihood = SharesLikelihood.of(counts, categories)
    log = np.log(shares @ likelihood.chances.T) @ likelihood.times
    return moments(shares, np.exp(log - log.max()))


def by_augmentation(counts: Counts, categories: int) -> FloatArray:
    """The moments by Gibbs sampling: which category each answer came from, and shares given that."""
    rng, chains = np.random.default_rng(3), 100
    likelihood = SharesLikelihood.of(counts, categories)
    shares, kept = np.full((chains, categories), 1 / categories), []
    for turn in range(400):
        odds = likelihood.chances * shares[:, np.newaxis]
        odds /= odds.sum(axis=2, keepdims=True)
        told = rng.multinomial(likelihood.times.astype(int), odds).sum(axis=1)
        gammas = rng.standard_gamma(CONCENTRATION + told)
        shares = gammas / gammas.sum(axis=1, keepdims=True)
        if turn >= 100:
            kept.append(shares)
    found = np.concatenate(kept)
    return moments(found, np.ones(len(found)))


def errors(found: FloatArray, exact: FloatArray) -> FloatArray:
    """How many standard errors the moments of the draws are off."""
    got = moments(found, np.ones(len(found)))
    fourth = ((found - got[0]) ** 4).mean(axis=0) / got[1] ** 4
    standard = np.array([exact[1], exact[1] * np.sqrt((fourth - 1) / 4)]) / np.sqrt(len(found))
    return np.asarray(np.abs(got - exact) / standard / MEMORY)


@pytest.mark.parametrize(("counts", "categories"), [(TWO, 2), (FEW, 3)])
def test_brute_force(counts: Counts, categories: int) -> None:
    found = estimate_shares(np.random.default_rng(1), counts, categories, DRAWS)
    assert found.sum(axis=1) == pytest.approx(1)
    assert errors(found, by_quadrature(counts, categories)).max() < ALARM


def test_another_sampler() -> None:
    found = estimate_shares(np.random.default_rng(2), MANY, 6, DRAWS)
    assert errors(found, by_augmentation(MANY, 6)).max() < ALARM


def test_answers_that_count_twice_are_noticed() -> None:
    """The broken variant: one answer of each kind is learnt twice."""
    more = {query: row + 1 for query, row in FEW.items()}
    found = estimate_shares(np.random.default_rng(1), more, 3, DRAWS)
    assert errors(found, by_quadrature(FEW, 3)).max() > ALARM


def test_before_any_answer_it_is_the_prior() -> None:
    found = estimate_shares(np.random.default_rng(4), {}, 5, DRAWS)
    assert found.mean(axis=0) == pytest.approx(0.2, abs=0.02)
    assert found.var(axis=0) == pytest.approx(0.2 * 0.8 / (5 * CONCENTRATION + 1), rel=0.1)


@pytest.mark.parametrize("times", [10**3, 10**9])
@pytest.mark.parametrize("epsilon", ["0.01", "50"])
def test_extreme_counts_have_a_posterior(times: int, epsilon: str) -> None:
    """All answers alike, as no population would give them where ε is small, and where it is large."""
    counts = asked(([[0], [1, 2], [3]], epsilon, [times, 0, 0]))
    found = estimate_shares(np.random.default_rng(5), counts, 4, 100)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)
    assert found[:, 0].mean() > 0.5


def test_questions_about_anything_else_are_refused() -> None:
    for query in (RandomizedResponse([0.5], 1), GroupedRandomizedResponse([[0], [1]], 1)):
        with pytest.raises(ValueError, match="groups of the 3 categories"):
            SharesLikelihood.of({query: np.array([1, 1])}, 3)
