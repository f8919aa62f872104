"""The picture of a comparison: the error of each number against respondents or ε, beside what no mechanism can beat."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dither_client.posterior.style import COLOURS, GREY, styled, titled
from dither_server.simulate.comparison import DISTRIBUTION, Compared, Setting

__all__ = ["plot_comparison"]

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_WIDE = 50
"""From this ratio of the ends of an axis on, only powers of ten are written."""
_PLAIN = FuncFormatter(lambda value, _: f"{value:,.6g}")


def plot_comparison(path: Path, title: str, found: Sequence[Compared]) -> None:
    """Saves a panel for each number, and one for the distance between distribution functions where all have it."""
    names = [*found[0].numbers, *([DISTRIBUTION] if all(each.distance is not None for each in found) else [])]
    by_epsilon = len({each.setting.respondents for each in found}) == 1
    figure = Figure(figsize=(4.6 * max(len(names), 1), 4.6), dpi=160, layout="constrained", facecolor="white")
    titled(figure, title)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        _draw(axes, name, found, by_epsilon)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", frameon=False, fontsize=9, ncols=3, handlelength=3.5)
    figure.savefig(path)


def _draw(axes: Axes, name: str, found: Sequence[Compared], by_epsilon: bool) -> None:
    styled(axes)
    kinds = list(dict.fromkeys((each.setting.mechanism, each.setting.policy) for each in found))
    epsilons = [""] if by_epsilon else list(dict.fromkeys(each.setting.epsilon for each in found))
    several = len({policy for _, policy in kinds}) > 1
    for epsilon, dashes in zip(epsilons, _DASHES * len(epsilons), strict=False):
        at = f", ε = {epsilon}" if len(epsilons) > 1 else ""
        asked = [each for each in found if epsilon in ("", each.setting.epsilon)]
        for (mechanism, policy), colour in zip(kinds, COLOURS * len(kinds), strict=False):
            mine = [each for each in asked if (each.setting.mechanism, each.setting.policy) == (mechanism, policy)]
            label = f"{mechanism}{f', {policy}' if several else ''}{at}"
            points = [(_place(each.setting, by_epsilon), _error(each, name)) for each in mine]
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=dashes, marker="o", markersize=4, label=label)
        limits = {_place(each.setting, by_epsilon): each.numbers[name].limit for each in asked if name in each.numbers}
        if limits and None not in limits.values():
            label = f"the limit of every mechanism{at}"
            axes.plot(*zip(*limits.items(), strict=True), color=GREY, linestyle=dashes, linewidth=1, label=label)
    axes.set(xscale="log", yscale="log", xlabel="ε of one answer" if by_epsilon else "respondents")
    places = sorted({_place(each.setting, by_epsilon) for each in found})
    axes.set_xticks(places, [f"{place:,g}" for place in places])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high < _WIDE * low else (1,)))
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("largest error of the share below a value" if name == DISTRIBUTION else f"error of {_words(name)}")


def _place(setting: Setting, by_epsilon: bool) -> float:
    return float(setting.epsilon) if by_epsilon else float(setting.respondents)


def _error(each: Compared, name: str) -> float:
    found = each.distance if name == DISTRIBUTION else each.numbers[name].rmse
    assert found is not None
    return found


def _words(name: str) -> str:
    return f"the {float(name):g} quantile" if name[:1].isdigit() else name
