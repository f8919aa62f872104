"""The likelihood against the definition, and expected variance reduction against enumeration."""

from itertools import pairwise

import numpy as np
import pytest
from oracle import answer_probabilities, random_table
from scipy import stats
from scipy_families import ORACLES

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.families import families
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.mechanisms.channels import channel_of, group_queries
from dither_estimator.policies.variance_reduction import Predictions

NORMAL = families["normal"]


def test_probabilities_follow_the_definition() -> None:
    rng = np.random.default_rng(1)
    theta = np.column_stack([rng.normal(0, 2, 50), np.exp(rng.normal(0, 1, 50))])
    queries: list[Query] = [
        Laplace(-1, 1, 1, 1),
        Laplace(-2, 1, 7, "0.3"),
        RandomizedResponse((-1, 0.5, 2), 4),
        Laplace(0, 3, 1, 1),
    ]
    for group in group_queries(queries):
        shares = group.probabilities(NORMAL, theta)
        assert shares.sum(axis=1) == pytest.approx(1)
        for place, query in enumerate(group.queries):
            assert queries[group.indices[place]] is query
            exact = answer_probabilities(query, stats.norm(*theta.T))
            assert shares[:, :, place] == pytest.approx(exact.T, rel=1e-9)


def test_log_likelihood_of_a_table_is_the_sum_over_its_answers() -> None:
    rng = np.random.default_rng(2)
    table = random_table(rng, ORACLES["normal"], (3.0, 2.0), 500)
    theta = np.array([(3.0, 2.0), (4.0, 4.0)])
    exact = sum(counts @ np.log(answer_probabilities(query, stats.norm(*theta.T))) for query, counts in table.items())
    assert CountLikelihood.of(NORMAL, check_counts(table)).log_likelihood(theta) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "20"])
def test_answers_that_never_came_are_passed_over(epsilon: str) -> None:
    """Thresholds with either answer, with both or with none, against the sum over all of them: to 1e-12."""
    rng = np.random.default_rng(4)
    rows = [[1, 0], [0, 3], [2, 5], [0, 0], [0, 1], [7, 0], [4, 4]]
    theta = np.column_stack([rng.normal(0, 2, 20), np.exp(rng.normal(0, 1, 20))])
    table: dict[Query, list[int]] = {Laplace(2 * i - 8, 2 * i - 6, 1, epsilon): row for i, row in enumerate(rows)}
    counts = {query: np.array(row) for query, row in table.items()}
    (group,) = group_queries(table)
    every = np.einsum("naq,qa->n", np.log(group.probabilities(NORMAL, theta)), np.array(rows, dtype=float))
    assert CountLikelihood.of(NORMAL, counts).log_likelihood(theta) == pytest.approx(every, rel=1e-12)


def test_probabilities_never_fall_below_the_channel() -> None:
    """Where rounding would make a probability zero or negative, the channel's least entry holds it up."""
    query = Laplace(0, 1, 8, 50)
    shares = group_queries([query])[0].probabilities(NORMAL, np.array([[1e9, 1e-3], [-1e9, 1e-3]]))
    assert (shares[:, :, 0] >= channel_of(query).floor).all()
    assert np.isfinite(np.log(shares)).all()


def test_channels_are_shared_between_queries_of_one_shape() -> None:
    assert channel_of(Laplace(0, 1, 3, 1)) is channel_of(Laplace(5, 9, 3, "1.0"))
    assert channel_of(Laplace(0, 1, 3, 1)) is not channel_of(Laplace(0, 1, 3, 2))


def test_expected_reduction_by_enumeration() -> None:
    """`Var θ - E Var(θ | answer)`, with the posterior after each answer computed outright."""
    rng = np.random.default_rng(3)
    theta = np.column_stack([rng.normal(0, 2, 400), np.exp(rng.normal(0, 0.5, 400))])
    queries: list[Query] = [Laplace(-1, 2, 1, 1), RandomizedResponse((-1, 0.5), 2), Laplace(-3, 1, 5, 3)]
    predictions = Predictions.of(NORMAL, theta, theta, group_queries(queries))
    found = [predictions.covariances[:, a:b] @ predictions.covariances[:, a:b].T for a, b in pairwise(predictions.ends)]
    for query, reduction in zip(queries, found, strict=True):
        remaining = np.zeros((2, 2))
        for weights in answer_probabilities(query, stats.norm(*theta.T)):
            remaining += weights.mean() * np.cov(theta.T, aweights=weights, bias=True)
        assert reduction == pytest.approx(np.cov(theta.T, bias=True) - remaining, abs=1e-9)
