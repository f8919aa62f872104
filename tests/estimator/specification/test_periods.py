"""Calendar periods: numbers, labels and first days, against Python's calendar."""

from datetime import UTC, date, datetime, timedelta

import pytest

from dither_client.mechanisms.calendar_period import PeriodName
from dither_estimator.specification.fields import SpecificationError
from dither_estimator.specification.periods import MAX_PERIODS, Period


@pytest.mark.parametrize("name", ["day", "week", "month"])
def test_every_day_is_in_its_period(name: PeriodName) -> None:
    period, before = Period(name), 0
    for day in range(0, 25_000, 3):
        at = date(1970, 1, 1) + timedelta(days=day)
        number = period.number(datetime(at.year, at.month, at.day, 23, 59, tzinfo=UTC).timestamp())
        assert period.start(number) <= at < period.start(number + 1)
        assert period.number_of(period.label(number)) == number >= max(before, 1)
        before = number
    week = Period("week")
    assert week.label(week.number(datetime(2027, 1, 3, tzinfo=UTC).timestamp())) == "2026-W53"


def test_labels_between_the_first_and_the_last() -> None:
    assert Period("month").between({"2026-02": 1, "2025-12": 1}) == ["2025-12", "2026-01", "2026-02"]
    assert Period("day").between({}) == []
    with pytest.raises(SpecificationError, match=f"at most {MAX_PERIODS:,} days"):
        Period("day").between({"2026-02-01": 1, "1999-02-01": 1})


@pytest.mark.parametrize("label", ["2026-W54", "2026-W7", "2026", "1950-W02", "x"])
def test_a_label_that_is_none(label: str) -> None:
    with pytest.raises(SpecificationError, match=r"such as 2026-W07"):
        Period("week").number_of(label)
