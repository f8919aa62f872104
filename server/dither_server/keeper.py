"""One collection's learner, kept equal to the collection's count table."""

import json
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_estimator.learner import InvalidSnapshot, Learner
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.collections import Collection
from dither_server.packing import pack_query
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
            posterior={**posterior, "updated_at": iso_time(milliseconds(self._clock()))},
            parameters=self.collection.specification.family.names,
            theta=theta,
            weights=weights,
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

    def _count_table(self) -> dict[Query, npt.NDArray[np.int64]]:
        table: dict[Query, npt.NDArray[np.int64]] = {}
        for row in self._store.counts(self.collection.number):
            query = self._queries.get(row.query_id)
            if query is None:
                query = self._queries[row.query_id] = parse_query(json.loads(row.query))
            if query not in table:
                table[query] = np.zeros(query.n_answers, dtype=np.int64)
            table[query][row.answer] = row.count
        return table


def _questions(queries: Iterable[Query]) -> tuple[Question, ...]:
    return tuple(Question(pack_query(query), _json(query.to_json())) for query in queries)


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
