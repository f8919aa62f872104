"""What a ledger is: every ε a respondent has spent, and every answer until the server has it.

An entry is made before noise is drawn and never removed, one for each collection of each server. Its state is
`charged` (ticket and query are stored, ε is spent), then `drawn` (the answer is stored, for good, with the key that it
is sent with), then `sent` (the receipt is stored) or `expired` (the answer came too late; the charge stands).
"""

import math
import secrets
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

from dither_client.addresses import origin_of
from dither_client.errors import OverCap
from dither_client.mechanisms.epsilon import MICRO, epsilon_text, parse_epsilon
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.price import Price

__all__ = ["Answer", "Cap", "Caps", "Charge", "Entry", "LedgerProtocol", "State", "find_entry", "new_retry_key"]

State = Literal["charged", "drawn", "sent", "expired"]

Cap = str | int | float | Decimal | Fraction
"""An upper bound of ε, read exactly as `parse_epsilon` does."""

_TOTAL, _PER_SERVER, _PER_ANSWER = "10", "5", "2"
"""Caps unless a respondent sets a total."""

_ALLOW_MORE = "set max_epsilon to allow more"

Answer = int | tuple[int, ...]
"""To a query; a tuple to `MemberCounts`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One collection's ticket, query and answer. `answer` is None until it is drawn, `receipt` until it is sent.

    `retry_key` is drawn with the answer and sent with it: it shows the server that a repeat comes from whoever sent the
    answer first. Others who have the ticket do not have it, and learn nothing by guessing answers.
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

    def moved(self, state: State, answer: Answer | None, retry_key: str | None, receipt: str | None = None) -> "Entry":
        """This entry in another state; twice as fast as `dataclasses.replace`."""
        kept = (self.server, self.collection, state, self.micro_epsilon, self.ticket, self.query)
        return Entry(*kept, answer, receipt, retry_key)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one collection has cost, and how far its answer has come.

    `epsilon` is what counts against the caps; `rho` is the ρ of zero-concentrated differential privacy that the same
    answer has, where its mechanism states one.
    """

    server: str
    collection: str
    epsilon: Fraction
    state: State
    receipt: str | None
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """Upper bounds in micro-ε: in total, for any one server, and for any one answer."""

    total: int
    per_server: int | None
    per_answer: int | None

    @staticmethod
    @lru_cache(maxsize=64, typed=True)
    def read(total: Cap | None, per_server: Cap | None, per_answer: Cap | None) -> "Caps":
        """All rounded down, so that what is spent never exceeds what was written. Raises `InvalidEpsilon`.

        Without a total, what is not given has a default; beside a total, what is not given is no cap.
        """
        if total is None:
            total, per_server, per_answer = (
                _TOTAL,
                _PER_SERVER if per_server is None else per_server,
                (_PER_ANSWER if per_answer is None else per_answer),
            )
        return Caps(_round_down(total), _optional(per_server), _optional(per_answer))

    def check(self, micro_epsilon: int, spent: int, spent_on_server: int) -> None:
        """Raises `OverCap` if spending `micro_epsilon` more would exceed a cap."""
        costs = f"this question costs ε = {_written(micro_epsilon)}"
        if self.per_answer is not None and micro_epsilon > self.per_answer:
            raise OverCap(f"{costs}, and {_written(self.per_answer)} is allowed for one answer; {_ALLOW_MORE}")
        bounds = [(spent, self.total, "in total"), (spent_on_server, self.per_server, "on this server")]
        for before, cap, where in bounds:
            if cap is not None and before + micro_epsilon > cap:
                used = f"ε = {_written(before)} of the {_written(cap)} allowed {where} is spent"
                raise OverCap(f"{costs}, and {used}; {_ALLOW_MORE}")


class LedgerProtocol(Protocol):
    """What the protocol's flow needs of a ledger. Each call is atomic, also between processes that share the ledger."""

    def find(self, server: str, collection: str) -> Entry | None:
        """The entry of a collection, if there is one."""

    def charge(self, server: str, collection: str, ticket: str, query: Asked) -> Entry:
        """Spends the query's ε and stores ticket and query. Raises `OverCap`.

        If there is an entry already, returns that and spends nothing.
        """

    def draw(self, server: str, collection: str, answer: Answer) -> Entry:
        """Stores the answer of a charged entry with a new retry key, and returns the entry as it was stored first."""

    def retry_key(self, server: str, collection: str) -> str:
        """What a ticket for an invitation is asked for with: random, and the same whenever it is asked for again."""

    def price(self, server: str, collection: str) -> Price | None:
        """The price of a collection that was kept."""

    def keep_price(self, server: str, collection: str, told: Price) -> Price:
        """Keeps what the terms say, and returns what was kept first: a price never changes."""

    def mark_sent(self, server: str, collection: str, receipt: str) -> None:
        """Stores the receipt of a drawn entry."""

    def mark_expired(self, server: str, collection: str) -> None:
        """The answer of a drawn entry can never be sent."""

    def unsent(self, server: str) -> list[Entry]:
        """The drawn entries of a server, oldest first."""

    def entries(self) -> list[Charge]:
        """Every charge, oldest first."""

    def spent(self, server: str | None = None) -> Fraction:
        """ε spent in total, or on one server."""


def find_entry(ledger: LedgerProtocol, server: str, collection: str) -> Entry | None:
    """The entry of a collection; for a server with a path, also one that was made when paths were not told apart."""
    origin = origin_of(server)
    entry = ledger.find(server, collection)
    return ledger.find(origin, collection) if entry is None and origin != server else entry


def new_retry_key() -> str:
    """A key that nobody guesses."""
    return secrets.token_urlsafe(24)


def _written(micro_epsilon: int) -> str:
    return epsilon_text(Fraction(micro_epsilon, MICRO))


def _optional(cap: Cap | None) -> int | None:
    return None if cap is None else _round_down(cap)


def _round_down(cap: Cap) -> int:
    return math.floor(parse_epsilon(cap) * MICRO)
