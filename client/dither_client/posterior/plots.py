"""Pictures for analysts; needs the extra `plot`."""

import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter, StrMethodFormatter

from dither_client.posterior.forest_plot import forest_height, show_forest, show_shares_by_group
from dither_client.posterior.sentences import title_with_unit, whole_numbers
from dither_client.posterior.style import BLUE, INK, ORANGE, footed, plain, styled, titled
from dither_client.posterior.wire import (
    QUANTILES,
    ComponentReply,
    DistributionSummary,
    ParameterSummary,
    PeriodReply,
    Regression,
)
from dither_client.tables.file_errors import check_folder

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["check_picture", "plot_posterior", "save_picture"]

_BINS = 40
_PEOPLE = ("0.05", "0.25", "0.5", "0.75", "0.95")
"""The levels of the quantiles at the edges of the fan over periods, from its lowest to its highest."""
_DATES = 6
"""The most dates on the axis of time."""
_TOP = 4.0
"""The height of a distribution function beside or above groups, in inches."""
_SHOWN = 0.005, 0.995
"""The shares of the population between which its distribution is shown: tails would leave no room for the rest."""
_STEEP = 20.0
"""Values that differ by more than this factor are on a logarithmic axis."""
_VALUES = StrMethodFormatter("{x:,.10g}")
"""Values on an axis are written as in sentences."""
_FEW_DECADES = 200.0
"""Where they differ by less than this, 2 and 5 have labels, too."""


def check_picture(path: Path) -> None:
    """Raises `ValueError` unless a file of that name can hold a picture, `FileNotFoundError` if its folder is missing.

    Called before the work whose result is drawn.
    """
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path.name} must end in .png, .svg or .pdf")
    check_folder(path)


def save_picture(figure: Figure, path: Path) -> None:
    """Saves it. Signs that the font lacks, such as emojis in a title, are boxes, of which nobody is warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        figure.savefig(path, dpi=150)


def plot_posterior(posterior: "Posterior", name: str = "", unit: str = "") -> Figure:
    """The population's distribution function with its bands, and beside it what is known of each parameter.

    Of categories, the share of each with its 90% interval. Where people have several numbers, each one's distribution,
    and below how every other one goes with the first: its conditional median and bands. Of public groups, the median of
    each with its intervals.

    A parameter has a histogram of its particles, with the posterior mean and the central 90% interval. Without a family
    there are none, nor of logarithms, and while a posterior is too wide for a distribution there are only they. Below,
    where there are periods, is the population by period, and its median, or where people have only 0 or 1 the share who
    have 1. The title says the collection's `name`, its id for none, and the foot what the posterior rests on; values
    are in `unit`.
    """
    title = posterior.title.replace(posterior.collection, name, 1) if name else posterior.title
    figure = _drawn(posterior, title, unit)
    if posterior.basis:
        footed(figure, posterior.basis)
    return figure


def _drawn(posterior: "Posterior", title: str, unit: str) -> Figure:
    if posterior.groups:
        return _plot_groups(title, posterior, unit)
    if posterior.categories:
        return _plot_shares(title, posterior.categories)
    if posterior.components:
        asked = posterior.terms.get("components") or [{"name": name} for name in posterior.components]
        titles = {each["name"]: plain(title_with_unit(each)) for each in asked}
        return _plot_components(title, titles, posterior.components, posterior.regressions)
    distribution = posterior.distribution
    of_logarithms = posterior.transform == "log" and distribution is not None
    parameters = posterior.parameters if posterior.covariance and not of_logarithms else ()
    panels = len(parameters) + (distribution is not None)
    width, rows = 4.5 * max(panels, 1) if panels != 1 else 7, 2 if posterior.periods else 1
    figure = Figure(figsize=(width, 4 * rows), layout="constrained", facecolor="white")
    titled(figure, title)
    above: Figure | SubFigure = figure
    if posterior.periods:
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        _show_periods(below, posterior.periods, distribution, unit)
    axes = [above.add_subplot(1, panels, place + 1) for place in range(panels)]
    for each in axes:
        styled(each)
    if distribution is not None:
        _show_distribution(axes.pop(0), distribution, plain(unit or "value"))
    if parameters:
        particles, intervals = posterior.particles(), posterior.interval(0.9)
        for place, name in enumerate(parameters):
            column = particles.parameters.index(name)
            values = [value[column] for value in particles.values]
            _show_parameter(axes[place], name, values, particles.weights, intervals[name], posterior.mean[name])
        axes[0].legend(fontsize="small", frameon=False)
    return figure


def _plot_groups(title: str, posterior: "Posterior", unit: str) -> Figure:
    """All groups together on the left, or above many groups, and beside them each group alone."""
    distribution, groups = posterior.distribution, posterior.groups
    height = max(forest_height(len(groups)), _TOP)
    beside = height <= 2 * _TOP or distribution is None
    figure = Figure(
        figsize=(12 if beside and distribution is not None else 7, height if beside else height + _TOP),
        layout="constrained",
        facecolor="white",
    )
    titled(figure, title)
    right: Figure | SubFigure = figure
    if distribution is not None:
        rows, columns, ratios = (1, 2, None) if beside else (2, 1, (_TOP, height))
        left, right = figure.subfigures(rows, columns, squeeze=False, height_ratios=ratios).ravel()
        axes = left.add_subplot()
        styled(axes)
        _show_distribution(axes, distribution, plain(unit or "value"))
        axes.set_title("all groups together", fontsize="small", color=INK, loc="left")
    if posterior.categories:
        show_shares_by_group(right, groups, list(posterior.categories))
    else:
        show_forest(right, groups, posterior.quantiles.get(0.5), unit)
    return figure


def _plot_shares(title: str, categories: Mapping[str, ParameterSummary]) -> Figure:
    figure = Figure(figsize=(7, 1.5 + 0.3 * len(categories)), layout="constrained")
    titled(figure, title)
    axes = figure.add_subplot()
    styled(axes)
    shares = list(categories.values())
    places, medians = range(len(shares)), [share.q50 for share in shares]
    below, above = [share.q50 - share.q05 for share in shares], [share.q95 - share.q50 for share in shares]
    axes.barh(places, medians, xerr=(below, above), color=BLUE, alpha=0.7, ecolor=INK)
    axes.set_yticks(places, [plain(name) for name in categories])
    axes.invert_yaxis()
    axes.set(xlabel="share of the people,\nwith its 90% interval", xlim=(0, None))
    return figure


def _plot_components(
    title: str,
    titles: Mapping[str, str],
    components: Mapping[str, ComponentReply],
    regressions: Mapping[str, Regression],
) -> Figure:
    """The distributions above; below, beside each number but the first, its values given the first one's.

    `titles` are those of the numbers' axes.
    """
    names = list(components)
    figure = Figure(
        figsize=(max(4.5 * len(names), 7), 8 if regressions else 4), layout="constrained", facecolor="white"
    )
    titled(figure, title)
    rows = 2 if regressions else 1
    for place, name in enumerate(names):
        distribution = components[name].distribution
        if distribution is not None:
            axes = figure.add_subplot(rows, len(names), place + 1)
            styled(axes)
            _show_distribution(axes, distribution, titles[name])
        regression = regressions.get(f"{name},{names[0]}")
        if regression is not None:
            axes = figure.add_subplot(rows, len(names), len(names) + place + 1)
            styled(axes)
            _show_regression(axes, titles[name], titles[names[0]], regression)
    return figure


def _show_regression(axes: Axes, target: str, given: str, found: Regression) -> None:
    for low, high, share, alpha in ((found.q05, found.q95, "90%", 0.15), (found.q25, found.q75, "50%", 0.3)):
        axes.fill_between(
            found.x, low.mean, high.mean, color=BLUE, alpha=alpha, linewidth=0, label=f"{share} of people"
        )
    axes.plot(found.x, found.q50.mean, color=INK, label="median")
    for edge in (found.q50.q05, found.q50.q95):
        axes.plot(found.x, edge, color=ORANGE, linewidth=1, linestyle="--")
    axes.plot([], [], color=ORANGE, linewidth=1, linestyle="--", label="its 90% interval")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_VALUES)
    axes.set(xlabel=given, ylabel=target)
    axes.legend(fontsize="small", frameon=False)


def _show_parameter(
    axes: Axes,
    name: str,
    values: Sequence[float],
    weights: Sequence[float],
    interval: tuple[float, float],
    mean: float,
) -> None:
    axes.hist(values, bins=_BINS, weights=weights, density=True, color=BLUE, alpha=0.45)
    axes.axvspan(*interval, color=ORANGE, alpha=0.15, label="90% interval")
    axes.axvline(mean, color=INK, linewidth=1, label="mean")
    axes.set_xlabel(name)
    axes.set_yticks([])


def _show_distribution(axes: Axes, distribution: DistributionSummary, title: str) -> None:
    x, cdf = distribution.x, distribution.cdf
    stepwise = whole_numbers(distribution)
    for low, high, alpha, name in ((cdf.q05, cdf.q95, 0.18, "90% band"), (cdf.q25, cdf.q75, 0.3, "50% band")):
        step: Literal["post"] | None = "post" if stepwise else None
        axes.fill_between(x, low, high, step=step, color=BLUE, alpha=alpha, linewidth=0, label=name)
    axes.plot(x, cdf.q50, drawstyle="steps-post" if stepwise else "default", color=BLUE, label="median")
    inside = [point for point, share in zip(x, cdf.q50, strict=True) if _SHOWN[0] <= share <= _SHOWN[1]]
    axes.set(xlim=(inside[0], inside[-1]) if len(inside) > 1 else None, ylim=(0, 1))
    if len(inside) > 1 and inside[-1] > _STEEP * inside[0] > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if inside[-1] < _FEW_DECADES * inside[0] else (1,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(_VALUES)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set(xlabel=title, ylabel="share of the people at or below")
    axes.legend(fontsize="small", frameon=False)


def _show_periods(
    figure: SubFigure, periods: Mapping[str, PeriodReply], distribution: DistributionSummary | None, unit: str
) -> None:
    """The fan of the population over time, and beside it how sure its median is; of zeros and ones the share of 1."""
    replies, value = list(periods.values()), plain(unit or "value")
    if distribution is not None and set(distribution.x) <= {0.0, 1.0}:
        shares = [None if each.mean_value is None else _bands(each.mean_value) for each in replies]
        _show_fan(figure.add_subplot(), replies, shares, "share who have 1", ("median", "50% band", "90% band"))
        return
    quantiles = [each.quantiles or {} for each in replies]
    people = [[found[level].q50 for level in _PEOPLE] if found.keys() >= set(_PEOPLE) else None for found in quantiles]
    medians = [_bands(found["0.5"]) if "0.5" in found else None for found in quantiles]
    left, right = figure.subplots(1, 2)
    _show_fan(left, replies, people, value, ("median", "half of the people", "nine in ten"))
    _show_fan(right, replies, medians, f"median, {unit}" if unit else "median", ("median", "50% band", "90% band"))


def _bands(summary: ParameterSummary) -> list[float]:
    return [getattr(summary, name) for name in QUANTILES]


def _show_fan(
    axes: Axes,
    periods: Sequence[PeriodReply],
    lines: Sequence[Sequence[float] | None],
    value: str,
    names: tuple[str, str, str],
) -> None:
    """A line with two bands over time; each of `lines` has the numbers of a period from the lowest to the highest."""
    known = [(period, each) for period, each in zip(periods, lines, strict=True) if each is not None]
    days = [date.fromisoformat(period.start).toordinal() for period, _ in known]
    columns = list(zip(*(each for _, each in known), strict=True)) or [()] * len(QUANTILES)
    styled(axes)
    if len(known) == 1:  # a band without a width could not be seen
        for (low, high), thickness, name in (((0, 4), 2, names[2]), ((1, 3), 8, names[1])):
            axes.vlines(days, columns[low], columns[high], color=BLUE, alpha=0.4, linewidth=thickness, label=name)
    else:
        axes.fill_between(days, columns[0], columns[4], color=BLUE, alpha=0.18, linewidth=0, label=names[2])
        axes.fill_between(days, columns[1], columns[3], color=BLUE, alpha=0.3, linewidth=0, label=names[1])
    axes.plot(days, columns[2], color=BLUE, label=names[0])
    answered = [place for place, (period, _) in enumerate(known) if period.answers]
    axes.plot(
        [days[place] for place in answered], [columns[2][place] for place in answered], "o", color=BLUE, markersize=3
    )
    shown = days[:: -(-len(days) // _DATES) or 1]
    axes.set_xticks(shown, [date.fromordinal(day).isoformat() for day in shown], rotation=30, ha="right")
    axes.set(xlabel="period from (UTC)", ylabel=value)
    axes.legend(fontsize="small", frameon=False)
