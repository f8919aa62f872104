"""The forest plot of public groups: a line for each, with its intervals. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from dither_client.posterior.style import BLUE, COLOURS, GREY, INK, plain, styled
from dither_client.posterior.wire import GroupReply, ParameterSummary

__all__ = ["MOST_GROUPS", "forest_height", "show_forest", "show_shares_by_group"]

MOST_GROUPS = 60
"""The most groups that have room; of more, those with the most answers are shown."""
_TYPICAL = 10.0
"""An interval wider than this many times the median one does not stretch the axis, and is cut off at its end."""
_ROW, _FRAME = 0.24, 1.6
"""The heights of a group and of everything else, in inches."""


def forest_height(groups: int) -> float:
    """The height of a picture with so many groups, in inches."""
    return _FRAME + _ROW * min(groups, MOST_GROUPS)


def show_forest(
    figure: Figure | SubFigure, groups: Mapping[str, GroupReply], whole: ParameterSummary | None, unit: str
) -> None:
    """The median of each group's population, and that of all groups together."""
    shown = _shown(groups)
    axes = _axes(figure, shown, groups)
    medians = [(row, (each.quantiles or {}).get("0.5"), each.answers) for row, each in enumerate(shown.values())]
    found = [(row, each, answers) for row, each, answers in medians if each is not None]
    if whole is not None:
        axes.axvspan(whole.q05, whole.q95, color=GREY, alpha=0.15, linewidth=0)
        axes.axvline(whole.q50, color=GREY, linewidth=1.2, label="all together, 90% interval")
    _show_intervals(axes, [(row, each) for row, each, _ in found], BLUE, ("90% interval", "50% interval"))
    for told, face, name in ((True, BLUE, "median"), (False, "white", "median, no answers")):
        points = [(each.q50, row) for row, each, answers in found if bool(answers) == told]
        if points:
            axes.plot(*zip(*points, strict=True), "o", color=BLUE, markerfacecolor=face, markersize=5, label=name)
    axes.set(xlabel=plain(f"median, {unit}" if unit else "median"), xlim=_ends([each for _, each, _ in found]))
    _legend(figure)


def show_shares_by_group(figure: Figure | SubFigure, groups: Mapping[str, GroupReply], names: Sequence[str]) -> None:
    """The share of each category in each group, with its intervals."""
    shown = _shown(groups)
    axes = _axes(figure, shown, groups)
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        shift = 0.6 * ((place + 0.5) / min(len(names), len(COLOURS)) - 0.5)
        shares = [(row + shift, (each.categories or {}).get(name)) for row, each in enumerate(shown.values())]
        found = [(row, each) for row, each in shares if each is not None]
        _show_intervals(axes, found, colour)
        axes.plot(
            [each.q50 for _, each in found], [row for row, _ in found], "o", color=colour, markersize=4,
            label=plain(name),
        )  # fmt: skip
    axes.set(xlabel="share of the people, with its 50% and 90% intervals", xlim=(0, None))
    _legend(figure)


def _shown(groups: Mapping[str, GroupReply]) -> Mapping[str, GroupReply]:
    if len(groups) <= MOST_GROUPS:
        return groups
    most = set(sorted(groups, key=lambda label: groups[label].answers, reverse=True)[:MOST_GROUPS])
    return {label: group for label, group in groups.items() if label in most}


def _axes(figure: Figure | SubFigure, shown: Mapping[str, GroupReply], groups: Mapping[str, GroupReply]) -> Axes:
    axes = figure.add_subplot()
    styled(axes)
    axes.set_yticks(range(len(shown)), [plain(f"{label} ({each.answers:,})") for label, each in shown.items()])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    left = len(groups) - len(shown)
    axes.set_title(
        "group (answers)" + (f": the {len(shown)} with the most of {len(groups)}" if left else ""),
        fontsize="small", color=INK, loc="left",
    )  # fmt: skip
    return axes


def _show_intervals(
    axes: Axes, found: Sequence[tuple[float, ParameterSummary]], colour: str, names: tuple[str, str] = ("_", "_")
) -> None:
    """Draws the 90% and 50% intervals of each row. Names that begin with an underscore stay out of the legend."""
    rows = [row for row, _ in found]
    for ends, width, name in ((("q05", "q95"), 1.5, names[0]), (("q25", "q75"), 4.5, names[1])):
        left, right = ([getattr(each, end) for _, each in found] for end in ends)
        axes.hlines(rows, left, right, color=colour, linewidth=width, alpha=0.6, label=name)


def _ends(found: Sequence[ParameterSummary]) -> tuple[float, float] | None:
    """Where the axis begins and ends: around the 90% intervals that are not far wider than most."""
    if not found:
        return None
    usual = _TYPICAL * median(each.q95 - each.q05 for each in found)
    typical = [each for each in found if each.q95 - each.q05 <= usual]
    low, high = min(each.q05 for each in typical), max(each.q95 for each in typical)
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _legend(figure: Figure | SubFigure) -> None:
    figure.legend(fontsize="small", frameon=False, loc="outside lower center", ncols=3)
