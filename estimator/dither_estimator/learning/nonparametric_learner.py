"""The learner of a distribution without a family, whose posterior is computed afresh from the counts alone."""

from fractions import Fraction

import numpy as np

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.goal_questions import goal_questions
from dither_estimator.learning.population import QUANTILE_LEVELS, DistributionPopulation
from dither_estimator.learning.recomputed_learner import SEED, RecomputedLearner
from dither_estimator.nonparametric.cell_design import DISTINCT
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.policies.pool_size import answers_until_renewal

__all__ = ["NonparametricLearner"]

_RENEWAL_DIVISOR = 6
"""A pool serves one answer per this many learnt."""
_LATE = 4_000
_LATE_RENEWAL_DIVISOR = 3
"""The same from so many answers on: then it changes slowly where cells are best."""


class NonparametricLearner(RecomputedLearner):
    """The posterior of a distribution without a family. Its particles are quantiles, in the values' own units."""

    _most_questions = DISTINCT
    _distribution: Distribution | None = None

    def _forget(self) -> None:
        self._distribution = None

    def _population(self) -> DistributionPopulation:
        return DistributionPopulation(self.distribution, self.counts)

    @property
    def particle_names(self) -> tuple[str, ...]:
        return tuple(f"quantile_{level:.12g}" for level in self._levels)

    def particles(self) -> tuple[FloatArray, FloatArray]:
        values = self.distribution.quantile(np.array(self._levels)).values
        return values, np.full(len(values), 1 / len(values))

    @property
    def _levels(self) -> list[float]:
        return sorted({*QUANTILE_LEVELS, *self.specification.goal.levels})

    @property
    def _renews(self) -> bool:
        return self.specification.policy.name != "fixed"

    def _begin_epoch(self, epsilon: Fraction) -> int:
        divisor = _RENEWAL_DIVISOR if self._answers < _LATE else _LATE_RENEWAL_DIVISOR
        return max(answers_until_renewal(self._answers, epsilon), self._answers // divisor)

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        spec = self.specification
        fixed = spec.fixed_query(epsilon)
        if fixed is not None:
            return (fixed,)
        cells = None if spec.levels is None else spec.levels + 1
        templates, learnt = spec.templates(epsilon), self.distribution
        return tuple(goal_questions(self._rng, learnt, spec.goal, templates, cells, size, self.counts))

    @property
    def distribution(self) -> Distribution:
        """The posterior given every answer learnt."""
        counts = self.counts
        if self._distribution is None:
            spec = self.specification
            rng = np.random.default_rng(SEED)
            self._distribution = estimate_distribution(rng, counts, spec.support, spec.particles, spec.around)
            self._estimates += 1
        return self._distribution
