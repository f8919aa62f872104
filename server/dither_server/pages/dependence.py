"""What the page of a collection and its report show of how several numbers go together, two at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from dither_client.posterior.digits import correlation_numbers
from dither_client.posterior.sentences import only_zeros_and_ones, title_with_unit, unit_text
from dither_client.posterior.wire import QUANTILES, Bands, ParameterSummary, PosteriorReply, Regression
from dither_server.pages.groups import places
from dither_server.pages.picture import regression_svg

__all__ = [
    "CorrelationRow",
    "correlation_rows",
    "pair_titles",
    "regression_charts",
    "regression_pictures",
    "together_sentence",
]

_SURE = 0.3
"""From this correlation on, two numbers are said to go together clearly, if its 90% interval lies beyond it."""


@dataclass(frozen=True)
class CorrelationRow:
    """How two numbers go together, in the table of correlations."""

    names: str
    """What both are called, such as "wage and age"."""
    cells: Sequence[str]
    """The correlation as text: mean, sd, and the posterior quantiles at 5, 25, 50, 75 and 95%."""
    line: Sequence[float]
    """The places of the last five of them along a line from -1 to 1."""


def correlation_rows(posterior: PosteriorReply) -> list[CorrelationRow]:
    """A row for each two of several numbers; none without answers."""
    return [
        CorrelationRow(
            " and ".join(pair.split(",")),
            correlation_numbers(each),
            places([getattr(each, name) for name in QUANTILES], (-1.0, 1.0)),
        )
        for pair, each in ((posterior.correlations or {}) if posterior.answers else {}).items()
    ]


def regression_pictures(posterior: PosteriorReply, components: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """For each correlation, a picture of the first number by the second, and what there is to say of these two.

    Where the first is 0 or 1, of the second by the first; none where both are.
    """
    titles, decimals = pair_titles(components), {each["name"]: each.get("decimals") for each in components}
    regressions = (posterior.regressions or {}) if posterior.answers else {}
    pictures = []
    zero_or_one = _zero_or_one(posterior)
    for names, correlation in (posterior.correlations or {}).items():
        target, given = sorted(names.split(","), key=zero_or_one.__contains__)
        if target in zero_or_one:
            continue
        pair = f"{target},{given}"
        found, axes = regressions.get(pair), titles[pair]
        svg = found and regression_svg(
            found, (axes["title"], axes["x"], axes["y"]), (decimals[given], decimals[target])
        )
        if svg:
            pictures.append((svg, together_sentence(pair, correlation)))
    return pictures


def pair_titles(components: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The titles of the picture of one component among people with the same value of another, by `TARGET,GIVEN`."""
    return {
        f"{target['name']},{given['name']}": {
            "title": f"{target['name']} by {given['name']}",
            "x": title_with_unit(given),
            "y": title_with_unit(target),
            "given": unit_text(given),
            "given_decimals": given.get("decimals"),
            "unit": unit_text(target),
            "decimals": target.get("decimals"),
        }
        for target, given in permutations(components, 2)
    }


def regression_charts(posterior: PosteriorReply) -> dict[str, Any] | None:
    """The lines of each picture by `TARGET,GIVEN`, and a sentence on the correlation; None without components.

    `q05` to `q95` are the values at or below which 5 to 95% of the people with the value `x` of the other number lie,
    `low` and `high` the ends of the central 90% of the posterior of their median. A number that is 0 or 1 has
    no lines.
    """
    if posterior.regressions is None:
        return None
    correlations = posterior.correlations or {}
    zero_or_one = _zero_or_one(posterior)
    return {
        pair: {
            "x": [] if target in zero_or_one else _plain(found.x),
            **{name: _plain(_band(found, name).q50) for name in QUANTILES},
            "low": _plain(found.q50.q05),
            "high": _plain(found.q50.q95),
            "said": together_sentence(pair, _correlation(correlations, pair))
            + (f" “{target}” is 0 or 1: there is no picture of it." if target in zero_or_one else ""),
        }
        for pair, found in posterior.regressions.items()
        for target in [pair.split(",")[0]]
    }


def together_sentence(pair: str, correlation: ParameterSummary) -> str:
    """What the correlation of two numbers says, for people; `pair` is `TARGET,GIVEN`.

    Names are in quotation marks: they may be of any number and gender.
    """
    target, given = (f"“{name}”" for name in pair.split(","))
    _, _, low, _, middle, _, high = correlation_numbers(correlation)
    known = f"The correlation of {target} and {given} is {middle} (90% sure: {low} to {high})"
    if correlation.q05 <= 0 <= correlation.q95:
        return f"{known}: whether {target} goes up or down with {given} is not known yet."
    way = "higher" if correlation.q05 > 0 else "lower"
    clearly = "" if min(abs(correlation.q05), abs(correlation.q95)) >= _SURE else ", perhaps only a little"
    return f"{known}: where {given} is higher, {target} tends to be {way}{clearly}."


def _zero_or_one(posterior: PosteriorReply) -> set[str]:
    """The numbers that are 0 or 1, or for nearly everybody one of these: of their quantiles nothing is drawn."""
    return {
        name
        for name, part in (posterior.components or {}).items()
        if part.distribution is not None and only_zeros_and_ones(part.distribution)
    }


def _correlation(correlations: Mapping[str, ParameterSummary], pair: str) -> ParameterSummary:
    """The one correlation of two numbers, whichever is named first."""
    found = correlations.get(pair)
    return correlations[",".join(reversed(pair.split(",")))] if found is None else found


def _band(regression: Regression, name: str) -> Bands:
    found: Bands = getattr(regression, name)
    return found


def _plain(numbers: Iterable[float | None]) -> list[float | None]:
    """The numbers to seven digits, which is more than a screen shows."""
    return [None if x is None else float(f"{x:.7g}") for x in numbers]
