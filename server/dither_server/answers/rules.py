"""What becomes of answers: many of them in one transaction, each stored and counted once, or refused.

The order of checks on an answer whose ticket is genuine: already stored (then its fate is settled, whatever has become
of the collection since); the collection's state; the ticket's expiry; `max_answers`.

Whoever sends an answer again is told so if it shows the key that the answer was first sent with, or none if there was
none. Whoever else has the ticket is told that it is used, whatever answer it brings: guesses at what is stored with a
key are all told the same.
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

__all__ = ["Arrival", "Fate", "Ingest", "Stored", "hash_retry_key"]

_HASH_BYTES = 16
_COLLECTION = itemgetter(0)


class Fate(IntEnum):
    """What became of an answer. An integer, since every answer's is looked up."""

    STORED = auto()
    REPEATED = auto()
    """The same answer was stored before, by who has its key; any answer, where none is kept."""
    TAKEN = auto()
    """An answer was stored before, and nothing is said of it."""
    CLOSED = auto()
    EXPIRED = auto()
    FULL = auto()


class Arrival(NamedTuple):
    """An answer whose ticket is genuine. A tuple, since there are many."""

    key: Key
    """What the answer may be stored once under."""
    query: bytes
    """Packed."""
    answer: int
    received_at: int
    """Milliseconds."""
    expired: bool
    """Whether the ticket's life was over by then."""
    gateway: int = 0
    """The number of the gateway that the ticket came through; 0 for none."""
    retry_hash: bytes | None = None
    """Of the key that the answer came with, as `hash_retry_key`; None without one."""


def hash_retry_key(ticket: bytes, retry_key: str) -> bytes:
    """What a key is stored as: who can read the database cannot send an answer again and learn that it is the same."""
    return hashlib.sha256(ticket + retry_key.encode()).digest()[:_HASH_BYTES]


@dataclass(frozen=True)
class Stored:
    """What a transaction did; true once it is committed."""

    fates: list[Fate]
    """In the order of the arrivals."""
    totals: Mapping[int, int | None]
    """The collections that got answers, with their number of answers by now where there is a maximum."""
    queries: Mapping[bytes, int]
    """Row numbers of the packed queries that were answered."""
    new: Collection[Arrival]
    """Those that were stored."""
    added: Mapping[int, int]
    """How many answers each collection got."""


class Ingest:
    """Stores answers; used by one thread."""

    def __init__(self, slot: int = 0) -> None:
        self.slot = slot
        """Numbers the process, which has count rows of its own; any thread may set it."""
        self._queries: dict[bytes, int] = {}
        self._plain: set[int] = set()
        """Collections that keep their answers and have no maximum, which never changes."""

    def all_plain(self, arrivals: Sequence[Arrival]) -> bool:
        """Whether only a collection's end or an earlier answer may stand in the way of each.

        So it is with nearly all, once a collection's first are stored; `store_at_once` takes no others.
        """
        return all(a.key[0] in self._plain and a.query in self._queries and not a.expired for a in arrivals)

    def store_at_once(self, connection: Connection, arrivals: Sequence[Arrival]) -> Stored:
        """What `store` does, for a connection to PostgreSQL on which each statement is a transaction of its own."""
        return self._store_plain(connection, arrivals, None)

    def store(self, connection: Connection, arrivals: Sequence[Arrival]) -> Stored:
        """Stores and counts those of `arrivals` that may be, in the connection's transaction."""
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
        refused |= dict.fromkeys(candidates.keys() - new - known.keys(), Fate.CLOSED)  # a moment ago
        added = Counter(key[0] for key in new)
        totals = {number: rules[number].total + more if number in limited else None for number, more in added.items()}
        stored = {key: candidates[key] for key in new}
        known |= dict.fromkeys(rest.keys() & new, (NOT_KEPT, None))
        fates = _fates(arrivals, refused, stored, known)
        return Stored(fates, totals, numbers, stored.values(), added)

    def _store_plain(
        self, connection: Connection, arrivals: Sequence[Arrival], rules: Mapping[int, Rules] | None
    ) -> Stored:
        """Stores arrivals that only their collection's end or an earlier answer may stand in the way of."""
        candidates = {arrival.key: arrival for arrival in reversed(arrivals)}  # of one ticket twice, the first
        rows = {key: (self._queries[a.query], a.answer, a.received_at, a.retry_hash) for key, a in candidates.items()}
        new = store_answers(connection, self.slot, rows)
        added = Counter(map(_COLLECTION, new))
        totals = dict.fromkeys(added)
        if len(new) == len(arrivals):
            return Stored([Fate.STORED] * len(arrivals), totals, {}, arrivals, added)
        rest = candidates.keys() - new
        known = read_stored(connection, rest, rules or read_rules(connection, {key[0] for key in rest}))
        refused = dict.fromkeys(rest - known.keys(), Fate.CLOSED)
        stored = {key: candidates[key] for key in new}
        return Stored(_fates(arrivals, refused, stored, known), totals, {}, stored.values(), added)

    def committed(self, stored: Stored) -> None:
        """To be called once the transaction of `stored` is committed: only then are its query rows there to stay."""
        self._queries.update(stored.queries)

    def _query_numbers(self, connection: Connection, packed: set[bytes]) -> dict[bytes, int]:
        """Row numbers of packed queries."""
        numbers = {query: self._queries[query] for query in packed if query in self._queries}
        return numbers | number_queries(connection, packed - numbers.keys())


def _refusal(rules: Rules, arrival: Arrival) -> Fate | None:
    """Why an answer that is not stored yet may not be, room apart."""
    if is_closed(rules.state, rules.closes_at, arrival.received_at):
        return Fate.CLOSED
    return Fate.EXPIRED if arrival.expired else None


def _beyond_room(candidates: Mapping[Key, Arrival], rules: Mapping[int, Rules]) -> list[Key]:
    """The candidates for which their collection's maximum leaves no room: the last to arrive."""
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
    """The fate of each arrival; of several with one ticket, the first was stored and the others meet its answer."""
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
    """The fate of an answer whose ticket has an answer already.

    The key comes first: without it, neither the fate nor the time that this takes depends on the answers. An answer
    that came without a key is everybody's who has the ticket.
    """
    answer, retry_hash = stored
    if answer == NOT_KEPT:
        return Fate.REPEATED
    if not hmac.compare_digest(retry_hash or b"", arrival.retry_hash or b""):
        return Fate.TAKEN
    return Fate.REPEATED if answer == arrival.answer else Fate.TAKEN
