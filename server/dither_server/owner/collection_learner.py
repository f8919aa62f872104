"""One collection's learner, kept equal to the collection's count table."""

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_client.posterior.wire import Misfit, ParameterSummary, to_json
from dither_estimator.checks.goodness_of_fit import Look, check_questions, misfit_p_value, misfit_report
from dither_estimator.learning.any_learner import AnyLearner, any_learner, restore_any_learner
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.description import number_summaries
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.snapshot import InvalidSnapshot
from dither_estimator.likelihood.counts import total_answers
from dither_estimator.likelihood.institutions import Members, members_of, without_members
from dither_estimator.policies.pool_size import pool_size
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.collections.collection import Collection
from dither_server.collections.institutions import Institutions, table_of
from dither_server.database.reads import HistoryRow, Store
from dither_server.owner.learning import Tables, learn, learnt, missing_from
from dither_server.owner.published import Particles, Pools, Published, Question
from dither_server.tickets.packing import NO_GROUP, Purpose, pack_query

__all__ = ["CollectionLearner", "Update", "stored_learner"]

_USUAL_OUTSTANDING = 1_000
"""The number of people assumed to hold a question at one time, until answers show how many do."""
_GROUP_POOL = 8
"""The most questions in the pool of a group."""
_GROUP_SECONDS = 0.2
"""For how long groups get new questions before something is published, and other collections have their turn."""
_HISTORY_GROWTH = 1.02
"""The history gets a row when the answers have grown by this factor."""
_BURST_GROWTH = 1.25
"""The factor for rows that take long to compute, while people wait for questions."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Update:
    """The cost of learning new counts."""

    moves: int
    seconds: float


class CollectionLearner:
    """Used by the owner's thread alone."""

    def __init__(self, collection: Collection, store: Store, institutions: Institutions, clock: Clock) -> None:
        self.collection = collection
        self._store = store
        self._institutions = institutions
        self._clock = clock
        self._queries: dict[str, Query] = {}
        self._learner = stored_learner(collection, store)
        self._history_at = store.last_history(collection.number)
        self._kept: deque[tuple[Published, int]] = deque()
        """States that the history has no row of yet, and their times in milliseconds."""
        self._outstanding: dict[str | None, int] = {}
        """How many people of each group, or of all, are taken to hold a question at one time."""
        self._pooled: dict[tuple[str | None, Fraction], tuple[tuple[Query, ...], tuple[Question, ...]]] = {}
        """The pools of the last publication, as queries and as what is published of them."""
        self._next_group: str | None = None
        self._shares = 0
        self._check = collection.specification.misfit_check
        self._check_counts: dict[Query, npt.NDArray[np.int64]] = {}
        self._looks = store.looks(collection.number)
        self._rng = np.random.default_rng(_new_seed())

    @property
    def answers(self) -> int:
        """The number of answers learnt."""
        return self._learner.answers

    @property
    def known(self) -> int:
        """The number of answers taken into account, also to check questions, plus that of institutions."""
        return self.learnt + total_answers(self._check_counts)

    @property
    def learnt(self) -> int:
        """The number of answers and institutions learnt."""
        return self._learner.answers + self._shares

    @property
    def owes_questions(self) -> bool:
        """Whether some groups wait for their turn at new questions: publish again soon."""
        return self._next_group is not None

    def catch_up(self) -> Update | None:
        """Learns the difference between the count table and what the learner knows, whatever its history.

        It also learns new counts of institutions. Returns None if there was nothing new.
        """
        known = self.known
        tables = self._count_tables()
        missing = missing_from(learnt(self._learner), tables)
        shared = self._shared()
        known_members = {} if isinstance(self._learner, GroupedLearner) else self._learner.members
        members = without_members(shared, known_members)
        if missing is None or members is None:
            _log.warning("counts went back: learning them all again", extra={"collection": self.collection.id})
            self._learner = any_learner(self.collection.specification, _new_seed())
            missing, members = missing_from({}, tables) or {}, shared
            known = -1
        update = self._learn(missing, members) if missing or members else Update(0, 0.0)
        if self._check is not None:
            self._check_counts = self._count_tables("check").get(None, {})
        return update if self.known != known else None

    def _shared(self) -> Members:
        """The counts that institutions have shared; records how many institutions did."""
        if self.collection.specification.member_cuts is None:
            return {}
        shares = self._institutions.shares(self.collection.number)
        self._shares = len(shares)
        return members_of(table_of(self.collection, shares))

    def _learn(self, missing: Tables, members: Members) -> Update:
        before, began = self._learner.moves, time.perf_counter()
        learn(self._learner, missing)
        if isinstance(self._learner, CountLearner):
            self._learner.learn_members(members)
        for group, table in missing.items():
            self._outstanding[group] = total_answers(table)
        self._learner.update()  # now, since this is timed, as are the questions
        self._pools()
        return Update(self._learner.moves - before, time.perf_counter() - began)

    def look(self) -> Look | None:
        """An interim look at the check answers, if due. It counts once it is stored and passed to `keep_looks`."""
        check_answers = total_answers(self._check_counts)
        due = None if self._check is None else self._check.due(check_answers, self._looks)
        if due is None:
            return None
        family = self.collection.specification.family
        p_value = misfit_p_value(self._rng, family, *self._learner.particles(), self._check_counts)
        return Look(due, check_answers, self._learner.answers, p_value)

    def keep_looks(self, looks: list[Look]) -> None:
        """Sets all looks that are stored."""
        self._looks = looks

    def publish(self) -> Published:
        """The learner's present state, for publication."""
        learner = self._learner
        choices = self.collection.specification.epsilon_choices
        by_group, posterior = self._pools(), learner.posterior()
        return Published(
            pools=by_group.pop(NO_GROUP),
            answers=learner.answers,
            posterior=posterior.reply(
                institutions=self._shares,
                misfit=self._misfit(),
                updated_at=iso_time(milliseconds(self._clock())),
            ),
            particles=Particles(learner.particle_names, posterior),
            describe=posterior.described,
            renew_at=learner.renew_at,
            check_pools={epsilon: self._check_pool(epsilon) for epsilon in choices if self._check},
            check_share=self._check.share if self._check else 0.0,
            width=_width(queries for queries, _ in self._pooled.values()),
            group_pools=by_group,
        )

    def _pools(self) -> dict[int, Pools]:
        """The pools by the group's number; those of `NO_GROUP` are for everybody without a group or without a pool."""
        learner, number = self._learner, self.collection.group_number
        if not isinstance(learner, GroupedLearner):
            outstanding = self._outstanding.get(None, _USUAL_OUTSTANDING)
            return {NO_GROUP: self._pools_of(None, pool_size(learner.answers, outstanding))}
        labels = learner.groups.labels
        answered = {label: answers for label in labels if (answers := learner.answers_of(label))}
        # All groups without answers are alike, and there may be hundreds.
        first = next((label for label in labels if label not in answered), labels[0])
        own = {number(label): pools for label, pools in self._own_pools(answered).items()}
        return {**own, NO_GROUP: self._pools_of(first, _GROUP_POOL if answered else pool_size(0, _USUAL_OUTSTANDING))}

    def _own_pools(self, answered: Mapping[str, int]) -> dict[str, Pools]:
        """The pools of these groups, by their numbers of answers; those whose turn is still to come have old ones.

        A group without old ones is left out. New questions of hundreds of groups may take minutes.
        """
        labels, until = list(answered), time.monotonic() + _GROUP_SECONDS
        known = self._next_group is not None and self._next_group in answered
        start = labels.index(str(self._next_group)) if known else 0
        self._next_group = None
        pools: dict[str, Pools] = {}
        for label in labels[start:] + labels[:start]:
            if not pools or time.monotonic() < until:
                size = min(_GROUP_POOL, pool_size(answered[label], self._outstanding.get(label, 1)))
                pools[label] = self._pools_of(label, size)
                continue
            self._next_group = self._next_group or label
            if old := self._old_pools(label):
                pools[label] = old
        return pools

    def _old_pools(self, group: str) -> Pools | None:
        """The pools that a group had in the last publication; None if it had none."""
        choices = self.collection.specification.epsilon_choices
        known = {epsilon: self._pooled.get((group, epsilon)) for epsilon in choices}
        return (
            {epsilon: pool[1] for epsilon, pool in known.items() if pool is not None} if all(known.values()) else None
        )

    def _pools_of(self, group: str | None, size: int) -> Pools:
        """The pools of one group; what is published of a pool is made once, as long as it is the same pool."""
        learner, pools = self._learner, {}
        for epsilon in self.collection.specification.epsilon_choices:
            if isinstance(learner, GroupedLearner):
                queries = learner.pool(size, epsilon, group=str(group))
            else:
                queries = learner.pool(size, epsilon)
            known = self._pooled.get((group, epsilon))
            if known is None or known[0] is not queries:
                known = self._pooled[group, epsilon] = queries, _questions(queries)
            pools[epsilon] = known[1]
        return pools

    def history(self, published: Published, calm: bool) -> Callable[[], HistoryRow] | None:
        """Computes a row for the history, in any thread; None if it is not time for one.

        One that takes long waits until it is `calm`. What changed in a burst is kept until then, and each call takes
        one row of it.
        """
        now = calm or bool(published.posterior.posterior)
        growth = _HISTORY_GROWTH if now else _BURST_GROWTH
        if published.answers >= max(self._history_at + 1, math.ceil(self._history_at * growth)):
            self._history_at = published.answers
            self._kept.append((published, milliseconds(self._clock())))
        return partial(self._row, *self._kept.popleft()) if now and self._kept else None

    @property
    def owes_history(self) -> bool:
        """Whether states of a burst are to become rows of the history."""
        return bool(self._kept)

    def _row(self, published: Published, at: int) -> HistoryRow:
        return HistoryRow(
            answers=published.answers,
            at=at,
            ess=published.posterior.ess,
            posterior=_json(to_json(_summaries(published))),
            query=published.pools[self.collection.specification.epsilon][0].json,
        )

    def snapshot(self) -> bytes:
        """The learner's whole state, as bytes to store."""
        return self._learner.snapshot()

    def _check_pool(self, epsilon: Fraction) -> tuple[Question, ...]:
        spec = self.collection.specification
        one_level = spec.check_question(epsilon)
        return _questions(check_questions(spec.family, *self._learner.particles(), one_level, spec.transform), "check")

    def _misfit(self) -> Misfit | None:
        if self._check is None:
            return None
        spec, check_answers = self.collection.specification, total_answers(self._check_counts)
        return misfit_report(self._check, spec.family, spec.transform, check_answers, self._looks)

    def _count_tables(self, purpose: Purpose = "training") -> dict[str | None, dict[Query, npt.NDArray[np.int64]]]:
        tables: dict[str | None, dict[Query, npt.NDArray[np.int64]]] = {}
        for row in self._store.counts(self.collection.number, purpose):
            query = self._queries.get(row.query_id)
            if query is None:
                query = self._queries[row.query_id] = parse_query(json.loads(row.query))
            table = tables.setdefault(self.collection.part_label(row), {})
            if query not in table:
                table[query] = np.zeros(query.n_answers, dtype=np.int64)
            table[query][row.answer] = row.count
        return tables


def _summaries(published: Published) -> Mapping[str, ParameterSummary]:
    """Summaries of the parameters; without a family, of some quantiles or of the shares of categories."""
    particles = published.particles
    if particles is None:
        return published.posterior.posterior
    return particles.posterior.summaries[0] or number_summaries(particles.population)


def _width(pools: Iterable[Iterable[Query]]) -> float:
    edges = [edge for pool in pools for query in pool for edge in (query.edges[0], query.edges[-1])]
    return max(edges) - min(edges)


def stored_learner(collection: Collection, store: Store) -> AnyLearner:
    """The learner from its last snapshot, or a new one if there is no usable snapshot."""
    content = store.snapshot(collection.number)
    if content is not None:
        try:
            return restore_any_learner(collection.specification, content)
        except InvalidSnapshot as error:
            facts = {"collection": collection.id, "why": str(error)}
            _log.warning("snapshot refused: learning the counts again", extra=facts)
    return any_learner(collection.specification, _new_seed())


def _new_seed() -> np.random.SeedSequence:
    """Entropy of the machine."""
    return np.random.SeedSequence()


def _questions(queries: Iterable[Query], purpose: Purpose = "training") -> tuple[Question, ...]:
    return tuple(Question(pack_query(query, purpose), _json(query.to_json())) for query in queries)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
