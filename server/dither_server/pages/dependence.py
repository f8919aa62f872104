"""What a collection's page shows of how two of several numbers go together: a picture and a sentence for each two."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import QUANTILES, Bands, ParameterSummary, PosteriorReply, Regression

__all__ = ["pair_titles", "regression_charts", "together_sentence"]

_SURE = 0.3
"""From this correlation on, two numbers are said to go together clearly, if its 90% interval lies beyond it."""


def pair_titles(components: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The titles of the picture of one component among people with the same value of another, by `TARGET,GIVEN`."""
    return {
        f"{target['name']},{given['name']}": {
            "title": f"{target['name']} by {given['name']}",
            "x": _with_unit(given),
            "y": _with_unit(target),
        }
        for target, given in permutations(components, 2)
    }


def regression_charts(posterior: PosteriorReply) -> dict[str, Any] | None:
    """The lines of each picture by `TARGET,GIVEN`, and a sentence on the correlation; None without components.

    `q05` to `q95` are the values at or below which 5 to 95% of the people with the value `x` of the other number lie,
    `low` and `high` the ends of the central 90% of the posterior of their median.
    """
    if posterior.regressions is None:
        return None
    correlations = posterior.correlations or {}
    return {
        pair: {
            "x": _plain(found.x),
            **{name: _plain(_band(found, name).q50) for name in QUANTILES},
            "low": _plain(found.q50.q05),
            "high": _plain(found.q50.q95),
            "said": together_sentence(pair, _correlation(correlations, pair)),
        }
        for pair, found in posterior.regressions.items()
    }


def together_sentence(pair: str, correlation: ParameterSummary) -> str:
    """What the correlation of two numbers says, for people; `pair` is `TARGET,GIVEN`."""
    target, given = pair.split(",")
    low, middle, high = (_shown(value) for value in (correlation.q05, correlation.q50, correlation.q95))
    known = f"The correlation of {target} and {given} is {middle} (90% sure: {low} to {high})"
    if correlation.q05 <= 0 <= correlation.q95:
        return f"{known}: whether {target} goes up or down with {given} is not known yet."
    way = "higher" if correlation.q05 > 0 else "lower"
    clearly = "" if min(abs(correlation.q05), abs(correlation.q95)) >= _SURE else ", if only a little"
    return f"{known}: people with a higher {given} tend to have a {way} {target}{clearly}."


def _correlation(correlations: Mapping[str, ParameterSummary], pair: str) -> ParameterSummary:
    """The one correlation of two numbers, whichever is named first."""
    found = correlations.get(pair)
    return correlations[",".join(reversed(pair.split(",")))] if found is None else found


def _band(regression: Regression, name: str) -> Bands:
    found: Bands = getattr(regression, name)
    return found


def _with_unit(component: Mapping[str, Any]) -> str:
    unit = unit_text(component)
    return f"{component['name']}, {unit}" if unit else str(component["name"])


def _shown(correlation: float) -> str:
    text = f"{correlation:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def _plain(numbers: Iterable[float | None]) -> list[float | None]:
    """The numbers to seven digits, which is more than a screen shows."""
    return [None if x is None else float(f"{x:.7g}") for x in numbers]
