"""Which groups are asked about: as good as the best of all, for few categories, and apart what is likely."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dither_client import GroupedRandomizedResponse
from dither_estimator.categorical.likelihood import SharesLikelihood, answer_chances
from dither_estimator.categorical.questions import group_questions, posterior_moments
from dither_estimator.categorical.reduction import expected_reduction
from dither_estimator.families import FloatArray
from dither_estimator.learning.learners import new_learner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.specification.specification import Specification


def partitions(categories: int) -> Iterator[list[int]]:
    """The labels of every division into two groups or more."""

    def more(labels: list[int]) -> Iterator[list[int]]:
        if len(labels) == categories:
            if max(labels) > 0:
                yield labels
            return
        for label in range(max(labels) + 2):
            yield from more([*labels, label])

    return more([0])


def by_simulation(draws: FloatArray, query: GroupedRandomizedResponse) -> float:
    """The expected reduction of the variances by one answer, from weighted draws."""
    chances = draws @ answer_chances(query).T
    after = 0.0
    for column in chances.T:
        weights = column / column.sum()
        mean = weights @ draws
        after += column.mean() * float((weights @ (draws - mean) ** 2).sum())
    return float(draws.var(axis=0).sum()) - after


@pytest.mark.parametrize("labels", [[0, 0, 1, 2], [0, 1, 1, 1], [0, 1, 2, 3]])
def test_the_reduction_is_that_of_the_posterior(labels: list[int]) -> None:
    draws = np.random.default_rng(1).dirichlet([3, 2, 1, 1], 2_000)
    query = GroupedRandomizedResponse.of_labels(labels, "1.5")
    found = expected_reduction(draws.mean(axis=0), np.cov(draws.T, bias=True), query)
    assert found == pytest.approx(by_simulation(draws, query), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
@pytest.mark.parametrize("weights", [[2, 2, 2, 2, 2, 2], [60, 20, 10, 5, 3, 2]])
def test_the_search_finds_nearly_the_best(weights: list[int], epsilon: str) -> None:
    """Within 3% of the best of all 202 divisions of six categories, by the search's own moments."""
    rng = np.random.default_rng(2)
    draws = rng.dirichlet(np.array(weights), 4_000)
    nothing = SharesLikelihood.of({}, 6)
    [question] = group_questions(rng, draws, {}, Fraction(epsilon), 1, 1)
    mean, covariance = posterior_moments(draws, nothing)
    every = [
        expected_reduction(mean, covariance, GroupedRandomizedResponse.of_labels(labels, epsilon))
        for labels in partitions(6)
    ]
    assert len(every) == 202
    assert expected_reduction(mean, covariance, question) > 0.97 * max(every)
    assert np.median(every) < 0.97 * max(every)


def test_the_next_question_is_another_one() -> None:
    rng = np.random.default_rng(3)
    draws = rng.dirichlet(np.ones(8), 1_000)
    questions = group_questions(rng, draws, {}, Fraction(1), 8, 100)
    assert len(set(questions)) == 8
    pairs = [(i, j) for i in range(8) for j in range(i)]
    together = {(i, j) for query in questions for i, j in pairs if query.labels[i] == query.labels[j]}
    apart = [{(i, j) for i, j in pairs if query.labels[i] != query.labels[j]} for query in questions]
    assert len(set.union(*apart)) == 28, "every two categories are told apart by some question"
    assert len(together) > 14


def lost(size: int) -> float:
    """What a pool about 32 equal shares lacks of the information of subset selection, by the sum of variances."""
    rng, truth = np.random.default_rng(4), np.full(32, 1 / 32)
    draws = rng.dirichlet(np.full(32, 20.0), 1_000)
    questions = group_questions(rng, draws, {}, Fraction(1), size, 20_000 / size)
    asked = SharesLikelihood.of({query: np.full(query.n_answers, 10**6) for query in questions}, 32)
    weights = asked.chances @ truth / len(questions)
    information = SharesLikelihood(asked.chances, weights).information(truth)
    inside = np.linalg.svd(np.eye(32) - 1 / 32)[0][:, :-1]
    own = 8 * math.e / (8 * math.e + 24)  # sets of eight
    other = (own * 7 + (1 - own) * 8) / 31
    named = (own + 31 * other) / 32
    return 1 - 32 * named * (1 - named) / (own - other) ** 2 / np.trace(np.linalg.inv(inside.T @ information @ inside))


def test_as_many_questions_as_categories_are_nearly_subset_selection() -> None:
    assert lost(32) < 0.06
    assert lost(16) > 0.1, "half as many do not tell all categories apart"
    learner = new_learner(
        Specification.from_json({"family": "categorical", "categories": list(map(str, range(32))), "epsilon": 1}), 1
    )
    assert len(learner.pool()) == 32


def test_questions_are_asked_again() -> None:
    """Where the counts have good ones already, at the same ε."""
    rng = np.random.default_rng(5)
    draws = rng.dirichlet(np.full(8, 20.0), 1_000)
    first = group_questions(rng, draws, {}, Fraction(1), 64, 50)
    assert len(set(first)) < 40
    counts: Counts = {query: np.full(query.n_answers, 50) for query in first}
    again = group_questions(rng, draws, counts, Fraction(1), 16, 50)
    assert len(set(again) - set(first)) <= 2
    assert not set(first) & set(group_questions(rng, draws, counts, Fraction(2), 16, 50))
