"""One collection's estimator: asks from a pool of questions, learns answers, and gives the posterior.

The particle system itself is pure (`particles.py`); this is the small piece of state around it. Answers are
exchangeable given their questions, so they are kept as counts and applied together when somebody looks: at a summary,
or when the pool is due for renewal. What is read is always the posterior of every answer learnt.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_estimator.counts import Counts, check_counts, total_answers
from dither_estimator.families import FloatArray
from dither_estimator.particles import ParticleSystem, effective_sample_size, init, update
from dither_estimator.poison import poison_bound
from dither_estimator.policies import question_policy
from dither_estimator.posterior import Posterior, summarise
from dither_estimator.specification import Specification

__all__ = ["InvalidSnapshot", "Learner"]

_RENEWAL = 0.05
"""The pool is renewed when the answers have grown by this share."""

_SNAPSHOT_VERSION = 1


class InvalidSnapshot(ValueError):
    """A snapshot that this version cannot read, or of another specification; rebuild from the counts."""


@dataclass(slots=True)
class _Pool:
    """The questions of one ε, how many were asked one by one, and at how many answers there are to be others."""

    queries: tuple[Query, ...]
    renew_at: int
    asked: int = 0


class Learner:
    """The posterior of a collection, and the questions that follow from it.

    `seed` makes everything reproducible. Not safe for use by several threads at once.
    """

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence) -> None:
        self.specification = specification
        self._rng = np.random.default_rng(seed)
        self._policy = question_policy(specification)
        self._system = init(self._rng, specification.prior, specification.particles)
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
        return self._pool(size, epsilon).queries

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question, for respondents who come one by one; at ε as in `pool`."""
        pool = self._pool(1, epsilon)
        query = pool.queries[pool.asked % len(pool.queries)]
        pool.asked += 1
        return query

    def _pool(self, size: int, epsilon: Fraction | None) -> "_Pool":
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at or len(pool.queries) < size:
            due = max(1, math.ceil(self._answers * _RENEWAL))
            length = max(size, min(due, 16))
            at = self.specification.epsilon if epsilon is None else epsilon
            queries = self._policy.pool(self._rng, self._current(), length, max(1.0, due / length), at)
            pool = self._pools[epsilon] = _Pool(queries, self._answers + due)
        return pool

    def learn(self, query: Query, answer: int) -> None:
        """Takes one answer into the posterior. Raises `ValueError` unless it is an answer to the query."""
        if not 0 <= answer < query.n_answers:
            raise ValueError(f"the answer must be from 0 to {query.n_answers - 1}")
        row = self._pending.get(query)
        if row is None:
            row = self._pending[query] = [0] * query.n_answers
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
        return Posterior(
            parameters=parameters,
            covariance=covariance,
            answers=self._answers,
            ess=effective_sample_size(system.log_weights),
            log_evidence=system.log_evidence,
            particles=len(system.log_weights),
            moves=system.moves,
            queries=len(system.counts),
            poison=poison_bound(self.specification.family, system.counts, system.coordinates, system.weights),
        )

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Parameters (n, d), in the family's order, and normalised weights (n,)."""
        system = self._current()
        return system.theta, system.weights

    def _current(self) -> ParticleSystem:
        if self._pending:
            self._system, _ = update(self._rng, self._system, check_counts(self._pending))
            self._pending = {}
        return self._system

    def snapshot(self) -> bytes:
        """The whole state, for `restore`: a NumPy archive without pickles."""
        system = self._current()
        header = {
            "version": _SNAPSHOT_VERSION,
            "parameters": list(self.specification.family.names),
            "log_evidence": system.log_evidence,
            "moves": system.moves,
            "generator": self._rng.bit_generator.state,
            "queries": [query.to_json() for query in system.counts],
        }
        counts = list(system.counts.values())
        buffer = io.BytesIO()
        np.savez(
            buffer,
            header=np.array(json.dumps(header)),
            coordinates=system.coordinates,
            log_weights=system.log_weights,
            counts=np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64),
        )
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
        names = self.specification.family.names
        shape = (self.specification.particles, len(names))
        if header["version"] != _SNAPSHOT_VERSION:
            raise InvalidSnapshot("the snapshot is of another version")
        if tuple(header["parameters"]) != names or arrays["coordinates"].shape != shape:
            raise InvalidSnapshot("the snapshot is of another specification")
        queries = [parse_query(query) for query in header["queries"]]
        ends = np.cumsum([query.n_answers for query in queries]).astype(int)
        rows = np.split(arrays["counts"], ends[:-1]) if queries else []
        counts = check_counts(dict(zip(queries, rows, strict=True)))
        self._system = ParticleSystem(
            self.specification.prior,
            arrays["coordinates"],
            arrays["log_weights"],
            counts,
            float(header["log_evidence"]),
            int(header["moves"]),
        )
        self._answers = total_answers(counts)
        self._rng.bit_generator.state = header["generator"]
