"""A ledger in memory, for tests and for a load generator that holds one for each respondent."""

import threading
from collections.abc import Sequence
from fractions import Fraction

from dither_client.addresses import origin_of
from dither_client.errors import LedgerError
from dither_client.ledger.protocol import Answer, Cap, Caps, Charge, Entry, check_reserved, new_retry_key
from dither_client.mechanisms.epsilon import MICRO, micro_epsilon
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.panel import NO_PERIOD
from dither_client.mechanisms.price import Price

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """A `LedgerProtocol` within one process, safe to share between its threads. Raises `InvalidEpsilon`."""

    __slots__ = ("_entries", "_lock", "_prices", "_reserved", "_retry_keys", "caps")

    def __init__(
        self,
        max_epsilon: Cap | None = None,
        max_epsilon_per_server: Cap | None = None,
        max_epsilon_per_answer: Cap | None = None,
    ) -> None:
        self.caps = Caps.read(max_epsilon, max_epsilon_per_server, max_epsilon_per_answer)
        self._prices: dict[tuple[str, str], Price] = {}
        self._entries: dict[tuple[str, str, int], Entry] = {}
        self._reserved: dict[tuple[str, str, int], int] = {}
        self._retry_keys: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def find(self, server: str, collection: str, period: int = NO_PERIOD) -> Entry | None:
        return self._entries.get((server, collection, period))

    def join(self, server: str, collection: str, periods: Sequence[int], epsilon: Fraction) -> tuple[int, ...]:
        with self._lock:
            if not self._turns(server, collection):
                cost = micro_epsilon(epsilon)
                self.caps.check(cost, self._micro(None), self._micro(origin_of(server)), len(periods))
                self._reserved |= {(server, collection, period): cost for period in periods}
            return self._turns(server, collection)

    def turns(self, server: str, collection: str) -> tuple[int, ...]:
        with self._lock:
            return self._turns(server, collection)

    def charge(self, server: str, collection: str, ticket: str, query: Asked, period: int = NO_PERIOD) -> Entry:
        with self._lock:
            key = (server, collection, period)
            entry = self._entries.get(key)
            if entry is None:
                cost = micro_epsilon(query.epsilon)
                if key in self._reserved:
                    cost = check_reserved(self._reserved[key], cost)
                    del self._reserved[key]
                else:
                    self.caps.check(cost, self._micro(None), self._micro(origin_of(server)))
                entry = Entry(server, collection, "charged", cost, ticket, query, period=period)
                self._entries[key] = entry
            return entry

    def draw(self, server: str, collection: str, answer: Answer, period: int = NO_PERIOD) -> Entry:
        with self._lock:
            entry = self._entry(server, collection, period)
            if entry.state == "charged":
                entry = entry.moved("drawn", answer, new_retry_key())
                self._entries[server, collection, period] = entry
            return entry

    def retry_key(self, server: str, collection: str) -> str:
        with self._lock:
            return self._retry_keys.setdefault((server, collection), new_retry_key())

    def price(self, server: str, collection: str) -> Price | None:
        return self._prices.get((server, collection))

    def keep_price(self, server: str, collection: str, told: Price) -> Price:
        with self._lock:
            return self._prices.setdefault((server, collection), told)

    def mark_sent(self, server: str, collection: str, receipt: str, period: int = NO_PERIOD) -> None:
        with self._lock:
            entry = self._entry(server, collection, period)
            if entry.state == "drawn":
                self._entries[server, collection, period] = entry.moved("sent", entry.answer, entry.retry_key, receipt)

    def mark_expired(self, server: str, collection: str, period: int = NO_PERIOD) -> None:
        with self._lock:
            entry = self._entry(server, collection, period)
            if entry.state == "drawn":
                self._entries[server, collection, period] = entry.moved("expired", entry.answer, entry.retry_key)

    def unsent(self, server: str) -> list[Entry]:
        with self._lock:
            return [e for e in self._entries.values() if e.server == server and e.state == "drawn"]

    def entries(self) -> list[Charge]:
        with self._lock:
            charged = [
                Charge(
                    e.server,
                    e.collection,
                    Fraction(e.micro_epsilon, MICRO),
                    e.state,
                    e.receipt,
                    e.query.rho,
                    e.period,
                )
                for e in self._entries.values()
            ]
            reserved = [
                Charge(server, collection, Fraction(micro, MICRO), "reserved", None, None, period)
                for (server, collection, period), micro in self._reserved.items()
            ]
            return charged + reserved

    def spent(self, server: str | None = None) -> Fraction:
        with self._lock:
            return Fraction(self._micro(server), MICRO)

    def _turns(self, server: str, collection: str) -> tuple[int, ...]:
        kept = [*self._entries, *self._reserved]
        return tuple(sorted(key[2] for key in kept if key[:2] == (server, collection) and key[2] != NO_PERIOD))

    def _entry(self, server: str, collection: str, period: int) -> Entry:
        try:
            return self._entries[server, collection, period]
        except KeyError:
            raise LedgerError("the ledger has no charge for this collection") from None

    def _micro(self, server: str | None) -> int:
        charged = [(key[0], entry.micro_epsilon) for key, entry in self._entries.items()]
        charged += [(key[0], micro) for key, micro in self._reserved.items()]
        return sum(micro for of, micro in charged if server is None or f"{of}/".startswith(f"{server}/"))
