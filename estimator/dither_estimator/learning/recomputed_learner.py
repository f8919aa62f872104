"""The learner of a model whose posterior is computed afresh from the counts alone.

Drawing from it takes longer than what questions need. So the draws are computed when somebody looks at them, and while
nobody does, answers are learnt as fast as questions follow from them.
"""

import io
import json
from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, Self, TypeVar

import numpy as np

from dither_client import parse_query
from dither_client.posterior.wire import PoisonBound
from dither_estimator.families import FloatArray
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.description import Unscaled
from dither_estimator.learning.population import Population
from dither_estimator.learning.snapshot import check_version, reading
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, answers_by_epsilon, check_counts, merge_counts, total_answers
from dither_estimator.likelihood.institutions import Members
from dither_estimator.specification.specification import Specification

__all__ = ["SEED", "RecomputedLearner"]

SEED = 1
"""Every estimate begins with this seed, so that whoever has the same counts has the same posterior."""
_VERSION = 1
_Estimate = TypeVar("_Estimate", bound=Population | Unscaled)


class RecomputedLearner(CountLearner, Generic[_Estimate]):
    """Subclasses say what counts tell about the population, and what draws of it are."""

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        super().__init__(specification, seed, outstanding)
        self._counts: Counts = {}
        self._updates = 0
        self._estimated: Deferred[_Estimate] | None = None

    @abstractmethod
    def _estimation(self, counts: Counts) -> Callable[[], _Estimate]:
        """A function that finds what these counts say about the population. Any thread may call it."""

    @abstractmethod
    def _draws(self, population: _Estimate) -> FloatArray:
        """Equally likely draws, shape (n, d). May be called by any thread."""

    def _forget(self) -> None:
        """Drops what followed from the counts, since there are new ones."""
        self._estimated = None

    @property
    def _population(self) -> Deferred[_Estimate]:
        """What the counts say about the population."""
        counts = self.counts
        if self._estimated is None:
            self._estimated = Deferred(self._estimation(counts))
        return self._estimated

    @property
    def moves(self) -> int:
        """How often the posterior was updated."""
        return self._updates

    @property
    def counts(self) -> Counts:
        if self._pending:
            self._counts = merge_counts(self._counts, self._taken())
            self._updates += 1
            self._forget()
        return self._counts

    def particles(self) -> tuple[FloatArray, FloatArray]:
        return self._weighted(self._population())

    def _weighted(self, population: _Estimate) -> tuple[FloatArray, FloatArray]:
        draws = self._draws(population)
        return draws, np.full(len(draws), 1 / len(draws))

    def update(self) -> None:
        _ = self.counts

    @property
    def members(self) -> Members:
        return {}

    def learn_members(self, members: Members) -> None:
        if members:
            raise ValueError("this collection does not learn counts of members")

    @property
    def _particles(self) -> int:
        """How many draws the posterior has."""
        return self.specification.particles

    def posterior(self) -> Posterior:
        spec, population = self.specification, self._population
        return Posterior(
            parameters={},
            covariance=np.empty((0, 0)),
            answers=self._answers,
            ess=float(self._particles),
            log_evidence=None,
            particles=self._particles,
            moves=self._updates,
            queries=len(self._counts),
            poison=PoisonBound(0.01, {}),
            deferred_population=population,
            draws=lambda: self._weighted(population()),
            answers_by_epsilon={**dict.fromkeys(spec.epsilon_choices, 0), **answers_by_epsilon(self._counts)},
            levels=spec.goal.levels,
            above=spec.goal.values,
        )

    def snapshot(self) -> bytes:
        counts = self.counts
        header = {
            "version": _VERSION,
            "estimates": self._updates,
            "generator": self._rng.bit_generator.state,
            "queries": [query.to_json() for query in counts],
        }
        rows = np.concatenate(list(counts.values())) if counts else np.zeros(0, dtype=np.int64)
        buffer = io.BytesIO()
        np.savez(buffer, distribution=np.array(json.dumps(header)), counts=rows)
        return buffer.getvalue()

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> Self:
        """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        with reading(snapshot) as archive:
            header, rows = json.loads(str(archive["distribution"])), archive["counts"]
            check_version(header, _VERSION)
            queries = [parse_query(query) for query in header["queries"]]
            ends = np.cumsum([query.n_answers for query in queries])
            learner._counts = check_counts(
                dict(zip(queries, np.split(rows, ends[:-1]) if queries else [], strict=True))
            )
            learner._rng.bit_generator.state = header["generator"]
            learner._updates = int(header["estimates"])
        learner._answers = total_answers(learner._counts)
        return learner
