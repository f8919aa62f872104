"""The display of `dither watch`: the population as a picture in text, and how fast answers come."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dither_client.posterior.digits import correlation_numbers, population_numbers, summary_numbers
from dither_client.posterior.names import assumption, moment
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import title_with_unit, whole_numbers, zeros_and_ones
from dither_client.posterior.wire import ParameterSummary
from dither_client.protocol.messages import printable

__all__ = ["Pace", "Row", "View", "band", "line", "rows"]

_WINDOW = 60.0
"""Seconds over which the pace is averaged."""
_WIDTH, _LEAST_WIDTH = 41, 9
"""Characters of a band, and the fewest where a terminal is narrow."""

_TOO_LITTLE = "too little is known yet"
_LEVELS = {0.1: "10% have at most", 0.5: "half have at most", 0.9: "90% have at most"}
"""The quantiles of the population that are shown."""


class Row(NamedTuple):
    """What is known of one number: its posterior in figures, and in words."""

    summary: Mapping[str, float]
    middle: str
    sd: str
    low: str
    high: str


class Pace:
    """How fast answers come, averaged over the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float, answers: int) -> None:
        """Records the number of answers at `now`, in seconds of a monotonic clock."""
        self._seen.append((now, answers))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW:
            self._seen.popleft()

    def per_minute(self, now: float) -> float | None:
        """Answers a minute; None until a second has passed since the first note."""
        if not self._seen or now - self._seen[0][0] < 1:
            return None
        (since, before), (_, answers) = self._seen[0], self._seen[-1]
        return 60 * (answers - before) / (now - since)


class _Band:
    """A number's band on its scale, as wide as there is room."""

    def __init__(self, summary: Mapping[str, float], scale: tuple[float, float]) -> None:
        self._summary, self._scale = summary, scale

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(band(self._summary, self._scale, min(options.max_width, _WIDTH)), style="cyan")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(_LEAST_WIDTH, _WIDTH).clamp(max_width=options.max_width)


class View:
    """The whole display. A number's scale starts at its 90% interval and only widens: the band visibly narrows."""

    def __init__(self, name: str, unit: str = "", decimals: int | None = None) -> None:
        self._name = printable(name)
        self._unit = printable(unit)
        self._decimals = decimals
        self._scales: dict[str, tuple[float, float]] = {}

    def picture(self, posterior: Posterior, state: str, per_minute: float | None) -> Group:
        """The collection's name, state and number of answers, a table of the population's numbers, and their basis.

        Without those, which a server may not give, of the parameters.
        """
        table = Table(self._unit, "estimate", "sd", "90% interval", "", box=None, pad_edge=False, header_style="dim")
        for name, row in rows(posterior, self._decimals).items():
            low, high = row.summary["q05"], row.summary["q95"]
            first = self._scales.setdefault(name, (low, high))
            scale = self._scales[name] = (min(first[0], low), max(first[1], high))
            table.add_row(
                Text(printable(name)),
                row.middle,
                row.sd,
                f"{row.low} to {row.high}",
                _Band(row.summary, scale),
            )
        pace = "" if per_minute is None else f", {per_minute:,.0f} a minute"
        answers = f"{posterior.answers:,} answer{'' if posterior.answers == 1 else 's'}{pace}"
        title = Text(f"{self._name} ({posterior.collection}), {printable(state)}: {answers}")
        shown = table if table.row_count else Text(_TOO_LITTLE.capitalize() + ".")
        return Group(title, Text(), shown, *([Text(), Text(posterior.basis, style="dim")] if posterior.basis else []))


def band(summary: Mapping[str, float], scale: tuple[float, float], cells: int = _WIDTH) -> str:
    """The quantiles drawn on a scale: ─ from q05 to q95, ━ from q25 to q75, ┃ at the median."""
    low, high = scale
    width = (high - low) or 1.0

    def place(quantile: str) -> int:
        return min(max(round((summary[quantile] - low) / width * (cells - 1)), 0), cells - 1)

    drawn = ["·"] * cells
    for start, end, mark in (("q05", "q95", "─"), ("q25", "q75", "━"), ("q50", "q50", "┃")):
        first, last = place(start), place(end)
        drawn[first : last + 1] = mark * (last + 1 - first)
    return "".join(drawn)


def rows(posterior: Posterior, decimals: int | None = None) -> dict[str, Row]:
    """The population's quantiles and mean, in its own unit; or the shares of categories, or the parameters.

    Of several numbers, their medians and correlations. Nothing before there are answers, nor while there are only
    parameters of logarithms.
    """
    if not posterior.learnt:
        return {}
    if posterior.components:
        return _several(posterior)
    yes_or_no = zeros_and_ones(posterior.distribution)
    quantiles = {level: posterior.quantiles[level] for level in _LEVELS if level in posterior.quantiles}
    if not quantiles and not posterior.categories and posterior.transform == "log":
        return {}
    if not quantiles or posterior.categories:
        return {
            name: Row(summary, mean, sd, low, high)
            for name, summary in posterior.summaries.items()
            for mean, sd, low, *_, high in [summary_numbers(ParameterSummary(**summary))]
        }
    written = population_numbers(quantiles, posterior.mean_value, posterior.atoms, decimals)
    known = {
        f"quantile_{level:g}": (name, quantiles[level])
        for level, name in _LEVELS.items()
        if level in quantiles and not yes_or_no
    }
    if posterior.mean_value is not None:
        known["mean_value"] = "share who have 1" if yes_or_no else "average", posterior.mean_value
    return {name: _row(summary, written[key]) for key, (name, summary) in known.items()}


def _several(posterior: Posterior) -> dict[str, Row]:
    """The median of each number in its unit, or the share who have 1, and the correlation of each two."""
    terms = {each["name"]: each for each in posterior.terms.get("components") or ()}
    found = {}
    for name, part in posterior.components.items():
        asked = terms.get(name, {"name": name})
        if zeros_and_ones(part.distribution) and (share := part.mean_value) is not None:
            found[f"{name}: share who have 1"] = _row(share, summary_numbers(share))
        elif (median := (part.quantiles or {}).get("0.5")) is not None:
            most = 0 if whole_numbers(part.distribution) else asked.get("decimals")
            written = population_numbers({"0.5": median}, None, part.atoms, most)["quantile_0.5"]
            found[f"{title_with_unit(asked)}: {_LEVELS[0.5]}"] = _row(median, written)
    for pair, each in posterior.correlations.items():
        found[f"correlation of {' and '.join(pair.split(','))}"] = _row(each, correlation_numbers(each))
    return found


def _row(summary: ParameterSummary, written: Sequence[str]) -> Row:
    return Row(asdict(summary), written[4], written[1], written[2], written[6])


def line(posterior: Posterior, state: str, unit: str = "", decimals: int | None = None) -> str:
    """The population in one line, for logs and pipes, as in `rows`, and what is assumed of it."""
    of = f" {printable(unit)}" if unit else ""
    shown = rows(posterior, decimals)
    if not shown:
        told = _TOO_LITTLE
    elif posterior.components or any(name in shown for name in _LEVELS.values()):
        told = ", ".join(f"{printable(name)} {row.middle}{of} ({row.low} to {row.high})" for name, row in shown.items())
    else:
        told = ", ".join(f"{printable(name)} {row.middle} ± {row.sd}" for name, row in shown.items())
    if shown and posterior.components:
        told += ", if they go together as normal numbers do"
    elif shown and posterior.family and (assumed := assumption(posterior.family, posterior.transform)):
        told += f", if {assumed}"
    answers = f"{posterior.answers:,} answer{'' if posterior.answers == 1 else 's'}"
    return "  ".join(filter(None, (moment(printable(posterior.updated_at)), printable(state), answers, told)))
