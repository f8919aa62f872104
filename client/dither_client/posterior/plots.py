"""Pictures for analysts; needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dither_client.posterior.wire import DistributionSummary, ParameterSummary

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["check_picture", "plot_posterior"]

_BINS = 40
_SHOWN = 0.02, 0.98
"""The shares of the population between which its distribution is shown: tails would leave no room for the rest."""


def check_picture(path: Path) -> None:
    """Raises `ValueError` unless a picture can be saved in a file of that name."""
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path.name} must end in .png, .svg or .pdf")


def plot_posterior(posterior: "Posterior") -> Figure:
    """The population's distribution function with its bands, and beside it what is known of each parameter.

    Of categories, the share of each with its 90% interval.

    A parameter has a histogram of its particles, with the posterior mean and the central 90% interval. Without a family
    there are none, and while a posterior is too wide for a distribution there are only they.
    """
    if posterior.categories:
        return _plot_shares(posterior.title, posterior.categories)
    distribution = posterior.distribution
    parameters = posterior.parameters if posterior.covariance else ()
    panels = len(parameters) + (distribution is not None)
    figure = Figure(figsize=(7 if panels == 1 else 4.5 * max(panels, 1), 4), layout="constrained")
    figure.suptitle(posterior.title)
    axes = [figure.add_subplot(1, panels, place + 1) for place in range(panels)]
    if distribution is not None:
        _show_distribution(axes.pop(0), distribution)
    if parameters:
        particles, intervals = posterior.particles(), posterior.interval(0.9)
        for place, name in enumerate(parameters):
            column = particles.parameters.index(name)
            values = [value[column] for value in particles.values]
            _show_parameter(axes[place], name, values, particles.weights, intervals[name], posterior.mean[name])
        axes[0].legend(fontsize="small")
    return figure


def _plot_shares(title: str, categories: Mapping[str, ParameterSummary]) -> Figure:
    figure = Figure(figsize=(7, 1.5 + 0.3 * len(categories)), layout="constrained")
    figure.suptitle(title)
    axes = figure.add_subplot()
    shares = list(categories.values())
    places, medians = range(len(shares)), [share.q50 for share in shares]
    below, above = [share.q50 - share.q05 for share in shares], [share.q95 - share.q50 for share in shares]
    axes.barh(places, medians, xerr=(below, above), color="tab:blue", alpha=0.7, ecolor="black")
    axes.set_yticks(places, [name.replace("$", r"\$") for name in categories])
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
    axes.hist(values, bins=_BINS, weights=weights, density=True, color="tab:blue", alpha=0.7)
    axes.axvspan(*interval, color="tab:orange", alpha=0.2, label="90% interval")
    axes.axvline(mean, color="black", linewidth=1, label="mean")
    axes.set_xlabel(name)
    axes.set_yticks([])


def _show_distribution(axes: Axes, distribution: DistributionSummary) -> None:
    x, cdf = distribution.x, distribution.cdf
    axes.fill_between(x, cdf.q05, cdf.q95, color="tab:orange", alpha=0.2, linewidth=0, label="90% band")
    axes.fill_between(x, cdf.q25, cdf.q75, color="tab:orange", alpha=0.3, linewidth=0, label="50% band")
    axes.plot(x, cdf.q50, color="tab:blue", label="median")
    inside = [point for point, share in zip(x, cdf.q50, strict=True) if _SHOWN[0] <= share <= _SHOWN[1]]
    axes.set(xlim=(inside[0], inside[-1]) if len(inside) > 1 else None, ylim=(0, 1))
    axes.set(xlabel="value", ylabel="share of the people at or below")
    axes.legend(fontsize="small")
