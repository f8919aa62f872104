"""The learner of a collection with periods: it counts answers by period, and says how the distribution changed.

Without drift, one posterior holds for all periods, and a test says whether that can be so.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.count_tables import flat_counts, read_tables, tables_header
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.drifting_learner import DriftingLearner
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.over_time import OverTime, PeriodTables, drift_test, follow
from dither_estimator.learning.snapshot import check_version, reading
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, check_counts, merge_counts
from dither_estimator.likelihood.institutions import Members
from dither_estimator.specification.periods import Period
from dither_estimator.specification.specification import Specification

__all__ = ["PeriodLearner"]

_VERSION = 1


class PeriodLearner:
    """The posterior of a collection with periods, and the questions to ask in the latest one.

    The arguments are those of `CountLearner`. `period` is always the label of one; another raises
    `SpecificationError`. Not safe for use by several threads at once.
    """

    members: ClassVar[Members] = {}
    """Institutions are not asked."""

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        if specification.period is None:
            raise ValueError("the specification has no period")
        self.specification = specification
        self.period: Period = specification.period
        self._model: DriftingLearner | Learner = _kind(specification)(specification, seed, outstanding=outstanding)
        self._counts: dict[str, Counts] = {}
        self._pending: dict[str, dict[Query, list[int]]] = {}
        self._latest = 0

    @property
    def answers(self) -> int:
        """The number of answers learnt, in all periods."""
        return self._model.answers

    @property
    def moves(self) -> int:
        """How often estimates were computed."""
        return self._model.moves

    @property
    def period_counts(self) -> PeriodTables:
        """Every answer learnt, as a count table for each period that has answers."""
        for label, pending in self._pending.items():
            new = {query: np.array(row, dtype=np.int64) for query, row in pending.items() if any(row)}
            self._counts[label] = merge_counts(self._counts.get(label, {}), new)
        self._pending = {}
        return dict(self._counts)

    def pool(self, size: int = 1, epsilon: Fraction | None = None) -> tuple[Query, ...]:
        """Questions as `CountLearner.pool`, for the latest period that has answers."""
        return self._current().pool(size, epsilon)

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question, as `CountLearner.ask`."""
        return self._current().ask(epsilon)

    @property
    def renew_at(self) -> float:
        """The number of answers at which pools are due for renewal; infinite if never."""
        return self._model.renew_at

    def learn(self, query: Query, answer: int, period: str) -> None:
        """Learn one answer of the period. Raises `ValueError`, and learns nothing, if it is not one to the query.

        Raises `SpecificationError`, and learns nothing, if the period lies too far from others with answers.
        """
        self._check_labels(period)
        self._model.learn(query, answer)
        self._pending.setdefault(period, {}).setdefault(query, [0] * query.n_answers)[answer] += 1
        self._reached(self.period.number_of(period))

    def learn_period_counts(self, tables: Mapping[str, Mapping[Query, Sequence[int] | npt.NDArray[np.int64]]]) -> None:
        """Learn a table of answers of each period. Raises `ValueError`, and learns nothing, if any is invalid."""
        checked = {label: check_counts(table) for label, table in tables.items()}
        self._check_labels(*checked)
        total: Counts = {}
        for label, table in checked.items():
            self._counts[label] = merge_counts(self._counts.get(label, {}), table)
            total = merge_counts(total, table)
            self._reached(self.period.number_of(label))
        self._model.learn_counts(dict(sorted(total.items(), key=lambda item: item[0].id)))

    def update(self) -> None:
        """Take in what was learnt now, rather than when somebody looks."""
        self._current().update()

    def posterior(self) -> Posterior:
        """The posterior of the latest period with drift, or of all periods as one, with that of each period."""
        found = self._current().posterior()
        if isinstance(self._model, DriftingLearner):
            return found
        specification, tables = self.specification, self.period_counts
        return replace(found, over_time=Deferred(lambda: _tested(specification, tables)))

    @property
    def particle_names(self) -> tuple[str, ...]:
        """The names of the columns of `particles`."""
        return self._model.particle_names

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Draws from the posterior (n, d), and normalised weights (n,)."""
        return self._current().particles()

    def snapshot(self) -> bytes:
        """The whole state as bytes, for `restore`."""
        tables = self.period_counts
        header = {"version": _VERSION, "labels": list(tables), **tables_header(tables.values())}
        buffer = io.BytesIO()
        np.savez(
            buffer,
            periods=np.array(json.dumps(header)),
            counts=flat_counts(tables.values()),
            model=np.frombuffer(self._current().snapshot(), dtype=np.uint8),
        )
        return buffer.getvalue()

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "PeriodLearner":
        """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        with reading(snapshot) as archive:
            header = json.loads(str(archive["periods"]))
            check_version(header, _VERSION)
            tables = read_tables(header, archive["counts"])
            for label, table in zip(header["labels"], tables, strict=True):
                learner._counts[label] = check_counts(table)
                learner._reached(learner.period.number_of(label))
            learner._model = _kind(specification).restore(specification, archive["model"].tobytes())
        return learner

    def _current(self) -> CountLearner:
        """The model, which knows the tables of the answers that it has learnt."""
        if isinstance(self._model, DriftingLearner):
            self._model.tables = self.period_counts
        return self._model

    def _check_labels(self, *labels: str) -> None:
        """Raises `SpecificationError` unless all are periods that may have answers beside those that have some."""
        if any(label not in self._counts and label not in self._pending for label in labels):
            self.period.between(dict.fromkeys([*self._counts, *self._pending, *labels]))

    def _reached(self, number: int) -> None:
        if number > self._latest:
            self._latest = number
            if isinstance(self._model, DriftingLearner):
                self._model.begin_period()


def _kind(specification: Specification) -> type[DriftingLearner | Learner]:
    return DriftingLearner if specification.drift else Learner


def _tested(specification: Specification, tables: PeriodTables) -> OverTime:
    return replace(follow(specification, tables), test=drift_test(specification, tables))
