"""Vectors of panels: the numbers and names of calendar periods, and the periods that are drawn of given bytes."""

import random
from datetime import UTC, datetime
from typing import Any, get_args

from dither_client.mechanisms.calendar_period import CalendarPeriod, PeriodName
from dither_client.mechanisms.panel import Panel
from dither_client.mechanisms.sampling import uniform

__all__ = ["panel_vectors"]

_TIMES = (
    "1970-01-01T00:00:00", "1970-01-04T23:59:59", "1970-01-05T00:00:00", "2000-02-29T12:00:00", "2021-01-03T23:59:59",
    "2021-01-04T00:00:00", "2024-12-29T23:59:59", "2024-12-30T00:00:00", "2026-02-10T12:34:56", "2026-12-31T23:59:59",
    "2027-01-01T00:00:00", "2027-01-03T23:59:59", "2027-01-04T00:00:00", "2100-02-28T23:59:59", "2100-03-01T00:00:00",
)  # fmt: skip
_PANELS = ((1, 2), (2, 2), (2, 30), (3, 7), (5, 365), (2, 1500))


def panel_vectors() -> dict[str, list[Any]]:
    """The lists of `panels.json`."""
    return {
        "periods": [_period(name, time) for name in get_args(PeriodName) for time in _TIMES],
        "turns": [_turns(answers, periods, number) for number, (answers, periods) in enumerate(_PANELS)],
    }


def _period(name: PeriodName, time: str) -> dict[str, Any]:
    seconds = int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp())
    period = CalendarPeriod(name)
    number = period.number(seconds)
    label, start = period.label(number), period.start(number).isoformat()
    return {"period": name, "seconds": seconds, "number": number, "label": label, "start": start}


def _turns(answers: int, periods: int, number: int) -> dict[str, Any]:
    source, used = random.Random(f"panel {number}").randbytes(256), 0

    def take(size: int) -> bytes:
        nonlocal used
        used += size
        return source[used - size : used]

    panel, joined = Panel(answers, periods, CalendarPeriod("week")), 2_928 + number
    turns = panel.draw(joined, uniform(take))
    return {"answers": answers, "periods": periods, "joined": joined, "bytes": source[:used].hex(), "turns": turns}
