"""The type of a clock, and formats of times. Code that needs the time is given a clock, so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "iso_time", "milliseconds"]

Clock = Callable[[], float]
"""Returns seconds since 1970-01-01 UTC, as `time.time` does."""


def milliseconds(seconds: float) -> int:
    """The time as the database stores it: whole milliseconds since 1970-01-01 UTC."""
    return int(seconds * 1000)


def iso_time(at: int) -> str:
    """A time from the database (milliseconds) as ISO 8601 in UTC: `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
