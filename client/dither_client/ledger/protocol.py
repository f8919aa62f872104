"""The protocol that every ledger follows: it holds every ε spent, and every answer until the server has it.

A ledger has one entry for each collection of each server, which is made before noise is drawn and is never removed; of
a panel, one for each period in which the respondent answers, whose ε is spent when the respondent joins. The states of
an entry, in order:

- `charged`: the ticket and the query are stored, and ε is spent.
- `drawn`: the answer is stored permanently, with the key that it is sent with.
- `sent`: the receipt is stored. Or `expired`: the answer came too late, and the charge stands.
"""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

from dither_client.addresses import origin_of
from dither_client.errors import OverCap
from dither_client.mechanisms.epsilon import MICRO, epsilon_text, parse_epsilon
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.panel import NO_PERIOD
from dither_client.mechanisms.price import Price

__all__ = [
    "Answer",
    "Cap",
    "Caps",
    "Charge",
    "Entry",
    "LedgerProtocol",
    "State",
    "check_reserved",
    "find_entry",
    "new_retry_key",
]

State = Literal["charged", "drawn", "sent", "expired"]

Cap = str | int | float | Decimal | Fraction
"""An upper bound of ε, read exactly as `parse_epsilon` does."""

_TOTAL, _PER_SERVER, _PER_ANSWER = "10", "5", "2"
"""The caps that apply unless a respondent sets a total."""

Answer = int | tuple[int, ...]
"""An answer to a query, or the tuple of counts that answers `MemberCounts`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One collection's ticket, query and answer. `answer` is None until it is drawn, `receipt` until it is sent.

    `period` is the number of the period in which the respondent of a panel gives this answer.

    `retry_key` is drawn with the answer and sent with it. It proves to the server that a repeated request comes from
    the sender of the first one: others who have the ticket lack the key, and learn nothing by guessing answers.
    """

    server: str
    collection: str
    state: State
    micro_epsilon: int
    ticket: str = field(repr=False)
    query: Asked
    answer: Answer | None = field(default=None, repr=False)
    receipt: str | None = None
    retry_key: str | None = field(default=None, repr=False)
    period: int = NO_PERIOD

    def moved(self, state: State, answer: Answer | None, retry_key: str | None, receipt: str | None = None) -> "Entry":
        """A copy of this entry in another state; twice as fast as `dataclasses.replace`."""
        kept = (self.server, self.collection, state, self.micro_epsilon, self.ticket, self.query)
        return Entry(*kept, answer, receipt, retry_key, self.period)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one answer to a collection has cost, and its state: in a panel `reserved` until its period has come.

    `epsilon` counts against the caps. `rho` is the ρ of zero-concentrated differential privacy of the same answer, if
    its mechanism states one.
    """

    server: str
    collection: str
    epsilon: Fraction
    state: State | Literal["reserved"]
    receipt: str | None
    rho: Fraction | None = None
    period: int = NO_PERIOD
    """The number of the answer's period, in a panel."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Upper bounds, in micro-ε, on the total, on any one server and on any one answer."""

    total: int
    per_server: int | None
    per_answer: int | None

    @staticmethod
    @lru_cache(maxsize=64, typed=True)
    def read(total: Cap | None, per_server: Cap | None, per_answer: Cap | None) -> "Caps":
        """Reads caps and rounds them down, so that spending never exceeds what was written. Raises `InvalidEpsilon`.

        Without `total`, a cap that is None has its default; with `total`, a cap that is None does not apply.
        """
        if total is None:
            total, per_server, per_answer = (
                _TOTAL,
                _PER_SERVER if per_server is None else per_server,
                (_PER_ANSWER if per_answer is None else per_answer),
            )
        return Caps(_round_down(total), _optional(per_server), _optional(per_answer))

    def check(self, micro_epsilon: int, spent: int, spent_on_server: int, answers: int = 1) -> None:
        """Raises `OverCap`, which names the cap, if `micro_epsilon` more on each of `answers` would exceed one."""
        costs = f"this question costs ε = {_written(micro_epsilon)}"
        if answers > 1:
            costs = f"this panel costs ε = {_written(answers * micro_epsilon)} for {answers} answers"
        if self.per_answer is not None and micro_epsilon > self.per_answer:
            allowed = f"{_written(self.per_answer)} is allowed for one answer"
            raise OverCap(f"{costs}, and {allowed}; set max_epsilon_per_answer to allow more")
        bounds = [
            (spent, self.total, "in total", "max_epsilon"),
            (spent_on_server, self.per_server, "on this server", "max_epsilon_per_server"),
        ]
        for before, cap, where, name in bounds:
            if cap is not None and before + answers * micro_epsilon > cap:
                used = f"ε = {_written(before)} of the {_written(cap)} allowed {where} is spent"
                raise OverCap(f"{costs}, and {used}; set {name} to allow more")


class LedgerProtocol(Protocol):
    """What the protocol's flows need from a ledger. Each call is atomic, also across processes that share a ledger.

    `period` is the number of a period, for an answer of a panel.
    """

    def find(self, server: str, collection: str, period: int = NO_PERIOD) -> Entry | None:
        """The entry of a collection, if there is one."""

    def join(self, server: str, collection: str, periods: Sequence[int], epsilon: Fraction) -> tuple[int, ...]:
        """Spends ε on each of a panel's `periods` and reserves them. Raises `OverCap`.

        If the collection already has reserved periods, returns those and spends nothing.
        """

    def turns(self, server: str, collection: str) -> tuple[int, ...]:
        """The periods that `join` reserved, increasing; none before it is called."""

    def charge(self, server: str, collection: str, ticket: str, query: Asked, period: int = NO_PERIOD) -> Entry:
        """Spends the query's ε and stores the ticket and the query. Raises `OverCap`.

        What is reserved was spent already. If there is an entry beyond that, returns it and spends nothing.
        """

    def draw(self, server: str, collection: str, answer: Answer, period: int = NO_PERIOD) -> Entry:
        """Stores the answer of a charged entry with a new retry key; returns the entry with the answer stored first."""

    def retry_key(self, server: str, collection: str) -> str:
        """The random key for requesting a collection's ticket with an invitation; the same at every call."""

    def price(self, server: str, collection: str) -> Price | None:
        """The price that was kept for a collection, if any."""

    def keep_price(self, server: str, collection: str, told: Price) -> Price:
        """Keeps the price that the terms state, and returns the price kept first, which never changes."""

    def mark_sent(self, server: str, collection: str, receipt: str, period: int = NO_PERIOD) -> None:
        """Stores the receipt of a drawn entry."""

    def mark_expired(self, server: str, collection: str, period: int = NO_PERIOD) -> None:
        """Records that the answer of a drawn entry came too late."""

    def unsent(self, server: str) -> list[Entry]:
        """The drawn entries of a server, oldest first."""

    def entries(self) -> list[Charge]:
        """Every charge, oldest first."""

    def spent(self, server: str | None = None) -> Fraction:
        """ε spent in total, or on one server."""


def find_entry(ledger: LedgerProtocol, server: str, collection: str) -> Entry | None:
    """The entry of a collection, even if an earlier version stored it under the server's address without its path."""
    origin = origin_of(server)
    entry = ledger.find(server, collection)
    return ledger.find(origin, collection) if entry is None and origin != server else entry


def check_reserved(reserved: int, cost: int) -> int:
    """Returns the micro-ε that were spent when an answer was reserved. Raises `OverCap` if its question costs more."""
    if cost > reserved:
        raise OverCap(f"this question costs ε = {_written(cost)}, and ε = {_written(reserved)} was spent on it")
    return reserved


def new_retry_key() -> str:
    """Draws a retry key that nobody can guess."""
    return secrets.token_urlsafe(24)


def _written(micro_epsilon: int) -> str:
    return epsilon_text(Fraction(micro_epsilon, MICRO))


def _optional(cap: Cap | None) -> int | None:
    return None if cap is None else _round_down(cap)


def _round_down(cap: Cap) -> int:
    return math.floor(parse_epsilon(cap) * MICRO)
