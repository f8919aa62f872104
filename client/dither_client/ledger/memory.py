"""A ledger in memory, for tests and for a load generator that holds one for each respondent."""

import threading
from fractions import Fraction

from dither_client.addresses import origin_of
from dither_client.errors import LedgerError
from dither_client.ledger.protocol import Answer, Cap, Caps, Charge, Entry, new_retry_key
from dither_client.mechanisms.epsilon import MICRO, micro_epsilon
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.price import Price

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """A `LedgerProtocol` within one process, safe to share between its threads. Raises `InvalidEpsilon`."""

    __slots__ = ("_entries", "_lock", "_prices", "_retry_keys", "caps")

    def __init__(
        self,
        max_epsilon: Cap | None = None,
        max_epsilon_per_server: Cap | None = None,
        max_epsilon_per_answer: Cap | None = None,
    ) -> None:
        self.caps = Caps.read(max_epsilon, max_epsilon_per_server, max_epsilon_per_answer)
        self._prices: dict[tuple[str, str], Price] = {}
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
                self.caps.check(cost, self._micro(None), self._micro(origin_of(server)))
                entry = Entry(server, collection, "charged", cost, ticket, query)
                self._entries[server, collection] = entry
            return entry

    def draw(self, server: str, collection: str, answer: Answer) -> Entry:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "charged":
                entry = entry.moved("drawn", answer, new_retry_key())
                self._entries[server, collection] = entry
            return entry

    def retry_key(self, server: str, collection: str) -> str:
        with self._lock:
            return self._retry_keys.setdefault((server, collection), new_retry_key())

    def price(self, server: str, collection: str) -> Price | None:
        return self._prices.get((server, collection))

    def keep_price(self, server: str, collection: str, told: Price) -> Price:
        with self._lock:
            return self._prices.setdefault((server, collection), told)

    def mark_sent(self, server: str, collection: str, receipt: str) -> None:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "drawn":
                self._entries[server, collection] = entry.moved("sent", entry.answer, entry.retry_key, receipt)

    def mark_expired(self, server: str, collection: str) -> None:
        with self._lock:
            entry = self._entry(server, collection)
            if entry.state == "drawn":
                self._entries[server, collection] = entry.moved("expired", entry.answer, entry.retry_key)

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
        charged = self._entries.values()
        return sum(e.micro_epsilon for e in charged if server is None or f"{e.server}/".startswith(f"{server}/"))
