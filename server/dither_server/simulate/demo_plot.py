"""The picture of the demonstration, after Figure 1 of Yıldırım (2024): how the posterior closes in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dither_client import parse_query

__all__ = ["plot_history"]

_INK = "#1d2b3a"
_BLUE = "#2b6cb0"
_ORANGE = "#dd6b20"
_GREEN = "#2f855a"
_GREY = "#8795a5"


def plot_history(
    path: Path,
    title: str,
    history: Sequence[Mapping[str, Any]],
    fit: Mapping[str, float],
    raw: Mapping[str, float],
) -> None:
    """Saves posterior mean and 90% band of `mu` and `sigma` against the number of answers, as the file's ending says.

    `history`: as the server gives it. `fit`, `raw`: the two truths. The panel of `mu` has the questions, too.
    """
    rows = [row for row in history if row["answers"] > 0]
    figure = Figure(figsize=(9, 6.6), dpi=160, layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=13, color=_INK, x=0.012, ha="left", fontweight="bold")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, 1.0])
    asked = _questions(above, rows)
    for axes, name, label in ((above, "mu", "mean of the log wage, μ"), (below, "sigma", "their sd, σ")):
        _style(axes)
        _trajectory(axes, rows, name, fit[name], raw[name])
        axes.set_ylabel(label, color=_INK)
    _limits(above, asked[len(asked) // 8 :], rows, "mu")
    _limits(below, [fit["sigma"], raw["sigma"]], rows, "sigma")
    _wages(above)
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower left", frameon=False, fontsize=9, ncols=3)
    below.set_xscale("log")
    below.set_xlim(rows[0]["answers"], rows[-1]["answers"])
    below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    below.set_xlabel("answers, one from each person, each with noise of its own", color=_INK)
    figure.savefig(path)


def _trajectory(axes: Axes, rows: Sequence[Mapping[str, Any]], name: str, fit: float, raw: float) -> None:
    answers = [row["answers"] for row in rows]
    low, mean, high = ([row["posterior"][name][key] for row in rows] for key in ("q05", "mean", "q95"))
    axes.fill_between(answers, low, high, color=_BLUE, alpha=0.22, linewidth=0, label="90% of the posterior")
    axes.plot(answers, mean, color=_BLUE, linewidth=1.8, label="posterior mean")
    axes.axhline(fit, color=_GREEN, linewidth=1.4, label="best fit: where infinitely many answers lead")
    axes.axhline(raw, color=_ORANGE, linewidth=1.4, linestyle=(0, (4, 3)), label="raw value in the data")
    text = f"{mean[-1]:.3f} ± {rows[-1]['posterior'][name]['sd']:.3f}"
    axes.annotate(
        text,
        (1, low[-1]),
        (-4, -7),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="top",
        color=_BLUE,
        fontsize=10,
        fontweight="bold",
    )


def _questions(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """A dot for each threshold of a question asked then, a line between the outer ones of a question with several."""
    asked: list[float] = []
    for row in rows:
        edges = parse_query(row["query"]).edges
        label = "_" if asked else "a question asked then: above or below?"
        axes.plot([row["answers"]] * len(edges), edges, ".-", color=_GREY, markersize=4, linewidth=0.6, label=label)
        asked += edges
    return asked


def _limits(axes: Axes, shown: Sequence[float], rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Shows all of `shown` and the last three quarters of the trajectory; the first answers may lie anywhere."""
    settled = [row["posterior"][name][key] for row in rows[len(rows) // 4 :] for key in ("q05", "q95")]
    low, high = min(*shown, *settled), max(*shown, *settled)
    margin = 0.08 * (high - low)
    axes.set_ylim(low - margin, high + margin)


def _wages(axes: Axes) -> None:
    """A second scale with the wages themselves."""
    second = axes.secondary_yaxis("right", functions=(np.exp, lambda wage: np.log(np.maximum(wage, 1e-9))))
    second.set_ylabel("weekly wage, dollars of 1992", color=_GREY)
    second.set_yticks([50, 100, 200, 500, 1000, 2000, 5000])
    second.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    second.tick_params(colors=_GREY)
    second.spines["right"].set_visible(False)


def _style(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GREY)
    axes.tick_params(colors=_INK)
    axes.grid(axis="y", color="#e6ebf0", linewidth=0.8)
    axes.set_axisbelow(True)
