"""Whether a collection's times can be stored and told, and whether it lasts for as long as they promise."""

from datetime import UTC, datetime, time

from dither_client.mechanisms.panel import Panel
from dither_server.clock import milliseconds
from dither_server.collections.retention import DAY
from dither_server.collections.specification import CollectionSpec
from dither_server.errors import InvalidBody

__all__ = ["check_times"]

_FIRST = 0
_END = milliseconds(datetime(9999, 1, 1, tzinfo=UTC).timestamp())
"""Times lie between these (milliseconds): with a year to spare, in any zone they have a year of four digits."""


def check_times(service: CollectionSpec, panel: Panel | None, now: int) -> None:
    """Raises `InvalidBody` unless its times can be told.

    It also does if the collection would be closed at once, be removed before it opens or closes, or end before all
    turns of its panel.
    """
    times = {"opens_at": service.opens_at, "closes_at": service.closes_at}
    named = {name: milliseconds(at.timestamp()) for name, at in times.items() if at is not None}
    removed = None if service.keep_days is None else now + service.keep_days * DAY
    for name, at in named.items():
        if not _FIRST <= at < _END:
            raise InvalidBody(f"{name}: Input should be a time from 1970 to 9998, in UTC.")
        if name == "closes_at" and at <= now:
            raise InvalidBody("closes_at: Input should be later than now.")
        if removed is not None and at > removed:
            raise InvalidBody(f"keep_days: Input should reach to {name}, counted from now.")
    if panel is None:
        return
    last = panel.number(now / 1000) + panel.periods - 1
    begins = milliseconds(datetime.combine(panel.period.start(last), time(), UTC).timestamp())
    for name, end in (("closes_at", named.get("closes_at")), ("keep_days", removed)):
        if end is not None and end <= begins:
            raise InvalidBody(
                f"{name}: Input should reach to {panel.written(last)}, in which somebody who joins the panel now may "
                "have a turn."
            )
