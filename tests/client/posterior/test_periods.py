"""What an analyst reads of calendar periods: the lines of the text, and the picture."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from dither_client.posterior.particles import Particles
from dither_client.posterior.parts import drift_sentence
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.wire import Bands, DistributionSummary, DriftTest, ParameterSummary, PeriodReply


def summary(middle: float) -> ParameterSummary:
    return ParameterSummary(middle, 2, *(middle + 2 * z for z in (-1.645, -0.674, 0, 0.674, 1.645)))


def posterior(number: int, values: tuple[float, ...] = (10.0, 50.0, 90.0)) -> Posterior:
    """With so many days; the median grows by one each day, and every third has no answers."""
    levels = {"0.05": -30, "0.1": -20, "0.25": -10, "0.5": 0, "0.75": 10, "0.9": 20, "0.95": 30}
    days = [date(2026, 2, 9) + timedelta(days=day) for day in range(number)]
    periods = {
        str(day): PeriodReply(
            start=str(day), answers=10 * (place % 3), posterior={}, covariance=(),
            quantiles={level: summary(50 + place + away) for level, away in levels.items()},
            mean_value=summary(0.4),
        )
        for place, day in enumerate(days)
    }  # fmt: skip
    bands = Bands(*[values] * 6)
    return Posterior(
        "c",
        {},
        [],
        9,
        100,
        None,
        "",
        _no_particles,
        periods=periods,
        distribution=DistributionSummary(values, bands, bands),
    )


TEST = DriftTest(0.1, 0.2, "2026-02-09", 3.22, alarm=False)


def _no_particles() -> Particles:
    raise AssertionError


def test_the_text_lists_the_newest_periods() -> None:
    lines = posterior(20).text().splitlines()
    assert "  periods: 20, from 2026-02-09 to 2026-02-28, the last 12:" in lines
    assert "    2026-02-28: median 69.0 (90%: 65.7 to 72.3), 10 answers" in lines
    assert not any("2026-02-16:" in line for line in lines)


def test_of_a_single_period_nothing_is_said_to_have_changed_or_not() -> None:
    one = replace(posterior(1), drift_test=TEST)
    assert "  period 2026-02-09: median 50.0 (90%: 46.7 to 53.3), 0 answers" in one.text().splitlines()
    assert "changed" not in one.text()
    assert "no sign that the distribution changed" in replace(posterior(2), drift_test=TEST).text()


def test_with_drift_it_is_said_which_period_the_population_is_of() -> None:
    terms = {"family": "normal", "transform": "identity", "drift": True, "period": "day"}
    assert (
        "  This is about 2026-02-10, which has 10 answers. It rests on 9 answers of all days, of which"
        in replace(posterior(2), terms=terms).text()
    )


def test_a_single_period_tells_its_quantiles_and_says_that_there_is_nothing_else() -> None:
    period = posterior(1).period("2026-02-09")
    assert period.quantile(0.9).mean == 70
    with pytest.raises(ValueError, match="single periods have none"):
        period.quantile(0.8)


def test_of_zeros_and_ones_a_period_has_the_share_of_ones() -> None:
    assert "    2026-02-09: 40.0% have 1 (90%: -289.0 to 369.0%), 0 answers" in posterior(2, (0.0, 1.0)).text()


@pytest.mark.parametrize(("nats", "odds"), [(3.0, "20 to 1"), (100.0, "more than a million to 1")])
def test_an_alarm_says_its_evidence_and_what_it_means(nats: float, odds: str) -> None:
    said = drift_sentence(DriftTest(nats, nats, "2026-W07", 2.0794415416798357, alarm=True))
    assert f"was {odds}, and within 52 periods it reaches 8 to 1 in at most 5%" in said


def test_a_sudden_change_is_said_with_its_standard_errors() -> None:
    said = drift_sentence(
        DriftTest(1.0, 1.0, "2026-W07", 3.22, alarm=True, change=4.21, change_period="2026-W09", change_threshold=3.47)
    )
    assert "2026-W09, or the two or four periods up to it, lie 4.2 standard errors away from all before" in said
    assert "within 52 periods 3.5 are reached in at most 4%" in said


@pytest.mark.parametrize("number", [1, 2, 400])
def test_the_picture_has_the_fan_of_the_people_and_the_median(number: int) -> None:
    """Dots are where there are answers; dates are legible, whatever their number."""
    figure = posterior(number).plot(unit="€")
    fan, median = [axes for axes in figure.axes if axes.get_xlabel() == "period from (UTC)"]
    assert (fan.get_ylabel(), median.get_ylabel()) == ("€", "median, €")
    assert np.asarray(fan.lines[0].get_ydata()).tolist() == [50.0 + place for place in range(number)]
    assert np.asarray(fan.lines[1].get_ydata()).size == sum(place % 3 > 0 for place in range(number))
    ticks = [label.get_text() for label in fan.get_xticklabels()]
    assert ticks[0] == "2026-02-09"
    assert 1 <= len(ticks) <= 6


def test_the_picture_of_zeros_and_ones_has_the_share_of_ones() -> None:
    figure = posterior(3, (0.0, 1.0)).plot()
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_xlabel() == "period from (UTC)"] == [
        "share who have 1"
    ]
