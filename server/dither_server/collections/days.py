"""A day of a collection's answers, in UTC: which they are, and from when on no more of them can come.

An answer belongs to the day on which it was received, by the clock of the process that received it. It is stored at
once or not at all, so soon after midnight the day has all its answers for good, also those to tickets that were issued
the day before. Answers to its tickets that come later belong to the next day.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from dither_server.tickets.office import SKEW, TICKET_LIFE

__all__ = ["CLOSED_AFTER_SECONDS", "Day"]

CLOSED_AFTER_SECONDS = 600
"""Seconds after midnight from which a day is closed: ten times what clocks may differ, and any wait of a commit."""

_DAY_SECONDS = 24 * 3600
_LAST_SECOND = 2**32 - 1
"""The latest second that a ticket's time of issue can be."""


@dataclass(frozen=True)
class Day:
    """The answers that were received on `date`."""

    date: date

    @property
    def received(self) -> range:
        """The times at which the answers were received, in milliseconds."""
        return range(self._start * 1000, (self._start + _DAY_SECONDS) * 1000)

    @property
    def tickets(self) -> tuple[bytes, bytes]:
        """The keys of the answers' tickets lie from the first of these up to the second."""
        first = self._start - TICKET_LIFE - 2 * SKEW
        last = self._start + _DAY_SECONDS + 2 * SKEW
        return _key(first), _key(last)

    def closed(self, now: float) -> bool:
        """Whether no more answers of this day can come, at `now` in seconds."""
        return now >= self._start + _DAY_SECONDS + CLOSED_AFTER_SECONDS

    @property
    def _start(self) -> int:
        return int(datetime(self.date.year, self.date.month, self.date.day, tzinfo=UTC).timestamp())


def _key(second: int) -> bytes:
    """A lower bound on the keys of tickets that were issued at this second or later."""
    return min(max(second, 0), _LAST_SECOND).to_bytes(4, "big")
