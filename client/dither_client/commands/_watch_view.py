"""The display of `dither watch`: the posterior as a picture in text, and how fast answers come."""

from collections import deque

from rich.console import Group
from rich.table import Table
from rich.text import Text

from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import rounded
from dither_client.protocol.messages import printable

__all__ = ["Pace", "View", "band", "line"]

_WINDOW = 60.0
"""Seconds over which the pace is averaged."""
_WIDTH = 41
"""Characters of a band."""


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


class View:
    """The whole display. A parameter's scale starts at its 90% interval and only widens: the band visibly narrows."""

    def __init__(self, name: str) -> None:
        self._name = printable(name)
        self._scales: dict[str, tuple[float, float]] = {}

    def picture(self, posterior: Posterior, state: str, per_minute: float | None) -> Group:
        """The collection's name, state and number of answers, above a table of the parameters."""
        table = Table("", "mean", "sd", "90% interval", "", box=None, pad_edge=False, header_style="dim")
        for parameter, summary in posterior.summaries.items():
            low, high = summary["q05"], summary["q95"]
            first = self._scales.setdefault(parameter, (low, high))
            scale = self._scales[parameter] = (min(first[0], low), max(first[1], high))
            table.add_row(
                Text(printable(parameter)),
                rounded(summary["mean"], 4),
                rounded(summary["sd"], 2),
                f"{rounded(low, 4)} to {rounded(high, 4)}",
                Text(band(summary, scale), style="cyan"),
            )
        pace = "" if per_minute is None else f", {per_minute:,.0f} a minute"
        answers = f"{posterior.answers:,} answer{'' if posterior.answers == 1 else 's'}{pace}"
        return Group(Text(f"{self._name} ({posterior.collection}), {printable(state)}: {answers}"), Text(), table)


def band(summary: dict[str, float], scale: tuple[float, float]) -> str:
    """The quantiles drawn on a scale: ─ from q05 to q95, ━ from q25 to q75, ┃ at the median."""
    low, high = scale
    width = (high - low) or 1.0

    def place(quantile: str) -> int:
        return min(max(round((summary[quantile] - low) / width * (_WIDTH - 1)), 0), _WIDTH - 1)

    cells = ["·"] * _WIDTH
    for start, end, mark in (("q05", "q95", "─"), ("q25", "q75", "━"), ("q50", "q50", "┃")):
        first, last = place(start), place(end)
        cells[first : last + 1] = mark * (last + 1 - first)
    return "".join(cells)


def line(posterior: Posterior, state: str) -> str:
    """The posterior in one line, for logs and pipes."""
    parameters = ", ".join(
        f"{printable(name)} {rounded(summary['mean'], 4)} ± {rounded(summary['sd'], 2)}"
        for name, summary in posterior.summaries.items()
    )
    return f"{printable(posterior.updated_at)}  {printable(state)}  {posterior.answers:,} answers  {parameters}"
