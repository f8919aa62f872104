"""One collection's learner, kept equal to the collection's count table."""

import json
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_estimator.counts import total_answers
from dither_estimator.learner import InvalidSnapshot, Learner
from dither_estimator.misfit import Look, check_questions, misfit_p_value, misfit_report
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.collections import Collection
from dither_server.packing import Purpose, pack_query
from dither_server.store import HistoryRow, Store

__all__ = ["Keeper", "Published", "Question"]

_FIRST_POOL = 16
"""Questions out at first, when nothing is known of how many respondents come at once."""
_LARGEST_POOL = 16
_HISTORY_GROWTH = 1.02
"""The history gets a row when the answers have grown by this factor."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """A query, ready to be put into a ticket and into the JSON around it."""

    packed: bytes
    json: str


@dataclass(frozen=True)
class Published:
    """What requests read: immutable, replaced as a whole."""

    pools: Mapping[Fraction, tuple[Question, ...]]
    """The questions of each ε, to be drawn from with equal probability."""
    answers: int
    posterior: Mapping[str, Any]
    """As on the wire."""
    parameters: tuple[str, ...]
    theta: npt.NDArray[np.float64]
    """Particles, shape (n, d)."""
    weights: npt.NDArray[np.float64]
    """Normalised, shape (n,)."""
    check_pools: Mapping[Fraction, tuple[Question, ...]] = field(default_factory=dict)
    """The check questions of each ε, likewise; empty without a check."""
    check_share: float = 0.0
    """The chance that a ticket is to be a check ticket."""


class Keeper:
    """Used by the owner's thread alone."""

    def __init__(self, collection: Collection, store: Store, clock: Clock) -> None:
        self.collection = collection
        self._store = store
        self._clock = clock
        self._queries: dict[str, Query] = {}
        self._learner = self._restored() or self._new()
        self._history_at = store.last_history(collection.number)
        self._newest = _FIRST_POOL
        self._check = collection.specification.misfit_check
        self._check_counts: dict[Query, npt.NDArray[np.int64]] = {}
        self._looks = store.looks(collection.number)
        self._rng = np.random.default_rng()

    @property
    def answers(self) -> int:
        """How many answers have been learnt."""
        return self._learner.answers

    def catch_up(self) -> None:
        """Learns what the count table has and the learner has not: the difference of the two, whatever its history."""
        table = self._count_table()
        missing = _difference(table, self._learner.counts)
        if missing is None:
            _log.warning("counts went back: learning them all again", extra={"collection": self.collection.id})
            self._learner = self._new()
            missing = table
        if missing:
            self._learner.learn_counts(missing)
            self._newest = int(sum(row.sum() for row in missing.values()))
        if self._check is not None:
            self._check_counts = self._count_table("check")

    def look(self) -> Look | None:
        """A look at the check answers if one is due. It counts once it is stored, and `keep_looks` was told."""
        check_answers = total_answers(self._check_counts)
        due = None if self._check is None else self._check.due(check_answers, self._looks)
        if due is None:
            return None
        family = self.collection.specification.family
        p_value = misfit_p_value(self._rng, family, *self._learner.particles(), self._check_counts)
        return Look(due, check_answers, self._learner.answers, p_value)

    def keep_looks(self, looks: list[Look]) -> None:
        """Takes note of all looks that are stored."""
        self._looks = looks

    def publish(self) -> Published:
        """The learner's state for everybody to read."""
        learner = self._learner
        size = max(1, min(self._newest, _LARGEST_POOL))
        choices = self.collection.specification.epsilon_choices
        theta, weights = learner.particles()
        posterior = learner.posterior().to_json()
        return Published(
            pools={epsilon: _questions(learner.pool(size, epsilon)) for epsilon in choices},
            answers=learner.answers,
            posterior={**posterior, "misfit": self._misfit(), "updated_at": iso_time(milliseconds(self._clock()))},
            parameters=self.collection.specification.family.names,
            theta=theta,
            weights=weights,
            check_pools={epsilon: self._check_pool(epsilon) for epsilon in choices if self._check},
            check_share=self._check.share if self._check else 0.0,
        )

    def history(self, published: Published) -> HistoryRow | None:
        """A row for the history if it is time for one."""
        if published.answers < max(self._history_at + 1, math.ceil(self._history_at * _HISTORY_GROWTH)):
            return None
        self._history_at = published.answers
        return HistoryRow(
            answers=published.answers,
            at=milliseconds(self._clock()),
            ess=float(published.posterior["ess"]),
            posterior=_json(published.posterior["posterior"]),
            query=published.pools[self.collection.specification.epsilon][0].json,
        )

    def snapshot(self) -> bytes:
        """The learner's whole state."""
        return self._learner.snapshot()

    def _new(self) -> Learner:
        return Learner(self.collection.specification, np.random.SeedSequence())

    def _restored(self) -> Learner | None:
        content = self._store.snapshot(self.collection.number)
        if content is None:
            return None
        try:
            return Learner.restore(self.collection.specification, content)
        except InvalidSnapshot as error:
            facts = {"collection": self.collection.id, "why": str(error)}
            _log.warning("snapshot refused: learning the counts again", extra=facts)
            return None

    def _check_pool(self, epsilon: Fraction) -> tuple[Question, ...]:
        spec = self.collection.specification
        return _questions(check_questions(spec.family, *self._learner.particles(), epsilon, spec.transform), "check")

    def _misfit(self) -> dict[str, Any] | None:
        if self._check is None:
            return None
        family = self.collection.specification.family
        return misfit_report(self._check, family, total_answers(self._check_counts), self._looks)

    def _count_table(self, purpose: Purpose = "training") -> dict[Query, npt.NDArray[np.int64]]:
        table: dict[Query, npt.NDArray[np.int64]] = {}
        for row in self._store.counts(self.collection.number, purpose):
            query = self._queries.get(row.query_id)
            if query is None:
                query = self._queries[row.query_id] = parse_query(json.loads(row.query))
            if query not in table:
                table[query] = np.zeros(query.n_answers, dtype=np.int64)
            table[query][row.answer] = row.count
        return table


def _questions(queries: Iterable[Query], purpose: Purpose = "training") -> tuple[Question, ...]:
    return tuple(Question(pack_query(query, purpose), _json(query.to_json())) for query in queries)


def _difference(
    table: Mapping[Query, npt.NDArray[np.int64]], learnt: Mapping[Query, npt.NDArray[np.int64]]
) -> dict[Query, npt.NDArray[np.int64]] | None:
    """What `table` has more than `learnt`, where it has more; None if anywhere it has less."""
    if not learnt.keys() <= table.keys():
        return None
    missing = {}
    for query, counts in table.items():
        more = counts - learnt[query] if query in learnt else counts
        if (more < 0).any():
            return None
        if more.any():
            missing[query] = more
    return missing


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
