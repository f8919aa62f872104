"""Calendar periods: days, ISO weeks or months in UTC, numbered from 1, which holds the first day of 1970."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

__all__ = ["CalendarPeriod", "PeriodName"]

PeriodName = Literal["day", "week", "month"]

_FIRST_MONDAY = date(1969, 12, 29)
_FIRST_DAY = date(1970, 1, 1)
_PATTERNS: Mapping[str, str] = {"day": r"\d{4}-\d\d-\d\d", "week": r"\d{4}-W\d\d", "month": r"\d{4}-\d\d"}


@dataclass(frozen=True)
class CalendarPeriod:
    """A kind of calendar period: `day`, `week` or `month`."""

    name: PeriodName

    def number(self, seconds: float) -> int:
        """The number of the period of a time in seconds since 1970."""
        return self._number(datetime.fromtimestamp(seconds, UTC).date())

    def start(self, number: int) -> date:
        """The first day of the period with this number."""
        if self.name == "day":
            return _FIRST_DAY + timedelta(days=number - 1)
        if self.name == "week":
            return _FIRST_MONDAY + timedelta(weeks=number - 1)
        return date(1970 + (number - 1) // 12, (number - 1) % 12 + 1, 1)

    def label(self, number: int) -> str:
        """The ISO 8601 name of the period with this number: `2026-02-14`, `2026-W07` or `2026-02`."""
        start = self.start(number)
        if self.name == "day":
            return start.isoformat()
        if self.name == "week":
            year, week, _ = start.isocalendar()
            return f"{year:04}-W{week:02}"
        return f"{start.year:04}-{start.month:02}"

    def number_of(self, label: str) -> int:
        """The number of the period with this label. Raises `ValueError`."""
        if not re.fullmatch(_PATTERNS[self.name], label, re.ASCII):
            raise ValueError("this is not the label of a period")
        if self.name == "week":
            return self._number(date.fromisocalendar(int(label[:4]), int(label[6:]), 1))
        return self._number(date.fromisoformat(label if self.name == "day" else f"{label}-01"))

    def _number(self, day: date) -> int:
        if (day < _FIRST_DAY and self.name != "week") or day < _FIRST_MONDAY:
            raise ValueError("periods are numbered from 1970 on")
        if self.name == "day":
            return (day - _FIRST_DAY).days + 1
        if self.name == "week":
            return (day - _FIRST_MONDAY).days // 7 + 1
        return (day.year - 1970) * 12 + day.month
