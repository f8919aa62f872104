"""How fast answers come, as the page of a collection tells it."""

from dataclasses import replace

import numpy as np
import pytest

from dither_client.posterior.wire import PosteriorReply, from_json
from dither_server.api.messages.examples import POSTERIOR
from dither_server.clock import iso_time
from dither_server.database.reads import HistoryRow
from dither_server.pages.pace import pace, pace_text

SECOND = 1000
MINUTE = 60 * SECOND
WEEK = 7 * 24 * 60 * MINUTE


def row(answers: int, at: int) -> HistoryRow:
    return HistoryRow(answers, at, 1.0, "{}", "{}")


def learnt(answers: int, at: int) -> PosteriorReply:
    return replace(from_json(PosteriorReply, POSTERIOR), answers=answers, updated_at=iso_time(at))


def test_the_pace_of_the_minute_before_adds_up_to_the_answers() -> None:
    rows = [row(10, 0), row(40, 30 * SECOND), row(100, 120 * SECOND)]
    found = pace(rows, learnt(130, 240 * SECOND), 240 * SECOND)
    assert found["time"] == pytest.approx(np.linspace(-60, 240, 49)[1:])
    until_15, until_90, until_240 = (found["per_minute"][step] for step in (11, 23, 47))
    assert (until_15, until_90, until_240) == pytest.approx((7.5 + 15, 40, 15))
    assert (found["unit"], found["minutes"], found["said"][-1]) == ("minute", 1, "15 a minute")


@pytest.mark.parametrize("rows", [[], [row(20, 2 * SECOND), row(90, 4 * SECOND)], [row(90, 5 * SECOND)]])
def test_a_minute_after_a_burst_no_answers_come(rows: list[HistoryRow]) -> None:
    """The history has no row of the last answers of a burst, if they are few."""
    burst = learnt(93, 5 * SECOND)
    assert pace(rows, burst, 75 * SECOND)["said"][-1] == "none"
    assert 90 < pace(rows, burst, 5 * SECOND)["per_minute"][-1] <= 93
    assert max(pace(rows, burst, 75 * SECOND)["per_minute"]) <= 93


def test_a_slow_collection_is_told_by_the_hour() -> None:
    found = pace([row(1, MINUTE)], learnt(301, WEEK), WEEK)
    assert (found["unit"], found["minutes"], found["said"][-1]) == ("hour", 60, "1.8 an hour")


def test_before_any_answer_there_is_no_pace() -> None:
    assert pace([], learnt(0, 0), WEEK) == {"time": [], "per_minute": [], "said": [], "unit": "day", "minutes": 1440}


@pytest.mark.parametrize(
    ("per_minute", "said"),
    [
        (0, "none"),
        (12_345.6, "12,346 a minute"),
        (99.7, "100 a minute"),
        (80.1, "80 a minute"),
        (1, "1 a minute"),
        (0.0298, "1.8 an hour"),
        (3 / 1440, "3 a day"),
        (0.25 / 1440, "0.25 a day"),
    ],
)
def test_a_pace_is_told_by_the_shortest_time_in_which_there_is_an_answer(per_minute: float, said: str) -> None:
    assert pace_text(per_minute) == said
