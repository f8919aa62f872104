"""One collection's estimator: asks from a pool of questions, learns answers, and gives the posterior.

The particle system itself is pure (`particles.py`); this is the small piece of state around it. Answers are
exchangeable given their questions, so they are kept as counts and applied together when somebody looks: at a summary,
or when the pool is due for renewal. What is read is always the posterior of every answer learnt.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, zip_longest

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_client.posterior.wire import PoisonBound
from dither_estimator.checks.competing_families import Comparison, compare
from dither_estimator.checks.contamination import poison_bound
from dither_estimator.families import FloatArray
from dither_estimator.learning.second_opinion import Steering
from dither_estimator.learning.snapshot import InvalidSnapshot, State, read_snapshot, write_snapshot
from dither_estimator.learning.summary import Posterior, summarise
from dither_estimator.likelihood.counts import Counts, answers_by_epsilon, check_counts, total_answers
from dither_estimator.likelihood.institutions import Members, merge_members, total_members
from dither_estimator.particles.evidence import Evidence, estimate_evidence
from dither_estimator.particles.system import ParticleSystem, effective_sample_size, init, update
from dither_estimator.policies.discrimination import most_discriminating, number_discriminating
from dither_estimator.policies.policy import Fixed, QuestionPolicy, question_policy
from dither_estimator.policies.pool_size import answers_until_renewal, pool_size
from dither_estimator.specification.specification import Specification

__all__ = ["InvalidSnapshot", "Learner"]

_GROWN = 11, 10
"""The bound on poison is found anew when the answers have grown by a tenth."""
_QUESTIONS = 8
"""A pool has no more questions than this unless more are wanted."""


@dataclass(slots=True)
class _Pool:
    """The questions of one ε, at how many answers there are to be others, and whose turn it is one by one."""

    queries: tuple[Query, ...]
    renew_at: int
    turns: Iterator[Query]


class Learner:
    """The posterior of a collection, and the questions that follow from it.

    `seed` makes everything reproducible; `policy` chooses the questions in place of the specification's; `outstanding`
    says how many of those whom `ask` is for have a question at any time. Not safe for use by several threads at once.
    """

    def __init__(
        self,
        specification: Specification,
        seed: int | np.random.SeedSequence,
        policy: QuestionPolicy | None = None,
        outstanding: int = 1,
    ) -> None:
        self.specification = specification
        self._outstanding = outstanding
        self._rng = np.random.default_rng(seed)
        self._policy = policy or question_policy(specification)
        self._system = init(self._rng, specification.prior, specification.particles)
        self._rivals = tuple(init(self._rng, rival.prior, specification.particles) for rival in specification.rivals)
        self._evidences: tuple[Evidence, ...] | None = None
        self._poison: tuple[int, PoisonBound] | None = None
        self._answers = 0
        self._pending: dict[Query, list[int]] = {}
        self._pending_members: Members = {}
        self._pools: dict[Fraction | None, _Pool] = {}
        self._steering = Steering()
        self._review_at = 0

    @property
    def answers(self) -> int:
        """How many answers have been learnt."""
        return self._answers

    @property
    def moves(self) -> int:
        """How many times the particles have moved so far; answers that wait to be applied may move them again."""
        return self._system.moves

    @property
    def counts(self) -> Counts:
        """Every answer learnt, as a count table."""
        return self._current().counts

    @property
    def members(self) -> Members:
        """Everything learnt that institutions shared."""
        return self._current().members

    @property
    def steering(self) -> Steering:
        """Whether the questions follow the posterior alone."""
        return self._steering

    def pool(self, size: int = 1, epsilon: Fraction | None = None) -> tuple[Query, ...]:
        """At least `size` questions, each to be asked of as many respondents as another; renewed when answers grew.

        In the order in which to ask them if respondents come one by one. At ε, one of the specification's choices, or
        at its default.
        """
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at or len(pool.queries) < size:
            pool = self._renewed(size, epsilon)
        return pool.queries

    @property
    def renew_at(self) -> float:
        """After how many answers the first of the present pools is to be renewed; never is infinite."""
        if isinstance(self._policy, Fixed) and not self.specification.discriminate:
            return math.inf
        return min((pool.renew_at for pool in self._pools.values()), default=math.inf)

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question, each of a pool in turn; at ε as in `pool`."""
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at:
            pool = self._renewed(pool_size(self._answers, self._outstanding), epsilon)
        return next(pool.turns)

    def _renewed(self, size: int, epsilon: Fraction | None) -> "_Pool":
        at = self.specification.epsilon if epsilon is None else epsilon
        self._review(at)
        due = self._epoch(at)
        length = max(size, min(due, _QUESTIONS))
        known: dict[Query, Query] = {}
        queries = tuple(
            known.setdefault(query, query) for query in self._questions(length, max(due, length) / length, at)
        )
        pool = self._pools[epsilon] = _Pool(queries, self._answers + due, cycle(queries))
        return pool

    def _epoch(self, epsilon: Fraction) -> int:
        """For how many answers to ask from one pool: a share of what the youngest of those who ask has learnt."""
        second = self._steering.second
        learnt = self._answers if second is None or not second.heard else min(self._answers, second.answers)
        return answers_until_renewal(learnt, epsilon)

    def _review(self, epsilon: Fraction) -> None:
        system = self._current()
        if self._answers >= self._review_at and not isinstance(self._policy, Fixed):
            self._steering = self._steering.reviewed(self._rng, system)
            self._system = self._steering.corrected(self._rng, system)
            self._review_at = self._answers + self._epoch(epsilon)

    def _policy_pool(self, size: int, repeats: float, epsilon: Fraction) -> list[Query]:
        """The policy's questions; half of them, one by one in turn, for a second opinion that is heard."""
        rng, system, second = self._rng, self._current(), self._steering.heard
        if second is None:
            return list(self._policy.pool(rng, system, size, repeats, epsilon))
        half = (size + int(rng.integers(2))) // 2
        others = list(self._policy.pool(rng, second, half, repeats, epsilon)) if half else []
        own = list(self._policy.pool(rng, system, size - half, repeats, epsilon)) if half < size else []
        return [query for pair in zip_longest(others, own) for query in pair if query is not None]

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        """A pool of `size`: of the policy's questions, and of the one that tells families apart in its share."""
        spec, rng, system = self.specification, self._rng, self._current()
        count = number_discriminating(rng, spec.discriminate, size)
        if count == 0:
            return tuple(self._policy_pool(size, repeats, epsilon))
        systems = (system, *self._rivals)
        best = most_discriminating(rng, systems, spec.mechanism, spec.levels, epsilon, spec.transform, spec.rho)
        if best is None:
            return tuple(self._policy_pool(size, repeats, epsilon))
        queries = self._policy_pool(size - count, repeats, epsilon) if count < size else []
        for place in rng.integers(len(queries) + 1, size=count):
            queries.insert(place, best)
        return tuple(queries)

    def learn(self, query: Query, answer: int) -> None:
        """Takes one answer into the posterior. Raises `ValueError` unless it is an answer to the query."""
        try:
            row = self._pending[query]
        except KeyError:
            row = self._pending[query] = [0] * query.n_answers
        if not 0 <= answer < len(row):
            raise ValueError(f"the answer must be from 0 to {len(row) - 1}")
        row[answer] += 1
        self._answers += 1

    def learn_counts(self, table: Mapping[Query, Sequence[int] | npt.NDArray[np.int64]]) -> None:
        """Takes a table of answers into the posterior. Raises `ValueError`, learning nothing, if it is none."""
        checked = check_counts(table)
        for query, counts in checked.items():
            row = self._pending.setdefault(query, [0] * query.n_answers)
            for answer, count in enumerate(counts.tolist()):
                row[answer] += count
        self._answers += total_answers(checked)

    def learn_members(self, members: Members) -> None:
        """Takes what institutions shared into the posterior; the next questions follow from it."""
        if members:
            self._pending_members = merge_members(self._pending_members, members)
            self._pools.clear()

    def posterior(self) -> Posterior:
        """Summaries of the posterior of every answer learnt."""
        system = self._current()
        parameters, covariance = summarise(self.specification.family.names, system.theta, system.weights)
        comparison = self._comparison()
        return Posterior(
            parameters=parameters,
            covariance=covariance,
            answers=self._answers,
            ess=effective_sample_size(system.log_weights),
            log_evidence=comparison.families[0].log_evidence if comparison else system.log_evidence,
            particles=len(system.log_weights),
            moves=system.moves,
            queries=len(system.counts),
            poison=self._poison_bound(system),
            answers_by_epsilon={
                **dict.fromkeys(self.specification.epsilon_choices, 0),
                **answers_by_epsilon(system.counts),
            },
            members=total_members(system.members),
            comparison=comparison,
        )

    def _poison_bound(self, system: ParticleSystem) -> PoisonBound:
        """The bound of the answers learnt, or of nearly all of them: it hardly changes, and takes its time."""
        if self._poison is None or self._answers * _GROWN[1] >= self._poison[0] * _GROWN[0]:
            bound = poison_bound(self.specification.family, system.counts, system.coordinates, system.weights)
            self._poison = self._answers, bound
        return self._poison[1]

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Parameters (n, d), in the family's order, and normalised weights (n,)."""
        system = self._current()
        return system.theta, system.weights

    def _current(self) -> ParticleSystem:
        if self._pending or self._pending_members:
            new = {query: np.array(row, dtype=np.int64) for query, row in self._pending.items() if any(row)}
            members = self._pending_members
            self._system, _ = update(self._rng, self._system, new, members)
            self._rivals = tuple(update(self._rng, rival, new, members)[0] for rival in self._rivals)
            self._steering = self._steering.learnt(self._rng, new, members)
            self._pending, self._pending_members, self._evidences = {}, {}, None
        return self._system

    def _comparison(self) -> Comparison | None:
        spec, system = self.specification, self._current()
        if not self._rivals:
            return None
        if self._evidences is None:
            self._evidences = tuple(estimate_evidence(self._rng, each) for each in (system, *self._rivals))
        names = [
            (spec.family.name, spec.transform),
            *((each.prior.family.name, each.transform) for each in spec.rivals),
        ]
        return compare(names, self._evidences)

    def snapshot(self) -> bytes:
        """The whole state, for `restore`."""
        systems = (self._current(), *self._rivals)
        generator = self._rng.bit_generator.state
        return write_snapshot(State(systems, self._evidences, self._steering, self._review_at, generator))

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "Learner":
        """The learner that made the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        state = read_snapshot(specification, snapshot)
        learner._system, *rivals = state.systems
        learner._rivals = tuple(rivals)
        learner._evidences, learner._steering, learner._review_at = state.evidences, state.steering, state.review_at
        learner._answers = total_answers(learner._system.counts)
        learner._rng.bit_generator.state = state.generator
        return learner
