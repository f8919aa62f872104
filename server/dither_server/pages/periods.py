"""What a collection's page shows of calendar periods: the fan of the population over time, and a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from dither_client.posterior.digits import population_numbers
from dither_client.posterior.parts import drift_sentence
from dither_client.posterior.sentences import zeros_and_ones
from dither_client.posterior.wire import QUANTILES, ParameterSummary, PeriodReply, PosteriorReply, to_json
from dither_estimator.specification.specification import Specification

__all__ = ["PeriodRow", "PeriodsView", "minutes_left", "period_charts", "periods_view"]

_ROWS = 60
"""The most rows of the table: those of the newest periods."""
_PEOPLE = ("0.05", "0.25", "0.5", "0.75", "0.95")
"""The shares of the people at the edges of the fan, from its lowest to its highest."""


@dataclass(frozen=True)
class PeriodRow:
    """A period in the table."""

    label: str
    start: str
    answers: int
    middle: str
    """Its median as text, or the share of those who have 1."""
    interval: str


@dataclass(frozen=True)
class PeriodsView:
    """What the page says of the periods."""

    name: str
    """Day, week or month."""
    rows: Sequence[PeriodRow]
    """The newest first."""
    number: int
    """How many periods there are, of which the newest have rows."""
    drift: bool
    unanswered: bool
    """Whether a period has no answers."""
    said: str | None
    """What the test of drift has found; None where there is none, or nothing to compare."""
    alarm: bool
    of_shares: bool
    """Whether people have only 0 or 1."""


def periods_view(posterior: PosteriorReply, terms: Mapping[str, Any]) -> PeriodsView | None:
    """What there is to say of the periods; None without periods, or before the first answer."""
    if not posterior.periods or not posterior.answers:
        return None
    of_shares, test = zeros_and_ones(posterior.distribution), posterior.drift_test
    newest = list(posterior.periods.items())[: -_ROWS - 1 : -1]
    return PeriodsView(
        name=terms["period"],
        rows=[_row(label, period, of_shares, terms["decimals"]) for label, period in newest],
        number=len(posterior.periods),
        drift=terms["drift"],
        unanswered=any(not period.answers for period in posterior.periods.values()),
        said=None if test is None or len(posterior.periods) == 1 else drift_sentence(test),
        alarm=test is not None and test.alarm,
        of_shares=of_shares,
    )


def period_charts(posterior: PosteriorReply) -> dict[str, Any] | None:
    """The lines of the charts, a number for each period; None without periods.

    `people` are the values at or below which 5, 25, 50, 75 and 95% of the people lie, `middle` is the posterior of the
    median, or of the share who have 1 where people have only 0 or 1, for which there is no fan. A number that floating
    point cannot hold is None.
    """
    if not posterior.periods:
        return None
    periods, of_shares = posterior.periods.values(), zeros_and_ones(posterior.distribution)
    middles = [to_json(each) if each else {} for each in (_middle(period, of_shares) for period in periods)]
    quantiles = [period.quantiles or {} for period in periods]
    return {
        "labels": list(posterior.periods),
        "starts": [period.start for period in periods],
        "answers": [period.answers for period in periods],
        "middle": {part: [middle.get(part) for middle in middles] for part in QUANTILES},
        "people": None
        if of_shares
        else {
            part: [found[level].q50 if level in found else None for found in quantiles]
            for part, level in zip(QUANTILES, _PEOPLE, strict=True)
        },
    }


def minutes_left(specification: Specification, now: int) -> float | None:
    """How many minutes after `now` (milliseconds) answers still belong to the running period; None without drift."""
    period = specification.period
    if period is None or not specification.drift:
        return None
    following = period.start(period.number(now / 1000) + 1)
    return (datetime.combine(following, time(), UTC).timestamp() - now / 1000) / 60


def _middle(period: PeriodReply, of_shares: bool) -> ParameterSummary | None:
    return period.mean_value if of_shares else (period.quantiles or {}).get("0.5")


def _row(label: str, period: PeriodReply, of_shares: bool, decimals: int | None) -> PeriodRow:
    middle = _middle(period, of_shares)
    if middle is None:
        return PeriodRow(label, period.start, period.answers, "not known yet", "")
    if of_shares:
        low, median, high = (f"{100 * share:.1f}" for share in (middle.q05, middle.q50, middle.q95))
        return PeriodRow(label, period.start, period.answers, f"{median}%", f"{low} to {high}%")
    cells = population_numbers({"0.5": middle}, None, None, decimals)["quantile_0.5"]
    return PeriodRow(label, period.start, period.answers, cells[4], f"{cells[2]} to {cells[6]}")
