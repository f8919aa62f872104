"""One collection's learner, kept equal to the collection's count table."""

import json
import logging
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_client.posterior.wire import Misfit, PosteriorReply, to_json
from dither_estimator.checks.goodness_of_fit import Look, check_questions, misfit_p_value, misfit_report
from dither_estimator.learning.learner import InvalidSnapshot, Learner
from dither_estimator.likelihood.counts import total_answers
from dither_estimator.likelihood.institutions import Members, members_of, without_members
from dither_estimator.policies.pool_size import pool_size
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.collections.collections import Collection
from dither_server.collections.institutions import Institutions, table_of
from dither_server.database.reads import HistoryRow, Store
from dither_server.tickets.packing import Purpose, pack_query

__all__ = ["Keeper", "Particles", "Published", "Question", "Update", "stored_learner"]

_MANY = 1_000
"""People who are expected to hold questions at one time, until it is seen how many answer."""
_HISTORY_GROWTH = 1.02
"""The history gets a row when the answers have grown by this factor."""

_log = logging.getLogger(__name__)


Particles = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Parameters, shape (n, d), and normalised weights, shape (n,)."""


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
    posterior: PosteriorReply
    particles: Particles | None
    """None where another process runs the particle system."""
    check_pools: Mapping[Fraction, tuple[Question, ...]] = field(default_factory=dict)
    """The check questions of each ε, likewise; empty without a check."""
    renew_at: float = math.inf
    """The answers after which other questions would be asked, much better ones."""
    check_share: float = 0.0
    """The chance that a ticket is to be a check ticket."""
    width: float = 0.0
    """Distance between the outermost cell edges of the pools' questions, on the transformed scale."""

    @property
    def questions(self) -> set[bytes]:
        """All of them, packed."""
        pools = chain(self.pools.values(), self.check_pools.values())
        return {question.packed for pool in pools for question in pool}


@dataclass(frozen=True)
class Update:
    """What it took the particles to take in new counts."""

    moves: int
    seconds: float


class Keeper:
    """Used by the owner's thread alone."""

    def __init__(self, collection: Collection, store: Store, institutions: Institutions, clock: Clock) -> None:
        self.collection = collection
        self._store = store
        self._institutions = institutions
        self._clock = clock
        self._queries: dict[str, Query] = {}
        self._learner = stored_learner(collection, store)
        self._history_at = store.last_history(collection.number)
        self._outstanding = _MANY
        self._shares = 0
        self._check = collection.specification.misfit_check
        self._check_counts: dict[Query, npt.NDArray[np.int64]] = {}
        self._looks = store.looks(collection.number)
        self._rng = np.random.default_rng()

    @property
    def answers(self) -> int:
        """How many answers have been learnt."""
        return self._learner.answers

    @property
    def known(self) -> int:
        """How many answers are taken into account, those of check questions too, and how many institutions."""
        return self.learnt + total_answers(self._check_counts)

    @property
    def learnt(self) -> int:
        """How many answers and institutions have been learnt."""
        return self._learner.answers + self._shares

    def catch_up(self) -> Update | None:
        """Learns what the count table has and the learner has not: the difference of the two, whatever its history.

        So it does with what institutions shared. None if there was nothing new.
        """
        known = self.known
        table = self._count_table()
        missing = _difference(table, self._learner.counts)
        shared = self._shared()
        members = without_members(shared, self._learner.members)
        if missing is None or members is None:
            _log.warning("counts went back: learning them all again", extra={"collection": self.collection.id})
            self._learner = _new_learner(self.collection)
            missing, members = table, shared
            known = -1
        update = self._learn(missing, members) if missing or members else Update(0, 0.0)
        if self._check is not None:
            self._check_counts = self._count_table("check")
        return update if self.known != known else None

    def _shared(self) -> Members:
        """What institutions have shared, and takes note of how many did."""
        if self.collection.specification.member_cuts is None:
            return {}
        shares = self._institutions.shares(self.collection.number)
        self._shares = len(shares)
        return members_of(table_of(self.collection, shares))

    def _learn(self, missing: Mapping[Query, npt.NDArray[np.int64]], members: Members) -> Update:
        before, began = self._learner.moves, time.perf_counter()
        self._learner.learn_counts(missing)
        self._learner.learn_members(members)
        self._learner.particles()  # counts are taken in when somebody looks; now, since this is timed
        self._outstanding = int(sum(row.sum() for row in missing.values())) or self._outstanding
        return Update(self._learner.moves - before, time.perf_counter() - began)

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
        size = pool_size(learner.answers, self._outstanding)
        choices = self.collection.specification.epsilon_choices
        pools = {epsilon: learner.pool(size, epsilon) for epsilon in choices}
        return Published(
            pools={epsilon: _questions(pool) for epsilon, pool in pools.items()},
            answers=learner.answers,
            posterior=learner.posterior().reply(
                institutions=self._shares,
                misfit=self._misfit(),
                updated_at=iso_time(milliseconds(self._clock())),
            ),
            particles=learner.particles(),
            renew_at=learner.renew_at,
            check_pools={epsilon: self._check_pool(epsilon) for epsilon in choices if self._check},
            check_share=self._check.share if self._check else 0.0,
            width=_width(pools.values()),
        )

    def history(self, published: Published) -> HistoryRow | None:
        """A row for the history if it is time for one."""
        if published.answers < max(self._history_at + 1, math.ceil(self._history_at * _HISTORY_GROWTH)):
            return None
        self._history_at = published.answers
        return HistoryRow(
            answers=published.answers,
            at=milliseconds(self._clock()),
            ess=published.posterior.ess,
            posterior=_json(to_json(published.posterior.posterior)),
            query=published.pools[self.collection.specification.epsilon][0].json,
        )

    def snapshot(self) -> bytes:
        """The learner's whole state."""
        return self._learner.snapshot()

    def _check_pool(self, epsilon: Fraction) -> tuple[Question, ...]:
        spec = self.collection.specification
        one_level = spec.check_question(epsilon)
        return _questions(check_questions(spec.family, *self._learner.particles(), one_level, spec.transform), "check")

    def _misfit(self) -> Misfit | None:
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


def _width(pools: Iterable[Iterable[Query]]) -> float:
    edges = [edge for pool in pools for query in pool for edge in (query.edges[0], query.edges[-1])]
    return max(edges) - min(edges)


def stored_learner(collection: Collection, store: Store) -> Learner:
    """The learner as its last snapshot has it, or one that has learnt nothing if there is none that can be used."""
    content = store.snapshot(collection.number)
    if content is not None:
        try:
            return Learner.restore(collection.specification, content)
        except InvalidSnapshot as error:
            facts = {"collection": collection.id, "why": str(error)}
            _log.warning("snapshot refused: learning the counts again", extra=facts)
    return _new_learner(collection)


def _new_learner(collection: Collection) -> Learner:
    return Learner(collection.specification, np.random.SeedSequence())


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
