"""Pictures for analysts; needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from errno import ENOENT
from os import strerror
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dither_client.posterior.style import BLUE, INK, ORANGE, styled, titled
from dither_client.posterior.wire import DistributionSummary, ParameterSummary

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["check_picture", "plot_posterior"]

_BINS = 40
_SHOWN = 0.02, 0.98
"""The shares of the population between which its distribution is shown: tails would leave no room for the rest."""


def check_picture(path: Path) -> None:
    """Raises `ValueError` unless a file of that name can hold a picture, `FileNotFoundError` if its folder is missing.

    Called before the work whose result is drawn.
    """
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path.name} must end in .png, .svg or .pdf")
    if not path.parent.exists():
        raise FileNotFoundError(ENOENT, strerror(ENOENT), str(path))


def plot_posterior(posterior: "Posterior", name: str = "", unit: str = "") -> Figure:
    """The population's distribution function with its bands, and beside it what is known of each parameter.

    Of categories, the share of each with its 90% interval.

    A parameter has a histogram of its particles, with the posterior mean and the central 90% interval. Without a family
    there are none, and while a posterior is too wide for a distribution there are only they. The title says the
    collection's `name`, its id for none; values are in `unit`.
    """
    title = posterior.title.replace(posterior.collection, name, 1) if name else posterior.title
    if posterior.categories:
        return _plot_shares(title, posterior.categories)
    distribution = posterior.distribution
    parameters = posterior.parameters if posterior.covariance else ()
    panels = len(parameters) + (distribution is not None)
    figure = Figure(figsize=(7 if panels == 1 else 4.5 * max(panels, 1), 4), layout="constrained", facecolor="white")
    titled(figure, title)
    axes = [figure.add_subplot(1, panels, place + 1) for place in range(panels)]
    for each in axes:
        styled(each)
    if distribution is not None:
        _show_distribution(axes.pop(0), distribution, unit)
    if parameters:
        particles, intervals = posterior.particles(), posterior.interval(0.9)
        for place, name in enumerate(parameters):
            column = particles.parameters.index(name)
            values = [value[column] for value in particles.values]
            _show_parameter(axes[place], name, values, particles.weights, intervals[name], posterior.mean[name])
        axes[0].legend(fontsize="small", frameon=False)
    return figure


def _plain(text: str) -> str:
    """The text without the dollar signs' meaning of formulae."""
    return text.replace("$", r"\$")


def _plot_shares(title: str, categories: Mapping[str, ParameterSummary]) -> Figure:
    figure = Figure(figsize=(7, 1.5 + 0.3 * len(categories)), layout="constrained")
    titled(figure, title)
    axes = figure.add_subplot()
    styled(axes)
    shares = list(categories.values())
    places, medians = range(len(shares)), [share.q50 for share in shares]
    below, above = [share.q50 - share.q05 for share in shares], [share.q95 - share.q50 for share in shares]
    axes.barh(places, medians, xerr=(below, above), color=BLUE, alpha=0.7, ecolor=INK)
    axes.set_yticks(places, [_plain(name) for name in categories])
    axes.invert_yaxis()
    axes.set(xlabel="share of the people, with its 90% interval", xlim=(0, None))
    return figure


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


def _show_distribution(axes: Axes, distribution: DistributionSummary, unit: str) -> None:
    x, cdf = distribution.x, distribution.cdf
    axes.fill_between(x, cdf.q05, cdf.q95, color=BLUE, alpha=0.18, linewidth=0, label="90% band")
    axes.fill_between(x, cdf.q25, cdf.q75, color=BLUE, alpha=0.3, linewidth=0, label="50% band")
    axes.plot(x, cdf.q50, color=BLUE, label="median")
    inside = [point for point, share in zip(x, cdf.q50, strict=True) if _SHOWN[0] <= share <= _SHOWN[1]]
    axes.set(xlim=(inside[0], inside[-1]) if len(inside) > 1 else None, ylim=(0, 1))
    axes.set(xlabel=_plain(unit or "value"), ylabel="share of the people at or below")
    axes.legend(fontsize="small", frameon=False)
