"""The rules for answers: many in one transaction, each stored and counted once, or refused.

An answer with a genuine ticket is checked in this order: already stored (which settles its fate, whatever the
collection's state is now); the collection's state; the ticket's expiry; `max_answers`. If the collection was deleted,
expiry comes first: it is final for every client, so whoever keeps an answer for later gives up after a day.

A sender who repeats an answer with its key, or without one if there was none, learns that it is a repeat. Anybody else
who has the ticket learns only that it is used, whatever answer they send: all guesses at an answer that was stored with
a key get the same reply.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Connection

from dither_server.answers.closing import is_closed, is_full
from dither_server.answers.sql import (
    NOT_KEPT,
    Key,
    Rules,
    StoredAnswer,
    number_queries,
    read_rules,
    read_stored,
    spend_tickets,
    store_answers,
)
from dither_server.database.engine import history_of

__all__ = ["Arrival", "Fate", "Ingest", "Stored", "hash_retry_key"]

_HASH_BYTES = 16
_COLLECTION = itemgetter(0)


class Fate(IntEnum):
    """The outcome of an answer. An integer, since it is looked up for every answer."""

    STORED = auto()
    REPEATED = auto()
    """The same answer was stored before with the same key; or any answer, if answers are not kept."""
    TAKEN = auto()
    """An answer was stored before, about which nothing is revealed."""
    CLOSED = auto()
    EXPIRED = auto()
    DELETED = auto()
    FULL = auto()
    UNSETTLED = auto()
    """Not stored, and not refused for good: the collection changed while the answer was to be stored."""


class Arrival(NamedTuple):
    """An answer whose ticket is genuine. A tuple, since there are many."""

    key: Key
    """The key under which one answer may be stored."""
    query: bytes
    """The packed query."""
    answer: int
    received_at: int
    """Milliseconds."""
    expired: bool
    """Whether the ticket had expired by then."""
    gateway: int = 0
    """The number of the gateway that the ticket came through; 0 for none."""
    retry_hash: bytes | None = None
    """The hash of the answer's retry key, from `hash_retry_key`; None without a key."""


def hash_retry_key(ticket: bytes, retry_key: str) -> bytes:
    """The stored form of a key: a reader of the database cannot repeat an answer to learn whether it is the same."""
    return hashlib.sha256(ticket + retry_key.encode()).digest()[:_HASH_BYTES]


@dataclass(frozen=True)
class Stored:
    """The effect of a transaction, valid once it is committed."""

    fates: list[Fate]
    """In the order of the arrivals."""
    totals: Mapping[int, int | None]
    """The collections that got answers, with their number of answers if they have a maximum."""
    queries: Mapping[bytes, int]
    """Row numbers of the packed queries that were answered."""
    new: Collection[Arrival]
    """The answers that were stored."""
    added: Mapping[int, int]
    """The number of new answers by collection."""


class Ingest:
    """Stores answers; used by one thread."""

    def __init__(self, slot: int = 0) -> None:
        self.slot = slot
        """The number of the process, which has its own count rows; any thread may set it."""
        self._queries: dict[bytes, int] = {}
        self._history: str | None = None
        """The history of the database that the numbers of queries are of."""
        self._plain: set[int] = set()
        """The collections that keep their answers and have no maximum, neither of which can change."""

    def all_plain(self, arrivals: Sequence[Arrival]) -> bool:
        """Whether each answer can only be refused because its collection is closed or its ticket is used.

        That holds for nearly all answers after the first of a collection; `store_at_once` requires it.
        """
        return all(a.key[0] in self._plain and a.query in self._queries and not a.expired for a in arrivals)

    def knows(self, connection: Connection) -> bool:
        """Whether the database still has the history that this object remembers; `store_at_once` requires it."""
        return history_of(connection) == self._history

    def store_at_once(self, connection: Connection, arrivals: Sequence[Arrival]) -> Stored:
        """Does what `store` does, on a connection to PostgreSQL where each statement is a transaction of its own."""
        return self._store_plain(connection, arrivals, None)

    def store(self, connection: Connection, arrivals: Sequence[Arrival]) -> Stored:
        """Stores and counts the `arrivals` that pass the checks, in the connection's transaction."""
        if not self.knows(connection):
            self.forget_queries()
            self._history = history_of(connection)
        rules = read_rules(connection, sorted({arrival.key[0] for arrival in arrivals}))
        self._plain |= {number for number, rule in rules.items() if rule.keep_answers and rule.max_answers is None}
        firsts: dict[Key, Arrival] = {}
        for arrival in arrivals:
            firsts.setdefault(arrival.key, arrival)
        refused = {key: fate for key, first in firsts.items() if (fate := _refusal(rules[key[0]], first))}
        if not refused and self.all_plain(arrivals):
            return self._store_plain(connection, arrivals, rules)
        limited = {number for number, rule in rules.items() if rule.max_answers is not None}
        settled = {key for key in firsts if key in refused or key[0] in limited}
        known = read_stored(connection, settled, rules)
        candidates = {key: first for key, first in firsts.items() if key not in refused and key not in known}
        for key in _beyond_room(candidates, rules) if limited else ():
            del candidates[key]
            refused[key] = Fate.FULL
        numbers = self._query_numbers(connection, {arrival.query for arrival in candidates.values()})
        rows = {key: (numbers[a.query], a.answer, a.received_at, a.retry_hash) for key, a in candidates.items()}
        kept = {key: row for key, row in rows.items() if rules[key[0]].keep_answers}
        rest = {key: row for key, row in rows.items() if key not in kept} if len(kept) < len(rows) else {}
        new = store_answers(connection, self.slot, kept) | spend_tickets(connection, self.slot, rest)
        known |= read_stored(connection, candidates.keys() - new, rules)
        refused |= _refused_now(connection, [candidates[key] for key in candidates.keys() - new - known.keys()])
        added = Counter(key[0] for key in new)
        totals = {number: rules[number].total + more if number in limited else None for number, more in added.items()}
        stored = {key: candidates[key] for key in new}
        known |= dict.fromkeys(rest.keys() & new, (NOT_KEPT, None))
        fates = _fates(arrivals, refused, stored, known)
        return Stored(fates, totals, numbers, stored.values(), added)

    def _store_plain(
        self, connection: Connection, arrivals: Sequence[Arrival], rules: Mapping[int, Rules] | None
    ) -> Stored:
        """Stores arrivals for which `all_plain` holds."""
        candidates = {arrival.key: arrival for arrival in reversed(arrivals)}  # of one ticket twice, the first
        rows = {key: (self._queries[a.query], a.answer, a.received_at, a.retry_hash) for key, a in candidates.items()}
        new = store_answers(connection, self.slot, rows)
        added = Counter(map(_COLLECTION, new))
        totals = dict.fromkeys(added)
        if len(new) == len(arrivals):
            return Stored([Fate.STORED] * len(arrivals), totals, {}, arrivals, added)
        rest = candidates.keys() - new
        known = read_stored(connection, rest, rules or read_rules(connection, {key[0] for key in rest}))
        refused = _refused_now(connection, [candidates[key] for key in rest - known.keys()])
        stored = {key: candidates[key] for key in new}
        return Stored(_fates(arrivals, refused, stored, known), totals, {}, stored.values(), added)

    def forget_queries(self) -> None:
        """Call this if a transaction failed because of a query's row that is gone: all are looked up again."""
        self._queries = {}

    def committed(self, stored: Stored) -> None:
        """Call this once the transaction of `stored` is committed: only then are its query rows permanent."""
        self._queries.update(stored.queries)

    def _query_numbers(self, connection: Connection, packed: set[bytes]) -> dict[bytes, int]:
        """Row numbers of packed queries."""
        numbers = {query: self._queries[query] for query in packed if query in self._queries}
        return numbers | number_queries(connection, packed - numbers.keys())


def _refusal(rules: Rules, arrival: Arrival) -> Fate | None:
    """Why a new answer is refused, apart from `max_answers`; None if it is not."""
    if rules.deleted:
        return Fate.EXPIRED if arrival.expired else Fate.DELETED
    if is_closed(rules.state, rules.closes_at, arrival.received_at):
        return Fate.CLOSED
    return Fate.EXPIRED if arrival.expired else None


def _refused_now(connection: Connection, arrivals: Collection[Arrival]) -> dict[Key, Fate]:
    """The fates of new answers that were not stored: their collections were closed or deleted a moment ago.

    What they are now is read after that, on PostgreSQL by a statement of its own. A closure is final and still seen; a
    deleted collection may have been restored, and then nothing is said of the answer.
    """
    rules = read_rules(connection, {arrival.key[0] for arrival in arrivals})
    return {one.key: _refusal(rules[one.key[0]], one) or Fate.UNSETTLED for one in arrivals}


def _beyond_room(candidates: Mapping[Key, Arrival], rules: Mapping[int, Rules]) -> list[Key]:
    """The candidates beyond their collection's maximum: the last to arrive."""
    taken: Counter[int] = Counter()
    beyond = []
    for key in candidates:
        rule = rules[key[0]]
        if is_full(rule.max_answers, rule.total + taken[key[0]]):
            beyond.append(key)
        taken[key[0]] += 1
    return beyond


def _fates(
    arrivals: Sequence[Arrival],
    refused: Mapping[Key, Fate],
    new: Mapping[Key, Arrival],
    known: Mapping[Key, StoredAnswer],
) -> list[Fate]:
    """The fate of each arrival. Of several with one ticket, the first is stored and the others are compared with it."""
    fates = []
    for arrival in arrivals:
        first = new.get(arrival.key)
        if first is arrival:
            fates.append(Fate.STORED)
            continue
        stored = known.get(arrival.key, (first.answer, first.retry_hash) if first else None)
        fates.append(refused[arrival.key] if stored is None else _settled(stored, arrival))
    return fates


def _settled(stored: StoredAnswer, arrival: Arrival) -> Fate:
    """The fate of an answer whose ticket already has one.

    The key is checked first: without it, neither the fate nor the time that this takes depends on the answers. An
    answer without a key can be repeated by anybody who has the ticket.
    """
    answer, retry_hash = stored
    if answer == NOT_KEPT:
        return Fate.REPEATED
    if not hmac.compare_digest(retry_hash or b"", arrival.retry_hash or b""):
        return Fate.TAKEN
    return Fate.REPEATED if answer == arrival.answer else Fate.TAKEN
