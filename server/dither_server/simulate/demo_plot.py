"""The picture of the demonstration: what is known of the wages after each answer, and in the end."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dither_client.posterior.style import BLUE, INK, ORANGE, styled, titled
from dither_client.posterior.wire import PosteriorReply, to_json
from dither_estimator.families import FloatArray

__all__ = ["plot_wages"]

_TRACED = {"0.9": "9 in 10", "0.5": "half", "0.1": "1 in 10"}
"""Quantiles, and who has that or less."""
_BEYOND = 1e3
_COUNT = FuncFormatter(lambda value, _: f"{value:,.0f}")


def plot_wages(
    path: Path, title: str, history: Sequence[Mapping[str, Any]], posterior: PosteriorReply, wages: FloatArray
) -> None:
    """Plots three quantiles against the number of answers, and the distribution beside that of the `wages` themselves.

    `history`: rows from the server, to which the present `posterior` is appended.
    """
    figure = Figure(figsize=(11, 4.6), dpi=160, layout="constrained", facecolor="white")
    titled(figure, title)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
    low, high = np.quantile(wages, [0.01, 0.985]).tolist()
    for axes in (left, right):
        styled(axes)
    present = {f"quantile_{level}": summary for level, summary in to_json(posterior.quantiles).items()}
    shown = low / 2, 2 * high
    _traces(left, [*history, {"answers": posterior.answers, "posterior": present}], wages, shown)
    left.set_ylim(shown)
    _distribution(right, posterior, wages)
    right.set_xlim(0, high)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower left", frameon=False, fontsize=9, ncols=3)
    figure.savefig(path)


def _traces(axes: Axes, rows: Sequence[Mapping[str, Any]], wages: FloatArray, shown: tuple[float, float]) -> None:
    """`shown` are the ends of the axis; what lies far beyond is drawn a little beyond."""
    nearest = shown[0] / _BEYOND, shown[1] * _BEYOND
    names = {f"quantile_{level}" for level in _TRACED}
    rows = [row for row in rows if names <= row["posterior"].keys()]  # at first a quantile may be too large for a float
    answers = [row["answers"] for row in rows]
    for level, words in _TRACED.items():
        low, median, high = (
            np.clip([row["posterior"][f"quantile_{level}"][key] for row in rows], *nearest)
            for key in ("q05", "q50", "q95")
        )
        truth = float(np.quantile(wages, float(level), method="inverted_cdf"))
        axes.fill_between(answers, low, high, color=BLUE, alpha=0.22, linewidth=0)
        axes.plot(answers, median, color=BLUE, linewidth=1.6)
        axes.axhline(truth, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
        place = ("axes fraction", "data")
        axes.annotate(
            f"{words}: {median[-1]:,.0f}", (1, truth), (5, 0), xycoords=place, textcoords="offset points",
            va="center", color=INK, fontsize=9,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(answers[0], answers[-1])
    axes.xaxis.set_major_formatter(_COUNT)
    axes.yaxis.set_major_formatter(_COUNT)
    axes.set_xlabel("answers, one from each person, each with its own noise", color=INK)
    axes.set_ylabel("weekly wage, dollars of 1992", color=INK)


def _distribution(axes: Axes, posterior: PosteriorReply, wages: FloatArray) -> None:
    ordered = np.sort(wages)
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    if posterior.distribution is not None:
        x, cdf = posterior.distribution.x, posterior.distribution.cdf
        axes.fill_between(x, cdf.q05, cdf.q95, color=BLUE, alpha=0.22, linewidth=0, label="90% of the posterior")
        axes.plot(x, cdf.q50, color=BLUE, linewidth=1.6, label="posterior median")
    axes.plot(
        ordered, shares, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)), label="the data, which no server has seen"
    )
    axes.set_ylim(0, 1)
    axes.xaxis.set_major_formatter(_COUNT)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    axes.set_xlabel("weekly wage, dollars of 1992", color=INK)
    axes.set_ylabel("people who have at most that", color=INK)
