"""Pictures for analysts; needs the extra `plot`."""

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["check_picture", "plot_posterior"]

_BINS = 40


def check_picture(path: Path) -> None:
    """Raises `ValueError` unless a picture can be saved in a file of that name."""
    known = Figure().canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path.name} must end in .png, .svg or .pdf")


def plot_posterior(posterior: "Posterior") -> Figure:
    """A histogram of each parameter's particles, with the posterior mean and the central 90% interval."""
    particles = posterior.particles()
    figure = Figure(figsize=(4.5 * len(particles.parameters), 3.5), layout="constrained")
    figure.suptitle(posterior.title)
    intervals = posterior.interval(0.9)
    for column, parameter in enumerate(particles.parameters):
        axes = figure.add_subplot(1, len(particles.parameters), column + 1)
        values = [value[column] for value in particles.values]
        axes.hist(values, bins=_BINS, weights=particles.weights, density=True, color="tab:blue", alpha=0.7)
        axes.axvspan(*intervals[parameter], color="tab:orange", alpha=0.2, label="90% interval")
        axes.axvline(posterior.mean[parameter], color="black", linewidth=1, label="mean")
        axes.set_xlabel(parameter)
        axes.set_yticks([])
    figure.axes[0].legend(fontsize="small")
    return figure
