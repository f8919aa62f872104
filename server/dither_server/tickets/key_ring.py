"""The life of the keys that sign tickets. It depends on time only, so that all processes agree without talking.

- *pending*: every process has time to read a new key before any process signs with it, whatever their clocks say;
- *active*: the key signs tickets, until the next key becomes active;
- *expired*: the key still verifies tickets, since a retry may ask about an old answer at any time. No ticket of the key
  is valid for longer than those that it signed while it was active.

A key in the database is a number and times; the bytes that it signs with are derived from the server's secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["ACTIVE_SECONDS", "PENDING_SECONDS", "SKEW", "TICKET_LIFE", "KeyRing", "KeyState", "TicketKey"]

TICKET_LIFE = 24 * 3600
"""Seconds from issue to expiry."""
SKEW = 60
"""The largest difference in seconds between the clocks of servers."""
PENDING_SECONDS = 180
"""Longer than `SKEW` and `_FRESH_SECONDS` together, with room for a slow commit."""
ACTIVE_SECONDS = 30 * 24 * 3600
"""How long a key signs tickets before the next key takes over."""

_FRESH_SECONDS = 15
"""A process that has read the keys within this time knows every key that is in use anywhere."""

KeyState = Literal["pending", "active", "expired"]


@dataclass(frozen=True, slots=True)
class TicketKey:
    """One key; times are milliseconds."""

    number: int
    created_at: int
    signs_from: int


class KeyRing:
    """The keys as read from the database at `read_at` (seconds); immutable."""

    def __init__(self, keys: Sequence[TicketKey], read_at: float) -> None:
        self.keys = sorted(keys, key=lambda key: key.number)
        self._read_at = read_at
        self._latest_first = [(key.number, key.signs_from / 1000) for key in reversed(self.keys)]
        self._last_expiry = {
            key.number: following.signs_from // 1000 + TICKET_LIFE + SKEW
            for key, following in zip(self.keys, self.keys[1:], strict=False)
        }

    def signing(self, now: float) -> int:
        """The number of the key that signs at `now` (seconds): the newest active one, or else the first key."""
        for number, signs_from in self._latest_first:
            if signs_from <= now:
                return number
        return self.keys[0].number

    def fresh(self, now: float) -> bool:
        """Whether this ring has every key that any process may sign with at `now` (seconds)."""
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
        """A new key after the newest one; it signs as soon as its pending time is over."""
        number = self.keys[-1].number + 1
        return TicketKey(number, int(now * 1000), int((now + PENDING_SECONDS) * 1000))

    def due(self, now: float) -> bool:
        """Whether it is time to create the key after the newest one."""
        return self.keys[-1].signs_from / 1000 + ACTIVE_SECONDS - PENDING_SECONDS <= now
