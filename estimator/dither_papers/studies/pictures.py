"""What several figures need: ticks at given numbers, and marks for what lies outside the axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["half_width", "log_ticks", "mark_outside", "rmse_half_width"]


def half_width(values: FloatArray) -> float:
    """Half the width of a normal 95% interval for the mean of `values`, shape (runs,); 0 for a single run."""
    return float(1.96 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def rmse_half_width(squares: FloatArray) -> float:
    """Half the width of a 95% interval for the root of the mean of `squares` (runs,), by the delta method."""
    return half_width(squares) / (2.0 * float(np.sqrt(squares.mean())))


def log_ticks(axes: "Axes", values: Sequence[float]) -> None:
    """A logarithmic x axis with these ticks alone, written as plain numbers."""
    axes.set_xscale("log")
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()


def mark_outside(axes: "Axes", columns: Sequence[FloatArray]) -> None:
    """Beside columns at x = 1, 2, …: an arrow and the number of values above or below the axes, where there are any."""
    low, high = axes.get_ylim()
    for place, values in enumerate(columns, 1):
        for count, y, arrow, where in (
            (int(np.sum(values > high)), high, "▲", "top"),
            (int(np.sum(values < low)), low, "▼", "bottom"),
        ):
            if count:
                axes.text(place, y, f"{arrow}{count}", color="tab:red", fontsize=5, ha="center", va=where)
