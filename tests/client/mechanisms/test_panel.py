"""Panels: which periods are drawn, what is said of them, and which panels there cannot be."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any

import pytest

from dither_client.mechanisms.calendar_period import CalendarPeriod
from dither_client.mechanisms.panel import Panel
from dither_client.mechanisms.price import Price

WEEKS = CalendarPeriod("week")


@pytest.mark.parametrize(("answers", "periods"), [(1, 2), (2, 5), (3, 4), (4, 4)])
def test_every_set_of_periods_is_equally_likely(answers: int, periods: int) -> None:
    """Exact: every sequence of the generator's numbers is tried once."""
    bounds = [periods - place for place in range(answers)]
    found: Counter[tuple[int, ...]] = Counter()
    for numbers in product(*map(range, bounds)):
        left = iter(zip(numbers, bounds, strict=True))

        def number(bound: int, left: Any = left) -> int:
            drawn, expected = next(left)
            assert bound == expected
            return int(drawn)

        found[Panel(answers, periods, WEEKS).draw(100, number)] += 1
    assert set(found) == set(combinations(range(100, 100 + periods), answers))
    assert set(found.values()) == {prod(bounds) // len(found)}


@pytest.mark.parametrize(
    ("answers", "periods"), [(0, 3), (4, 3), (1, 1), (2, 1501), (True, 3), (1.0, 3), ("1", 3), (1, None), (-1, 3)]
)
def test_panels_that_there_cannot_be(answers: Any, periods: Any) -> None:
    with pytest.raises(ValueError, match="from 2 to 1,500, and answers one from 1 to periods"):
        Panel(answers, periods, WEEKS)


def test_periods_are_said_in_words() -> None:
    days, months = CalendarPeriod("day"), CalendarPeriod("month")
    assert Panel(2, 30, days).written(days.number_of("2026-02-09")) == "9 February 2026"
    assert Panel(2, 30, WEEKS).written(WEEKS.number_of("2026-W07")) == "the week of 9 February 2026"
    assert Panel(2, 30, months).written(months.number_of("2026-02")) == "February 2026"
    assert "once within 30 months" in Panel(1, 30, months).sentence


def test_a_price_keeps_its_panel() -> None:
    price = Price("laplace", "identity", Fraction(1), panel=Panel(2, 30, WEEKS))
    assert Price.from_json(price.to_json()) == price
    assert price.in_all(None) == 2
