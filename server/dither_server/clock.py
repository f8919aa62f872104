"""The type of a clock, and formats of times. Code that needs the time is given a clock, so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "iso_time", "milliseconds"]

Clock = Callable[[], float]
"""Returns seconds since 1970-01-01 UTC, as `time.time` does."""


_FIRST_TOLD = -62_135_596_800_000
_LAST_TOLD = 253_402_300_799_000


def milliseconds(seconds: float) -> int:
    """The time as the database stores it: whole milliseconds since 1970-01-01 UTC."""
    return int(seconds * 1000)


def iso_time(at: int) -> str:
    """A time from the database (milliseconds) as ISO 8601 in UTC: `2026-01-31T12:00:00.000Z`.

    The format has the years 1 to 9999. Earlier versions stored some times beyond: they are told as its first or last.
    """
    told = min(max(at, _FIRST_TOLD), _LAST_TOLD)
    return datetime.fromtimestamp(told / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
