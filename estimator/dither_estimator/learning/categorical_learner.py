"""The learner of the shares of categories, whose posterior is computed afresh from the counts alone."""

from fractions import Fraction

import numpy as np

from dither_client import Query
from dither_estimator.categorical.posterior import estimate_shares
from dither_estimator.categorical.questions import group_questions
from dither_estimator.families import FloatArray
from dither_estimator.learning.population import CategoryShares
from dither_estimator.learning.recomputed_learner import SEED, RecomputedLearner
from dither_estimator.policies.pool_size import answers_until_renewal

__all__ = ["CategoricalLearner"]

_POOL = 16
"""A pool has at least this many questions, and as many as there are categories: each tells only of a few groups."""


class CategoricalLearner(RecomputedLearner):
    """The posterior of the shares of categories, which its particles are."""

    _shares: FloatArray | None = None

    def _forget(self) -> None:
        self._shares = None

    def _population(self) -> CategoryShares:
        return CategoryShares(self.specification.categories, self._current())

    @property
    def particle_names(self) -> tuple[str, ...]:
        return self.specification.categories

    def particles(self) -> tuple[FloatArray, FloatArray]:
        shares = self._current()
        return shares, np.full(len(shares), 1 / len(shares))

    @property
    def _renews(self) -> bool:
        return len(self.specification.categories) > 2

    def _begin_epoch(self, epsilon: Fraction) -> int:
        return max(answers_until_renewal(self._answers, epsilon), self._answers)

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        counts, shares = self.counts, self._current()
        number = max(size, _POOL, shares.shape[1])
        return tuple(group_questions(self._rng, shares, counts, epsilon, number, repeats * size / number))

    def _current(self) -> FloatArray:
        counts = self.counts
        if self._shares is None:
            rng, categories = np.random.default_rng(SEED), len(self.specification.categories)
            self._shares = estimate_shares(rng, counts, categories, self.specification.particles)
            self._estimates += 1
        return self._shares
