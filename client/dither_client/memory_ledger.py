"""A ledger that lasts as long as its object: for tests, and for a load generator that holds one for each respondent."""

import threading
from fractions import Fraction

from dither_client.entries import DEFAULT_CAP, Answer, Cap, Caps, Charge, Entry, new_retry_key
from dither_client.epsilon import MICRO, micro_epsilon
from dither_client.errors import LedgerError
from dither_client.member_counts import Asked

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """A `LedgerProtocol` of this process alone, safe to share between its threads. Raises `InvalidEpsilon`."""

    __slots__ = ("_caps", "_entries", "_lock", "_retry_keys")

    def __init__(self, max_epsilon: Cap = DEFAULT_CAP, max_epsilon_per_server: Cap | None = None) -> None:
        self._caps = Caps.read(max_epsilon, max_epsilon_per_server)
        self._entries: dict[tuple[str, str], Entry] = {}
        self._retry_keys: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def find(self, server: str, collection: str) -> Entry | None:
        return self._entries.get((server, collection))

    def charge(self, server: str, collection: str, ticket: str, query: Asked) -> Entry:
        with self._lock:
            entry = self._entries.get((server, collection))
            if entry is None:
                cost = micro_epsilon(query.epsilon)
                self._caps.check(cost, self._micro(None), self._micro(server))
                entry = Entry(server, collection, "charged", cost, ticket, query)
                self._entries[server, collection] = entry
            return entry

    def draw(self, server: str, collection: str, answer: Answer) -> Entry:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "charged":
                entry = entry.moved("drawn", answer)
                self._entries[server, collection] = entry
            return entry

    def retry_key(self, server: str, collection: str) -> str:
        with self._lock:
            return self._retry_keys.setdefault((server, collection), new_retry_key())

    def mark_sent(self, server: str, collection: str, receipt: str) -> None:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "drawn":
                self._entries[server, collection] = entry.moved("sent", entry.answer, receipt)

    def mark_expired(self, server: str, collection: str) -> None:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "drawn":
                self._entries[server, collection] = entry.moved("expired", entry.answer)

    def unsent(self, server: str) -> list[Entry]:
        with self._lock:
            return [e for e in self._entries.values() if e.server == server and e.state == "drawn"]

    def entries(self) -> list[Charge]:
        with self._lock:
            return [
                Charge(e.server, e.collection, Fraction(e.micro_epsilon, MICRO), e.state, e.receipt, e.query.rho)
                for e in self._entries.values()
            ]

    def spent(self, server: str | None = None) -> Fraction:
        with self._lock:
            return Fraction(self._micro(server), MICRO)

    def _entry(self, server: str, collection: str) -> Entry:
        try:
            return self._entries[server, collection]
        except KeyError:
            raise LedgerError("the ledger has no charge for this collection") from None

    def _micro(self, server: str | None) -> int:
        return sum(e.micro_epsilon for e in self._entries.values() if server is None or e.server == server)
