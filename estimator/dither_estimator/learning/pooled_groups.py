"""Groups of a family that borrow from each other: one hierarchy for all, computed afresh from the counts alone."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import cycle

import numpy as np

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.pooled_fit import pooled_fit
from dither_estimator.hierarchy.pooling import PooledDraws, pool_groups
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.group_posterior import GroupPosterior, GroupPosteriors, drawn_together
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.learning.recomputed_learner import SEED
from dither_estimator.learning.summarise import summarise
from dither_estimator.likelihood.counts import Counts, in_order, merge_counts, total_answers
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.policy import question_policy
from dither_estimator.policies.pool_size import answers_until_renewal, pool_size
from dither_estimator.specification.specification import Specification

__all__ = ["PooledGroups"]

_ASKING_DRAWS = 256
"""The draws of each group from which questions are chosen."""
_MOST_QUESTIONS = 8
_ESTIMATE_DIVISOR = 32
"""Questions are estimated for again at the earliest after one answer per this many learnt in all groups."""
_OUTERMOST = 0.02
"""Questions do not follow draws beyond this quantile and its counterpart: tails of few answers are very long."""


@dataclass(slots=True)
class _Pool:
    """The questions of one group at one ε, the estimate that they follow from, and the order of their turns."""

    queries: tuple[Query, ...]
    size: int
    """How many were to be found; there may be fewer."""
    estimate: int
    turns: Iterator[Query]
    own_renewal: int
    """The number of the group's answers at which it is due for renewal."""
    renewal: int
    """The number of all groups' answers at which it is due, too."""


class PooledGroups:
    """The hierarchy of all groups. Questions of a group follow from its own estimate, which borrows from the others."""

    def __init__(self, specification: Specification, seeds: np.random.SeedSequence, outstanding: int) -> None:
        assert specification.groups is not None
        self._specification = specification
        self._groups = specification.groups
        self.generator = np.random.default_rng(seeds)
        self._policy = question_policy(specification)
        self._each = -(-outstanding // len(self._groups.labels))
        self._counts: dict[str, Counts] = {label: {} for label in self._groups.labels}
        self._pending: dict[str, dict[Query, list[int]]] = {label: {} for label in self._groups.labels}
        self._answers = dict.fromkeys(self._groups.labels, 0)
        self._pools: dict[tuple[str, Fraction | None], _Pool] = {}
        self._asking: PooledDraws | None = None
        self._fit: ParticleSystem | None = None
        self._estimate_at = 0
        self._total = 0
        self._fixed = specification.policy.name == "fixed"
        self._known: tuple[int, Deferred[PooledDraws]] | None = None
        self.moves = 0

    @property
    def counts(self) -> Mapping[str, Counts]:
        self.update()
        return self._counts

    def answers_of(self, group: str) -> int:
        return self._answers[group]

    def pool(self, size: int, epsilon: Fraction | None, group: str) -> tuple[Query, ...]:
        pool = self._pools.get((group, epsilon))
        if pool is None or pool.size < size or self._due(pool, group):
            pool = self._renewed(size, epsilon, group)
        return pool.queries

    def ask(self, epsilon: Fraction | None, group: str) -> Query:
        pool = self._pools.get((group, epsilon))
        if pool is None or self._due(pool, group):
            pool = self._renewed(pool_size(self._answers[group], self._each), epsilon, group)
        return next(pool.turns)

    @property
    def renew_at(self) -> float:
        if self._fixed or not self._pools:
            return math.inf
        first = min(
            min(pool.renewal, self._total + pool.own_renewal - self._answers[group])
            for (group, _), pool in self._pools.items()
        )
        return max(first, self._estimate_at)

    def _due(self, pool: _Pool, group: str) -> bool:
        """Whether so much has been learnt, in the group or in all, that a new estimate is worth its while."""
        if self._fixed or not (self._answers[group] >= pool.own_renewal or self._total >= pool.renewal):
            return False
        return pool.estimate < self.moves or self._total >= self._estimate_at

    def learn(self, query: Query, answer: int, group: str) -> None:
        if not 0 <= answer < query.n_answers:
            raise ValueError(f"the answer must be from 0 to {query.n_answers - 1}")
        self._pending[group].setdefault(query, [0] * query.n_answers)[answer] += 1
        self._answers[group] += 1
        self._total += 1

    def learn_counts(self, counts: Counts, group: str) -> None:
        self._counts[group] = merge_counts(self._counts[group], counts)
        new = total_answers(counts)
        self._answers[group] += new
        self._total += new

    def posteriors(self) -> Callable[[], GroupPosteriors]:
        return partial(_posteriors, self._specification, self._draws(), dict(self._answers))

    def update(self) -> None:
        """Adds what was learnt to the counts; estimates are made when somebody asks for them."""
        for label, pending in self._pending.items():
            if pending:
                new = {query: np.array(row, dtype=np.int64) for query, row in pending.items() if any(row)}
                self._counts[label] = merge_counts(self._counts[label], new)
                self._pending[label] = {}

    together = staticmethod(drawn_together)

    def particles(self, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        spec, coordinates = self._specification, self._draws()().coordinates
        theta = spec.family.constrain(coordinates[:, self._groups.labels.index(group)])
        return spec.family.names, theta, np.full(len(theta), 1 / len(theta))

    def _draws(self) -> Deferred[PooledDraws]:
        """The posterior given every answer learnt; whoever has the same counts has the same draws."""
        if self._known is None or self._known[0] != self._total:
            counts, rates, spec = list(self.counts.values()), self._rates(), self._specification
            self._known = (
                self._total,
                Deferred(
                    lambda: pool_groups(
                        np.random.default_rng(SEED), spec.prior, in_order(counts), spec.particles, rates
                    )
                ),
            )
        return self._known[1]

    def _rates(self) -> FloatArray | None:
        return self._groups.log_rates(list(self._answers.values()))

    def _for_questions(self) -> PooledDraws:
        """The last estimate for questions, or a new one if the answers have grown by enough."""
        if self._asking is None or (self._total >= self._estimate_at and not self._fixed):
            tables, prior = in_order(self.counts.values()), self._specification.prior
            rng = np.random.default_rng(SEED)
            self._fit = pooled_fit(rng, prior, tables, self._fit)
            self._asking = pool_groups(rng, prior, tables, _ASKING_DRAWS, self._rates(), sweeps=0, fit=self._fit)
            self.moves += 1
            self._estimate_at = self._total + max(1, self._total // _ESTIMATE_DIVISOR)
        return self._asking

    def _renewed(self, size: int, epsilon: Fraction | None, group: str) -> _Pool:
        spec = self._specification
        at = spec.epsilon if epsilon is None else epsilon
        due = answers_until_renewal(self._answers[group], at)
        length = max(size, min(due, _MOST_QUESTIONS))
        coordinates = self._for_questions().coordinates[:, self._groups.labels.index(group)]
        coordinates = np.clip(coordinates, *np.quantile(coordinates, [_OUTERMOST, 1 - _OUTERMOST], axis=0))
        log_weights = np.full(len(coordinates), -math.log(len(coordinates)))
        particles = ParticleSystem(spec.prior, coordinates, log_weights, {}, 0.0, 0)
        found = self._policy.pool(self.generator, particles, length, max(due, length) / length, at)
        known: dict[Query, Query] = {}
        queries = tuple(known.setdefault(query, query) for query in found)
        renewal = self._total + answers_until_renewal(self._total, at)
        pool = _Pool(
            queries, max(length, len(queries)), self.moves, cycle(queries), self._answers[group] + due, renewal
        )
        self._pools[group, epsilon] = pool
        return pool


def _posteriors(spec: Specification, draws: Callable[[], PooledDraws], answers: Mapping[str, int]) -> GroupPosteriors:
    """The posterior of each group, by label and number of answers, and of how they differ."""
    found = draws()
    weights = np.full(len(found.coordinates), 1 / len(found.coordinates))
    names = tuple(parameter.coordinate for parameter in spec.family.parameters)
    posteriors = {}
    for place, (label, number) in enumerate(answers.items()):
        theta = spec.family.constrain(found.coordinates[:, place])
        population = FamilyPopulation.of(spec.family, spec.transform, theta, weights)
        borrowed = dict(zip(names, found.borrowed[place].tolist(), strict=True))
        parameters, covariance = summarise(spec.family.names, theta, weights)
        posteriors[label] = GroupPosterior(parameters, covariance, number, population, borrowed)
    return GroupPosteriors(posteriors, summarise(names, found.between, weights)[0])
