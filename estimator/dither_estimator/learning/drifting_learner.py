"""The learner of a family whose parameters drift from period to period, computed afresh from the counts alone.

What it says, and what it asks about, is the latest period that has answers. The periods before count for as much as the
learnt scale of the random walk leaves of them.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.pooled_fit import pooled_fit
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.over_time import OverTime, PeriodTables, draw_count, follow, in_order, surprise_of
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.learning.recomputed_learner import RecomputedLearner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.policy import question_policy
from dither_estimator.policies.pool_size import answers_until_renewal
from dither_estimator.specification.specification import Specification

__all__ = ["DriftingLearner"]

_ASKING_DRAWS, _ASKING_SWEEPS = 128, 1
"""The draws from which questions are chosen, and how well they are drawn."""
_ASKING_PERIODS, _ASKING_ANSWERS = 60, 1_000
"""Questions are chosen from the latest periods, at least so many with so many answers: what was long before tells next
to nothing of the latest one, and following hundreds of periods takes seconds."""
_OUTERMOST = 0.02
"""Questions do not follow draws beyond this quantile and its counterpart."""


class DriftingLearner(RecomputedLearner[FamilyPopulation]):
    """The posterior of the latest period. `tables` must be set before the answers in them are learnt."""

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        super().__init__(specification, seed, outstanding)
        self.tables: PeriodTables = {}
        self._policy = question_policy(specification)
        self._followed: Deferred[OverTime] | None = None
        self._asking: tuple[int, FloatArray] | None = None
        self._fit: ParticleSystem | None = None
        """Recent periods taken as one, when questions were last chosen: most of the work is to find it."""

    def begin_period(self) -> None:
        """Drops the questions of the period before, when a new one has its first answer."""
        self._pools.clear()

    def posterior(self) -> Posterior:
        draws = draw_count(self.specification, len(in_order(self.specification, self.tables)[0]))
        return replace(super().posterior(), ess=float(draws), particles=draws, over_time=self._over_time)

    @property
    def _over_time(self) -> Deferred[OverTime]:
        """The posterior of every period given every answer learnt."""
        self.update()
        if self._followed is None:
            self._followed = Deferred(partial(_followed, self.specification, dict(self.tables)))
        return self._followed

    def _forget(self) -> None:
        super()._forget()
        self._followed = None

    @property
    def particle_names(self) -> tuple[str, ...]:
        return self.specification.family.names

    def _estimation(self, counts: Counts) -> Callable[[], FamilyPopulation]:
        spec, over_time = self.specification, self._over_time
        return lambda: FamilyPopulation(spec.family, spec.transform, over_time().theta(-1))

    def _draws(self, population: FamilyPopulation) -> FloatArray:
        return population.theta

    @property
    def _renews(self) -> bool:
        return self.specification.policy.name != "fixed"

    def _begin_epoch(self, epsilon: Fraction) -> int:
        latest = sorted(self.tables, key=self._number)[-2:]
        return answers_until_renewal(sum(total_answers(self.tables[label]) for label in latest), epsilon)

    def _number(self, label: str) -> int:
        assert self.specification.period is not None
        return self.specification.period.number_of(label)

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        coordinates = self._coordinates()
        log_weights = np.full(len(coordinates), -math.log(len(coordinates)))
        particles = ParticleSystem(self.specification.prior, coordinates, log_weights, {}, 0.0, 0)
        return tuple(self._policy.pool(self._rng, particles, size, repeats, epsilon))

    def _coordinates(self) -> FloatArray:
        """Unconstrained coordinates in the latest period, for questions."""
        self.update()
        if self._asking is None or self._asking[0] != self._answers:
            recent = self._recent()
            _, tables = in_order(self.specification, recent)
            self._fit = pooled_fit(self._rng, self.specification.prior, tables, self._fit)
            followed = follow(self.specification, recent, _ASKING_DRAWS, _ASKING_SWEEPS, self._fit)
            found = followed.draws.coordinates[:, -1]
            found = np.clip(found, *np.quantile(found, [_OUTERMOST, 1 - _OUTERMOST], axis=0))
            self._asking = self._answers, found
        return self._asking[1]

    def _recent(self) -> PeriodTables:
        """The tables of the periods from which questions are chosen."""
        found: dict[str, Counts] = {}
        answers = 0
        for label in sorted(self.tables, key=self._number, reverse=True):
            if len(found) >= _ASKING_PERIODS and answers >= _ASKING_ANSWERS:
                break
            found[label] = self.tables[label]
            answers += total_answers(found[label])
        return found


def _followed(specification: Specification, tables: PeriodTables) -> OverTime:
    return replace(follow(specification, tables), surprise=surprise_of(specification, tables))
