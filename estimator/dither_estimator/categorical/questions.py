"""Which groups of categories to ask about: those whose answer reduces the variances of the shares most.

So categories that are likely stand apart, and those that hardly anybody has are put together. For equal shares the
groups have equal sizes, about e^ε + 1 of them, which is subset selection (Ye & Barg 2018), the best that there is then.

One question tells of a few groups, so it takes as many as there are categories to tell of all of them alike. Questions
that were asked before are candidates, too. That keeps their number small, and with it the work of every estimate; and
the best of many candidates is better than what one search finds.
"""

from fractions import Fraction

import numpy as np

from dither_client import GroupedRandomizedResponse, Query
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.reduction import covariance_after, expected_reduction, expected_reductions, members
from dither_estimator.categorical.search import best_groups, numbers_of_groups
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["group_questions", "posterior_moments"]

_MIN_VARIANCE = 1e-24
"""A variance below this is not told from 0."""
_CONCENTRATION, _MIN_EXCESS = 0.5, 1e-9
_WORTH_A_NEW_ONE = 1.05
"""A new question is asked if it reduces the variances by more than so many times what any known one does."""


def group_questions(
    rng: np.random.Generator,
    shares: FloatArray,
    counts: Counts,
    epsilon: Fraction,
    size: int,
    repeats: float,
) -> list[Query]:
    """`size` questions, each to be asked of about `repeats` people, by draws of the shares (n, categories).

    Each is about the best one after what the ones before it will tell: of those that `counts` has at this ε, of those
    just chosen, and of what a search finds with the number of groups that was best for the first.
    """
    mean, covariance = posterior_moments(shares, SharesLikelihood.of(counts, shares.shape[1]))
    known = _Known(len(mean), [query for query in counts if query.epsilon == epsilon])
    questions: list[Query] = []
    numbers = numbers_of_groups(len(mean), float(epsilon))
    for _ in range(size):
        labels, number = best_groups(rng, mean, covariance, numbers, float(epsilon))
        numbers = {number}
        question: Query = GroupedRandomizedResponse.of_labels(labels.tolist(), epsilon)
        reduction = expected_reduction(mean, covariance, question)
        question = known.as_good(mean, covariance, reduction / _WORTH_A_NEW_ONE) or known.with_new(question)
        questions.append(question)
        covariance = covariance_after(mean, covariance, question, repeats)
    return questions


class _Known:
    """Questions of one ε, which may be asked again."""

    def __init__(self, categories: int, questions: list[Query]) -> None:
        self._questions = questions
        rows = [members(np.array(question.labels), question.n_answers) for question in self._questions]
        self._members = np.concatenate([np.empty((0, categories)), *rows])

    def with_new(self, question: Query) -> Query:
        """The question, which is known from now on."""
        self._questions.append(question)
        self._members = np.concatenate([self._members, members(np.array(question.labels), question.n_answers)])
        return question

    def as_good(self, mean: FloatArray, covariance: FloatArray, reduction: float) -> Query | None:
        """The one that reduces the variances most, if that is at least by so much."""
        if not self._questions:
            return None
        groups = np.array([question.n_answers for question in self._questions])
        epsilon = float(self._questions[0].epsilon)
        found = expected_reductions(mean, covariance, self._members, groups, epsilon)
        best = int(found.argmax())
        return self._questions[best] if found[best] >= reduction else None


def posterior_moments(shares: FloatArray, likelihood: SharesLikelihood) -> tuple[FloatArray, FloatArray]:
    """The mean of the draws, and about the covariance of the shares: that of a normal distribution there.

    Not that of the draws: they vary little where a share is near 0 and where all are about equal, as the prior has it,
    and then a share that chance has made too small is hardly asked about again. Before the answers, shares have the
    variances of a Dirichlet distribution with these means that is as unequal as the draws, or as its parameters of 1/2.
    """
    mean, categories = shares.mean(axis=0), shares.shape[1]
    together = float((shares**2).sum(axis=1).mean())  # the chance that two people are of one category
    total = categories * min((1 - together) / max(categories * together - 1, _MIN_EXCESS), _CONCENTRATION)
    variances = np.maximum(mean * (1 - mean) / (total + 1), _MIN_VARIANCE)
    covariance = np.linalg.inv(likelihood.information(mean) + np.diag(1 / variances))
    beyond = covariance.sum(axis=0)  # shares sum to 1
    return mean, covariance - np.outer(beyond, beyond) / beyond.sum()
