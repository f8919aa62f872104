"""How fast answers come to a collection, for a chart and in words."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

import numpy as np

from dither_client.posterior.digits import rounded
from dither_client.posterior.wire import PosteriorReply
from dither_server.clock import milliseconds
from dither_server.database.reads import HistoryRow

__all__ = ["Pace", "pace", "pace_text"]

_POINTS = 48
_MINUTE = 60_000
_UNITS = {"minute": 1, "hour": 60, "day": 1440}
"""The times that a pace is told by, in minutes."""


class Pace(TypedDict):
    """How many answers came a minute, at equal steps of the time from the first answer to now."""

    time: list[float]
    """In seconds."""
    per_minute: list[float]
    """In the minute before, or since the last step if that is longer ago."""
    said: list[str]
    """These in words."""
    unit: str
    """What the fastest of them is told by."""
    minutes: int
    """How long that is."""


def pace(rows: Sequence[HistoryRow], posterior: PosteriorReply, now: int) -> Pace:
    """The pace of the answers that a posterior rests on, from its history, until `now` (milliseconds).

    Answers between two rows count as spread evenly, and those of the first row as come within the minute before it.
    Without answers there is no step.
    """
    learnt = milliseconds(datetime.fromisoformat(posterior.updated_at).timestamp())
    known = [(row.at, row.answers) for row in rows if row.at < learnt] + [(learnt, posterior.answers)]
    times, answers = zip((known[0][0] - _MINUTE, 0), *known, strict=True)
    ends = np.linspace(times[0], max(now, learnt), _POINTS + 1)[1:] if posterior.answers else np.zeros(0)
    window = max(_MINUTE, (ends[-1] - times[0]) / _POINTS) if len(ends) else _MINUTE
    came = np.interp(ends, times, answers) - np.interp(ends - window, times, answers)
    per_minute = (came * _MINUTE / window).tolist()
    unit = _unit(max(per_minute, default=0.0))
    return {
        "time": (ends / 1000).tolist(),
        "per_minute": per_minute,
        "said": [pace_text(each) for each in per_minute],
        "unit": unit,
        "minutes": _UNITS[unit],
    }


def pace_text(per_minute: float) -> str:
    """Answers a minute in words, by the shortest time in which there is one: `1.8 an hour`."""
    if per_minute == 0:
        return "none"
    unit = _unit(per_minute)
    number = per_minute * _UNITS[unit]
    written = rounded(number, 2) if number < 100 else f"{number:,.0f}"
    return f"{written} {'an' if unit == 'hour' else 'a'} {unit}"


def _unit(per_minute: float) -> str:
    return next((unit for unit, minutes in _UNITS.items() if per_minute * minutes >= 1), "day")
