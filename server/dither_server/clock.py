"""Time, passed in: whatever needs it is given a clock."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "iso_time", "milliseconds"]

Clock = Callable[[], float]
"""Seconds since 1970-01-01 UTC; `time.time` is one."""


def milliseconds(seconds: float) -> int:
    """A time as the database keeps it: whole milliseconds since 1970-01-01 UTC."""
    return int(seconds * 1000)


def iso_time(at: int) -> str:
    """A time of the database (milliseconds) as ISO 8601 in UTC: `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
