"""The learner of a family's parameters. The particle system itself is pure (`particles.system`)."""

from fractions import Fraction
from functools import partial
from itertools import zip_longest

import numpy as np

from dither_client import Query
from dither_client.posterior.wire import PoisonBound
from dither_estimator.checks.competing_families import Comparison, compare
from dither_estimator.checks.contamination import poison_bound
from dither_estimator.checks.family_fits import refusal
from dither_estimator.families import FloatArray
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.learning.second_opinion import Steering
from dither_estimator.learning.snapshot import InvalidSnapshot, State, read_snapshot, write_snapshot
from dither_estimator.learning.summarise import summarise
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, answers_by_epsilon, total_answers
from dither_estimator.likelihood.institutions import Members, merge_members, total_members
from dither_estimator.particles.evidence import Evidence, estimate_evidence
from dither_estimator.particles.system import ParticleSystem, init, learnt_at_once, update
from dither_estimator.policies.discrimination import most_discriminating, number_discriminating
from dither_estimator.policies.policy import Fixed, QuestionPolicy, question_policy
from dither_estimator.policies.pool_size import answers_until_renewal
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.sample import effective_sample_size

__all__ = ["InvalidSnapshot", "Learner"]

_RECOMPUTE_RATIO = 11, 10
"""The bound on contamination is recomputed when the answers have grown by this ratio, 11 to 10."""
_REVIEW_DIVISOR = 4
"""Where all questions are the same, the answers are learnt anew after one more per this many."""
_SKETCHED = 200
"""The draws of a sketch."""


class Learner(CountLearner):
    """The posterior of a family's parameters. `policy` replaces the specification's policy."""

    def __init__(
        self,
        specification: Specification,
        seed: int | np.random.SeedSequence,
        policy: QuestionPolicy | None = None,
        outstanding: int = 1,
    ) -> None:
        super().__init__(specification, seed, outstanding)
        self._policy = policy or question_policy(specification)
        self._system = init(self._rng, specification.prior, specification.particles)
        self._rivals = tuple(init(self._rng, rival.prior, specification.particles) for rival in specification.rivals)
        self._evidences: tuple[Evidence, ...] | None = None
        self._poison: tuple[int, PoisonBound] | None = None
        self._pending_members: Members = {}
        self._steering = Steering()
        self._review_at = 0

    @property
    def moves(self) -> int:
        return self._system.moves

    @property
    def counts(self) -> Counts:
        return self._current().counts

    @property
    def members(self) -> Members:
        return self._current().members

    @property
    def steering(self) -> Steering:
        """Whether the questions follow the posterior alone, or a second opinion as well."""
        return self._steering

    @property
    def _renews(self) -> bool:
        return not isinstance(self._policy, Fixed) or self.specification.discriminate > 0

    def _begin_epoch(self, epsilon: Fraction) -> int:
        self._review(epsilon)
        return self._epoch(epsilon)

    def _epoch(self, epsilon: Fraction) -> int:
        """How many answers a pool serves: a share of what the least experienced of those who ask has learnt."""
        second = self._steering.second
        learnt = self._answers if second is None or not second.heard else min(self._answers, second.answers)
        return answers_until_renewal(learnt, epsilon)

    def _review(self, epsilon: Fraction) -> None:
        system = self._current()
        if self._answers >= self._review_at and not isinstance(self._policy, Fixed):
            self._steering = self._steering.reviewed(self._rng, system)
            self._hold(self._steering.corrected(self._rng, system))
            self._review_at = self._answers + self._epoch(epsilon)

    def _policy_pool(self, size: int, repeats: float, epsilon: Fraction) -> list[Query]:
        """The policy's questions; if a second opinion is heard, every other one is for its particles."""
        rng, system, second = self._rng, self._current(), self._steering.heard
        if second is None:
            return list(self._policy.pool(rng, system, size, repeats, epsilon))
        half = (size + int(rng.integers(2))) // 2
        others = list(self._policy.pool(rng, second, half, repeats, epsilon)) if half else []
        own = list(self._policy.pool(rng, system, size - half, repeats, epsilon)) if half < size else []
        return [query for pair in zip_longest(others, own) for query in pair if query is not None]

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        """A pool of `size`: the policy's questions and, in its share, the question that tells families apart."""
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

    def learn_members(self, members: Members) -> None:
        if members:
            self._pending_members = merge_members(self._pending_members, members)
            self._pools.clear()

    def update(self) -> None:
        self._current()

    def posterior(self) -> Posterior:
        spec, system = self.specification, self._current()
        parameters, covariance = summarise(spec.family.names, system.theta, system.weights)
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
            deferred_population=Deferred(
                lambda: FamilyPopulation.of(spec.family, spec.transform, system.theta, system.weights)
            ),
            draws=lambda: (system.theta, system.weights),
            answers_by_epsilon={
                **dict.fromkeys(spec.epsilon_choices, 0),
                **answers_by_epsilon(system.counts),
            },
            members=total_members(system.members),
            comparison=comparison,
            levels=spec.goal.levels,
            above=spec.goal.values,
            refusal=partial(self._refusal, system),
        )

    def sketch(self) -> FamilyPopulation:
        """A sketch of what the posterior says about the population, for questions."""
        spec, system = self.specification, self._current()
        return FamilyPopulation.of(spec.family, spec.transform, system.theta, system.weights, _SKETCHED)

    def _refusal(self, system: ParticleSystem) -> Comparison | None:
        """Whether the answers refuse the family, if there is only one, and adaptive questions have been asked."""
        spec = self.specification
        if spec.rivals or system.members or isinstance(self._policy, Fixed):
            return None
        return refusal(spec.family, spec.transform, system.counts)

    def _poison_bound(self, system: ParticleSystem) -> PoisonBound:
        """The bound for the answers learnt, or for nearly all of them: it hardly changes and takes long to compute."""
        if self._poison is None or self._answers * _RECOMPUTE_RATIO[1] >= self._poison[0] * _RECOMPUTE_RATIO[0]:
            bound = poison_bound(self.specification.family, system.counts, system.coordinates, system.weights)
            self._poison = self._answers, bound
        return self._poison[1]

    @property
    def particle_names(self) -> tuple[str, ...]:
        return self.specification.family.names

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Parameters (n, d) in the family's order, and normalised weights (n,)."""
        system = self._current()
        return system.theta, system.weights

    @property
    def system(self) -> ParticleSystem:
        """The particles given every answer learnt."""
        return self._current()

    def _current(self) -> ParticleSystem:
        if self._pending or self._pending_members:
            new, members = self._taken(), self._pending_members
            still = None if members else self._poison  # it nearly holds for some more answers
            self._hold(update(self._rng, self._system, new, members), still)
            self._rivals = tuple(update(self._rng, rival, new, members) for rival in self._rivals)
            self._steering = self._steering.learnt(self._rng, new, members)
            self._pending_members = {}
            if isinstance(self._policy, Fixed) and self._answers >= self._review_at:
                self._learn_at_once()
        return self._system

    def _hold(self, system: ParticleSystem, poison: tuple[int, PoisonBound] | None = None) -> None:
        """Takes these particles for the posterior, and drops what followed from others; `poison` may be kept."""
        if system is not self._system:
            self._system, self._evidences, self._poison = system, None, poison

    def _learn_at_once(self) -> None:
        """Looks for a part of the posterior that was missed, which no question would lead to as each is the same."""
        self._hold(learnt_at_once(self._rng, self._system))
        self._rivals = tuple(learnt_at_once(self._rng, rival) for rival in self._rivals)
        self._review_at = self._answers + max(1, self._answers // _REVIEW_DIVISOR)

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
        systems = (self._current(), *self._rivals)
        generator = self._rng.bit_generator.state
        return write_snapshot(State(systems, self._evidences, self._steering, self._review_at, generator))

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "Learner":
        """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        state = read_snapshot(specification, snapshot)
        learner._system, *rivals = state.systems
        learner._rivals = tuple(rivals)
        learner._evidences, learner._steering, learner._review_at = state.evidences, state.steering, state.review_at
        learner._answers = total_answers(learner._system.counts)
        learner._rng.bit_generator.state = state.generator
        return learner
