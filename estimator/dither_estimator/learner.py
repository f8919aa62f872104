"""One collection's estimator: asks from a pool of questions, learns answers, and gives the posterior.

The particle system itself is pure (`particles.py`); this is the small piece of state around it. Answers are
exchangeable given their questions, so they are kept as counts and applied together when somebody looks: at a summary,
or when the pool is due for renewal. What is read is always the posterior of every answer learnt.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_estimator.comparison import Comparison, compare
from dither_estimator.counts import Counts, answers_by_epsilon, check_counts, total_answers
from dither_estimator.discrimination import most_discriminating, number_discriminating
from dither_estimator.evidence import Evidence, estimate_evidence
from dither_estimator.families import FloatArray
from dither_estimator.particles import ParticleSystem, effective_sample_size, init, update
from dither_estimator.poison import poison_bound
from dither_estimator.policies import QuestionPolicy, question_policy
from dither_estimator.posterior import Posterior, summarise
from dither_estimator.specification import Specification

__all__ = ["InvalidSnapshot", "Learner"]

_RENEWAL = 12
"""The pool is renewed when the answers have grown by one part in so many."""

_SNAPSHOT_VERSION = 2


class InvalidSnapshot(ValueError):
    """A snapshot that this version cannot read, or of another specification; rebuild from the counts."""


@dataclass(slots=True)
class _Pool:
    """The questions of one ε, at how many answers there are to be others, and whose turn it is one by one."""

    queries: tuple[Query, ...]
    renew_at: int
    turns: Iterator[Query]


class Learner:
    """The posterior of a collection, and the questions that follow from it.

    `seed` makes everything reproducible; `policy` chooses the questions in place of the specification's. Not safe for
    use by several threads at once.
    """

    def __init__(
        self,
        specification: Specification,
        seed: int | np.random.SeedSequence,
        policy: QuestionPolicy | None = None,
    ) -> None:
        self.specification = specification
        self._rng = np.random.default_rng(seed)
        self._policy = policy or question_policy(specification)
        self._system = init(self._rng, specification.prior, specification.particles)
        self._rivals = tuple(init(self._rng, rival.prior, specification.particles) for rival in specification.rivals)
        self._evidences: tuple[Evidence, ...] | None = None
        self._answers = 0
        self._pending: dict[Query, list[int]] = {}
        self._pools: dict[Fraction | None, _Pool] = {}

    @property
    def answers(self) -> int:
        """How many answers have been learnt."""
        return self._answers

    @property
    def counts(self) -> Counts:
        """Every answer learnt, as a count table."""
        return self._current().counts

    def pool(self, size: int = 1, epsilon: Fraction | None = None) -> tuple[Query, ...]:
        """At least `size` questions, each to be asked of as many respondents as another; renewed when answers grew.

        In the order in which to ask them if respondents come one by one. At ε, one of the specification's choices, or
        at its default.
        """
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at or len(pool.queries) < size:
            pool = self._renewed(size, epsilon)
        return pool.queries

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question, for respondents who come one by one; at ε as in `pool`."""
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at:
            pool = self._renewed(1, epsilon)
        return next(pool.turns)

    def _renewed(self, size: int, epsilon: Fraction | None) -> "_Pool":
        due = max(1, self._answers // _RENEWAL)
        length = max(size, min(due, 16))
        at = self.specification.epsilon if epsilon is None else epsilon
        queries = self._questions(length, max(due, length) / length, at)
        pool = self._pools[epsilon] = _Pool(queries, self._answers + due, cycle(queries))
        return pool

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        """A pool of `size`: of the policy's questions, and of the one that tells families apart in its share."""
        spec, rng, system = self.specification, self._rng, self._current()
        count = number_discriminating(rng, spec.discriminate, size)
        if count == 0:
            return self._policy.pool(rng, system, size, repeats, epsilon)
        systems = (system, *self._rivals)
        best = most_discriminating(rng, systems, spec.mechanism, spec.levels, epsilon, spec.transform, spec.rho)
        if best is None:
            return self._policy.pool(rng, system, size, repeats, epsilon)
        queries = list(self._policy.pool(rng, system, size - count, repeats, epsilon)) if count < size else []
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
            log_evidence=comparison.families[0].evidence.log if comparison else system.log_evidence,
            particles=len(system.log_weights),
            moves=system.moves,
            queries=len(system.counts),
            poison=poison_bound(self.specification.family, system.counts, system.coordinates, system.weights),
            answers_by_epsilon={
                **dict.fromkeys(self.specification.epsilon_choices, 0),
                **answers_by_epsilon(system.counts),
            },
            comparison=comparison,
        )

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Parameters (n, d), in the family's order, and normalised weights (n,)."""
        system = self._current()
        return system.theta, system.weights

    def _current(self) -> ParticleSystem:
        if self._pending:
            new = check_counts(self._pending)
            self._system, _ = update(self._rng, self._system, new)
            self._rivals = tuple(update(self._rng, rival, new)[0] for rival in self._rivals)
            self._pending, self._evidences = {}, None
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
        """The whole state, for `restore`: a NumPy archive without pickles."""
        systems = (self._current(), *self._rivals)
        table = systems[0].counts
        header = {
            "version": _SNAPSHOT_VERSION,
            "parameters": [list(each.prior.family.names) for each in systems],
            "log_evidence": [each.log_evidence for each in systems],
            "moves": [each.moves for each in systems],
            "evidences": self._evidences and [astuple(evidence) for evidence in self._evidences],
            "generator": self._rng.bit_generator.state,
            "queries": [query.to_json() for query in table],
        }
        counts = list(table.values())
        arrays: dict[str, Any] = {f"coordinates{i}": each.coordinates for i, each in enumerate(systems)}
        arrays |= {f"log_weights{i}": each.log_weights for i, each in enumerate(systems)}
        arrays["counts"] = np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)
        buffer = io.BytesIO()
        np.savez(buffer, header=np.array(json.dumps(header)), **arrays)
        return buffer.getvalue()

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "Learner":
        """The learner that made the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        try:
            with np.load(io.BytesIO(snapshot), allow_pickle=False) as archive:
                learner._load(json.loads(str(archive["header"])), {name: archive[name] for name in archive.files})
        except InvalidSnapshot:
            raise
        except Exception as error:
            raise InvalidSnapshot(f"the snapshot cannot be read: {type(error).__name__}") from error
        return learner

    def _load(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        priors = [self.specification.prior, *(rival.prior for rival in self.specification.rivals)]
        size = self.specification.particles
        if header["version"] != _SNAPSHOT_VERSION:
            raise InvalidSnapshot("the snapshot is of another version")
        if header["parameters"] != [list(prior.family.names) for prior in priors] or any(
            arrays[f"coordinates{i}"].shape != (size, len(prior.parts)) for i, prior in enumerate(priors)
        ):
            raise InvalidSnapshot("the snapshot is of another specification")
        queries = [parse_query(query) for query in header["queries"]]
        ends = np.cumsum([query.n_answers for query in queries]).astype(int)
        rows = np.split(arrays["counts"], ends[:-1]) if queries else []
        counts = check_counts(dict(zip(queries, rows, strict=True)))
        self._system, *rivals = (
            ParticleSystem(
                prior,
                arrays[f"coordinates{i}"],
                arrays[f"log_weights{i}"],
                counts,
                float(header["log_evidence"][i]),
                int(header["moves"][i]),
            )
            for i, prior in enumerate(priors)
        )
        self._rivals = tuple(rivals)
        self._evidences = header["evidences"] and tuple(Evidence(*evidence) for evidence in header["evidences"])
        self._answers = total_answers(counts)
        self._rng.bit_generator.state = header["generator"]
