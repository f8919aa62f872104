"""When each key signs tickets: pending, active, expired, by time alone, so that all processes agree without talking.

A key is pending for long enough that every process has read of it before one signs with it, whatever their clocks. It
then signs until the next one does, and goes on being known for ever, since what became of an answer is told for ever;
but no ticket of it is good for longer than those it signed when it was active. Keys are numbers and times; what they
sign with comes from the server's secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["ACTIVE_SECONDS", "PENDING_SECONDS", "SKEW", "TICKET_LIFE", "KeyRing", "KeyState", "TicketKey"]

TICKET_LIFE = 24 * 3600
"""Seconds from issue to expiry."""
SKEW = 60
"""Seconds by which the clocks of servers may differ."""
PENDING_SECONDS = 180
"""Longer than two clocks may differ and `_FRESH_SECONDS` together, with room for a slow commit."""
ACTIVE_SECONDS = 30 * 24 * 3600
"""For so long a key signs before the next one does."""

_FRESH_SECONDS = 15
"""Who has read the keys within this time knows all that sign anywhere."""

KeyState = Literal["pending", "active", "expired"]


@dataclass(frozen=True, slots=True)
class TicketKey:
    """One key; times are milliseconds."""

    number: int
    created_at: int
    signs_from: int


class KeyRing:
    """The keys as they were read at `read_at` (seconds); immutable."""

    def __init__(self, keys: Sequence[TicketKey], read_at: float) -> None:
        self.keys = sorted(keys, key=lambda key: key.number)
        self._read_at = read_at
        self._latest_first = [(key.number, key.signs_from / 1000) for key in reversed(self.keys)]
        self._last_expiry = {
            key.number: following.signs_from // 1000 + TICKET_LIFE + SKEW
            for key, following in zip(self.keys, self.keys[1:], strict=False)
        }

    def signing(self, now: float) -> int:
        """The number of the key that signs at `now` (seconds): the newest that does, or else the first of all."""
        return next((number for number, signs_from in self._latest_first if signs_from <= now), self.keys[0].number)

    def fresh(self, now: float) -> bool:
        """Whether a key that is not here signs nowhere at `now`."""
        return now <= self._read_at + _FRESH_SECONDS

    def last_expiry(self, number: int) -> int | None:
        """When the last ticket of the key with this number expires (seconds); None while it is the newest key."""
        return self._last_expiry.get(number)

    def state(self, key: TicketKey, now: float) -> KeyState:
        """The key's state at `now`."""
        active = self.signing(now)
        if key.number == active:
            return "active"
        return "pending" if key.number > active else "expired"

    def following(self, now: float) -> TicketKey:
        """The key after the newest, to sign as soon as it may."""
        number = self.keys[-1].number + 1
        return TicketKey(number, int(now * 1000), int((now + PENDING_SECONDS) * 1000))

    def due(self, now: float) -> bool:
        """Whether it is time to make the key that comes after the newest."""
        return self.keys[-1].signs_from / 1000 + ACTIVE_SECONDS - PENDING_SECONDS <= now
