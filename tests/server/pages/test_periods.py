"""What a collection's page shows of calendar periods: the lines of the fan, the table, and what it says."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest

from dither_client.posterior.wire import DriftTest, ParameterSummary, PeriodReply, PosteriorReply, from_json
from dither_server.api.messages.examples import POSTERIOR
from dither_server.pages.periods import minutes_left, period_charts, periods_view
from testing.servers.site import START, Site

TERMS = {"period": "week", "drift": True, "decimals": None}
WEEK = 7 * 86_400


def summary(middle: float, sd: float) -> ParameterSummary:
    return ParameterSummary(middle, sd, *(middle + z * sd for z in (-1.645, -0.674, 0, 0.674, 1.645)))


def period(middle: float, answers: int, start: str = "2026-02-09") -> PeriodReply:
    levels = {"0.05": -30, "0.1": -20, "0.25": -10, "0.5": 0, "0.75": 10, "0.9": 20, "0.95": 30}
    quantiles = {level: summary(middle + places, 2) for level, places in levels.items()}
    return PeriodReply(start=start, answers=answers, posterior={}, covariance=(), quantiles=quantiles)


def posterior(periods: dict[str, PeriodReply], test: DriftTest | None = None) -> PosteriorReply:
    return replace(from_json(PosteriorReply, POSTERIOR), answers=9, periods=periods or None, drift_test=test)


def test_the_fan_has_the_peoples_quantiles_and_the_median_its_own_bands() -> None:
    charts = period_charts(posterior({"a": period(50, 5), "b": period(60, 0)}))
    assert charts is not None
    assert charts["people"] == {
        "q05": [20, 30], "q25": [40, 50], "q50": [50, 60], "q75": [60, 70], "q95": [80, 90],
    }  # fmt: skip
    assert charts["middle"]["q95"] == pytest.approx([53.29, 63.29])
    assert (charts["labels"], charts["answers"]) == (["a", "b"], [5, 0])


def test_what_floating_point_cannot_hold_is_left_out_of_a_line() -> None:
    known = period(50, 5)
    unknown = replace(
        known, quantiles={level: each for level, each in (known.quantiles or {}).items() if level < "0.9"}
    )
    charts = period_charts(posterior({"a": known, "b": unknown}))
    assert charts is not None
    assert charts["people"]["q95"] == [80, None]


def test_of_many_periods_the_table_has_the_newest() -> None:
    view = periods_view(posterior({f"p{number}": period(50, number) for number in range(100)}), TERMS)
    assert view is not None
    assert (view.number, len(view.rows)) == (100, 60)
    assert [row.label for row in view.rows[:2]] == ["p99", "p98"]
    assert (view.rows[0].middle, view.rows[0].interval) == ("50.0", "46.7 to 53.3")


def test_an_alarm_of_the_test_of_drift_is_said() -> None:
    test = DriftTest(3.0, 3.0, "2026-W07", 2.08, alarm=True)
    view = periods_view(posterior({"a": period(50, 5), "b": period(60, 5)}, test), TERMS | {"drift": False})
    assert view is not None
    assert view.alarm
    assert "the distribution changed" in (view.said or "")


def test_of_a_single_period_nothing_is_said_to_have_changed_or_not() -> None:
    test = DriftTest(0.1, 0.1, "2026-W07", 2.08, alarm=False)
    view = periods_view(posterior({"a": period(50, 5)}, test), TERMS | {"drift": False})
    assert view is not None
    assert view.said is None


def test_without_periods_or_answers_there_is_nothing() -> None:
    assert periods_view(posterior({}), TERMS) is None
    assert period_charts(posterior({})) is None
    assert periods_view(replace(posterior({"a": period(50, 0)}), answers=0), TERMS) is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"period": "week", "drift": True, "transform": "log", "range": [10, 1000]}, "This is about the week 2027-W03"),
        ({"period": "day", "drift": False}, "how the distribution changes is shown once another day has some"),
        ({"period": "month", "family": "bernoulli", "range": None}, "Shares who have 1 by month"),
    ],
)
def test_the_page_of_a_collection_with_periods(site: Site, fields: dict[str, Any], said: str) -> None:
    collection = site.create(**fields, visibility="public")
    path = f"/collections/{collection}"
    assert site.client.get(path).status_code == 200
    weeks = 1 if fields["period"] == "day" else 2
    for week in range(weeks):
        site.clock.now += week * WEEK
        tickets = site.tickets(collection, 10)
        site.batch(collection, *((ticket, number % 2) for number, ticket in enumerate(tickets)))
    site.learnt(collection, 10 * weeks)
    page = site.client.get(path)
    assert page.status_code == 200
    assert said in page.text
    labels = re.findall(r'data-period="([^"]+)"', page.text)
    assert "quantile,0.5," in site.client.get(f"{path}/export/population.csv").text
    charts = site.client.get(f"{path}/charts.json").json()["periods"]
    assert labels == charts["labels"][::-1]
    assert (charts["people"] is None) == ("family" in fields)
    report = site.client.get(f"{path}/report")
    assert report.status_code == 200
    assert ("This is about" in report.text) == bool(fields.get("drift"))
    assert re.findall(r'data-period="([^"]+)"', report.text) == labels
    pictures = re.findall(r"<svg.*?</svg>", report.text, flags=re.DOTALL)
    of_periods = [picture for picture in pictures if labels[-1] in picture]
    assert len(of_periods) == (0 if len(labels) == 1 else 1 if "family" in fields else 2)


def test_with_drift_the_period_and_its_own_answers_are_told(site: Site) -> None:
    """In what the headline rests on, in the citation, and in every row of the file."""
    collection = site.create(period="week", drift=True, visibility="public")
    site.answer_in_turns(collection, 40)
    site.clock.now += WEEK
    site.answer_in_turns(collection, 2)
    site.learnt(collection, 42)
    path = f"/collections/{collection}"
    basis = (
        "This is about the week 2027-W03, which has 2 answers. It rests on 42 answers at ε = 1 of all weeks, of which "
        "earlier ones count for less, and holds if the values of each week follow a normal distribution."
    )
    rows = csv.DictReader(io.StringIO(site.client.get(f"{path}/export/population.csv").text))
    assert {row["rests_on"] for row in rows} == {basis}
    for page in (site.client.get(path).text, site.client.get(f"{path}/report").text):
        assert basis in page
        assert "Test, the week 2027-W03: median " in page
        assert (
            "; posterior medians of a normal distribution in each week, from 42 answers of all weeks, 2 of them of "
            "this week, under ε-local differential privacy (ε = 1, Laplace mechanism)"
        ) in page


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        ({"period": "week", "drift": True}, (2 * 24 + 16) * 60),
        ({"period": "day", "drift": True}, 16 * 60),
        ({"period": "week"}, None),
        ({}, None),
    ],
)
def test_how_long_the_running_period_lasts(site: Site, fields: dict[str, Any], minutes: float | None) -> None:
    """It is Friday, 15 January 2027, 8:00 UTC; without drift no period has an estimate of its own."""
    collection = site.create(**fields, visibility="public")
    charts = site.client.get(f"/collections/{collection}/charts.json").json()
    assert charts["minutes_left"] == minutes
    found = site.service.collections.get(collection).specification
    assert minutes_left(found, round(1000 * START)) == minutes


def test_without_periods_a_page_has_no_part_for_them(site: Site) -> None:
    collection = site.create(visibility="public")
    page = site.client.get(f"/collections/{collection}")
    assert page.status_code == 200
    assert "periods-title" not in page.text
    assert site.client.get(f"/collections/{collection}/charts.json").json()["periods"] is None
