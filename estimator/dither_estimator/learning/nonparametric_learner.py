"""The learner of a distribution without a family, whose posterior is computed afresh from the counts alone."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither_client import Query
from dither_estimator.checks.averaging import average_distribution
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import QUANTILE_LEVELS
from dither_estimator.learning.goal_questions import goal_questions
from dither_estimator.learning.population import DistributionPopulation
from dither_estimator.learning.recomputed_learner import SEED, RecomputedLearner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.cell_design import DISTINCT
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.posterior import sketch_distribution
from dither_estimator.policies.pool_size import answers_until_renewal

__all__ = ["NonparametricLearner"]

_RENEWAL_DIVISOR = 6
"""A pool serves one answer per this many learnt."""
_LATE = 4_000
_LATE_RENEWAL_DIVISOR = 3
"""The divisor from `_LATE` answers on: by then the best places of cells change slowly."""


class NonparametricLearner(RecomputedLearner[DistributionPopulation]):
    """The posterior of a distribution without a family. Its particles are quantiles, in the values' own units."""

    _most_questions = DISTINCT
    _sketched: Distribution | None = None
    """A sketch of all that was learnt."""
    _last: Distribution | None = None
    """The last sketch, perhaps of less."""

    def _forget(self) -> None:
        super()._forget()
        self._sketched = None

    def _estimation(self, counts: Counts) -> Callable[[], DistributionPopulation]:
        spec = self.specification

        def estimate() -> DistributionPopulation:
            rng = np.random.default_rng(SEED)
            found, fits = average_distribution(rng, counts, spec.support, spec.particles, spec.around)
            return DistributionPopulation(found, fits.comparison)

        return estimate

    def _draws(self, population: DistributionPopulation) -> FloatArray:
        return population.quantile(np.array(self._levels)).values

    @property
    def particle_names(self) -> tuple[str, ...]:
        return tuple(f"quantile_{level:.12g}" for level in self._levels)

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
        templates, learnt = spec.templates(epsilon), self._sketch
        return tuple(goal_questions(self._rng, learnt, spec.goal, templates, cells, size, self.counts))

    @property
    def distribution(self) -> Distribution:
        """The posterior given every answer learnt."""
        return self._population().distribution

    def sketch(self) -> DistributionPopulation:
        """A sketch of what the posterior says about the population, for questions."""
        return DistributionPopulation(self._sketch)

    @property
    def _sketch(self) -> Distribution:
        """A sketch of the posterior given every answer learnt, for questions."""
        counts = self.counts
        if self._sketched is None:
            spec, rng = self.specification, np.random.default_rng(SEED)
            self._last = self._sketched = sketch_distribution(rng, counts, spec.support, spec.around, self._last)
        return self._sketched
