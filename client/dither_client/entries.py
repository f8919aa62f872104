"""What a ledger is: every ε a respondent has spent, and every answer until the server has it.

An entry is made before noise is drawn and never removed, one for each collection of each server. Its state is
`charged` (ticket and query are stored, ε is spent), then `drawn` (the answer is stored, for good), then `sent` (the
receipt is stored) or `expired` (the answer came too late; the charge stands).
"""

import math
import secrets
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

from dither_client.epsilon import MICRO, epsilon_text, parse_epsilon
from dither_client.errors import OverCap
from dither_client.member_counts import Asked

__all__ = ["DEFAULT_CAP", "Answer", "Cap", "Caps", "Charge", "Entry", "LedgerProtocol", "State", "new_retry_key"]

State = Literal["charged", "drawn", "sent", "expired"]

Cap = str | int | float | Decimal | Fraction
"""An upper bound of ε, read exactly as `parse_epsilon` does."""

DEFAULT_CAP = "10"

Answer = int | tuple[int, ...]
"""To a query; a tuple to `MemberCounts`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One collection's ticket, query and answer. `answer` is None until it is drawn, `receipt` until it is sent."""

    server: str
    collection: str
    state: State
    micro_epsilon: int
    ticket: str = field(repr=False)
    query: Asked
    answer: Answer | None = field(default=None, repr=False)
    receipt: str | None = None

    def moved(self, state: State, answer: Answer | None, receipt: str | None = None) -> "Entry":
        """This entry in another state; twice as fast as `dataclasses.replace`."""
        return Entry(self.server, self.collection, state, self.micro_epsilon, self.ticket, self.query, answer, receipt)


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
    """Upper bounds in micro-ε: in total, and for any one server."""

    total: int
    per_server: int | None

    @staticmethod
    @lru_cache(maxsize=64, typed=True)
    def read(total: Cap, per_server: Cap | None) -> "Caps":
        """Both rounded down, so that what is spent never exceeds what was written. Raises `InvalidEpsilon`."""
        return Caps(_round_down(total), None if per_server is None else _round_down(per_server))

    def check(self, micro_epsilon: int, spent: int, spent_on_server: int) -> None:
        """Raises `OverCap` if spending `micro_epsilon` more would exceed a cap."""
        bounds = [(spent, self.total, "in total")]
        if self.per_server is not None:
            bounds.append((spent_on_server, self.per_server, "on this server"))
        for before, cap, where in bounds:
            if before + micro_epsilon > cap:
                question, used, allowed = (epsilon_text(Fraction(n, MICRO)) for n in (micro_epsilon, before, cap))
                raise OverCap(
                    f"this question costs ε = {question}, and ε = {used} of the {allowed} allowed {where} is spent"
                )


class LedgerProtocol(Protocol):
    """What the protocol's flow needs of a ledger. Each call is atomic, also between processes that share the ledger."""

    def find(self, server: str, collection: str) -> Entry | None:
        """The entry of a collection, if there is one."""

    def charge(self, server: str, collection: str, ticket: str, query: Asked) -> Entry:
        """Spends the query's ε and stores ticket and query. Raises `OverCap`.

        If there is an entry already, returns that and spends nothing.
        """

    def draw(self, server: str, collection: str, answer: Answer) -> Entry:
        """Stores the answer of a charged entry, and returns the entry with the answer that was stored first."""

    def retry_key(self, server: str, collection: str) -> str:
        """What a ticket for an invitation is asked for with: random, and the same whenever it is asked for again."""

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


def new_retry_key() -> str:
    """A key that nobody guesses."""
    return secrets.token_urlsafe(24)


def _round_down(cap: Cap) -> int:
    return math.floor(parse_epsilon(cap) * MICRO)
