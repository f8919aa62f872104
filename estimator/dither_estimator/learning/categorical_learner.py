"""The learner of the shares of categories, whose posterior is computed afresh from the counts alone."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither_client import Query
from dither_estimator.categorical.posterior import estimate_shares, sketch_shares
from dither_estimator.categorical.questions import group_questions
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import CategoryShares
from dither_estimator.learning.recomputed_learner import SEED, RecomputedLearner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.policies.pool_size import answers_until_renewal

__all__ = ["CategoricalLearner"]

_POOL = 16
"""A pool has at least this many questions, and as many as there are categories: each tells only of a few groups."""
_DRAWS = 200
"""Questions follow from the mean of so many draws."""


class CategoricalLearner(RecomputedLearner[CategoryShares]):
    """The posterior of the shares of categories, which its particles are."""

    def _estimation(self, counts: Counts) -> Callable[[], CategoryShares]:
        names, particles = self.specification.categories, self.specification.particles

        def estimate() -> CategoryShares:
            return CategoryShares(names, estimate_shares(np.random.default_rng(SEED), counts, len(names), particles))

        return estimate

    def _draws(self, population: CategoryShares) -> FloatArray:
        return population.shares

    @property
    def particle_names(self) -> tuple[str, ...]:
        return self.specification.categories

    @property
    def _renews(self) -> bool:
        return len(self.specification.categories) > 2

    def _begin_epoch(self, epsilon: Fraction) -> int:
        return max(answers_until_renewal(self._answers, epsilon), self._answers)

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        categories = len(self.specification.categories)
        shares = sketch_shares(np.random.default_rng(SEED), self.counts, categories, _DRAWS)
        number = max(size, _POOL, categories)
        return tuple(group_questions(self._rng, shares, self.counts, epsilon, number, repeats * size / number))
