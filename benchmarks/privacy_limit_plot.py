"""The picture of docs/statistics.md: what privacy costs, by mechanism, beside the limit of all of them."""

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter
from threadpoolctl import threadpool_limits

from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray, families

__all__ = ["main"]

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "limit.png"
GOALS = {"all": "the mean and the spread (goal all)", "sigma": "the spread alone (goal sigma)"}
MECHANISMS: tuple[Mechanism, ...] = ("laplace", "randomized_response", "staircase")
"""Without `gaussian`, whose line would hide that of `laplace` up to ε = 3."""
EPSILONS = np.round(np.geomspace(0.25, 10, 17), 2)
TICKS = (0.25, 0.5, 1, 2, 3, 5, 8)

_INK = "#1d2b3a"
_GREY = "#8795a5"
_SHADE = "#e6ebf0"
_COLOURS = ("#dd6b20", "#2b6cb0", "#2f855a")


def main(arguments: Sequence[str]) -> None:
    """Saves the picture at the path given, or in the documentation."""
    figure = Figure(figsize=(9, 6.8), dpi=160, layout="constrained", facecolor="white")
    figure.suptitle(
        "What ε costs: respondents needed to learn a normal distribution",
        fontsize=13,
        color=_INK,
        x=0.012,
        ha="left",
        fontweight="bold",
    )
    panels = figure.subplots(2, len(GOALS), sharex=True, sharey="row", height_ratios=[1.7, 1.0])
    for (goal, title), (above, below) in zip(GOALS.items(), panels.T, strict=True):
        limit, criteria, raw = _criteria(goal)
        above.set_title(title, color=_INK, fontsize=11, loc="left")
        above.fill_between(EPSILONS, limit / raw, 0.1, color=_SHADE, linewidth=0, label="no ε-LDP mechanism gets here")
        _draw(above, {name: values / raw for name, values in criteria.items()}, limit / raw)
        _draw(below, {name: limit / values for name, values in criteria.items()}, np.ones(len(EPSILONS)))
        below.set_xlabel("ε of one answer", color=_INK)
    _axes(panels)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=5)
    figure.savefig(arguments[0] if arguments else PICTURE)


def _criteria(goal: str) -> tuple[FloatArray, Mapping[str, FloatArray], float]:
    """The limit and each mechanism's criterion for every ε, and the criterion of the values themselves, of N(0, 1)."""
    family = families["normal"]
    weights = parse_goal(goal, family)
    limits, criteria = [], {mechanism: list[float]() for mechanism in MECHANISMS}
    for epsilon in EPSILONS:
        for mechanism, found in criteria.items():
            design = optimal_design(family, family.standard, mechanism, Fraction(str(epsilon)), weights)
            found.append(design.criterion)
        limits.append(design.limit)
    values = np.linalg.inv(Member(family, (0.0, 1.0)).information)
    raw = float(np.diag(values) @ weights.vector(family))
    return np.array(limits), {name: np.array(found) for name, found in criteria.items()}, raw


def _draw(axes: Axes, lines: Mapping[str, FloatArray], limit: FloatArray) -> None:
    axes.plot(EPSILONS, limit, color=_INK, linewidth=3.2, alpha=0.55, label="the limit")
    for (name, values), colour in zip(lines.items(), _COLOURS, strict=True):
        axes.plot(EPSILONS, values, ".-", color=colour, linewidth=1.5, markersize=5, label=name)


def _axes(panels: npt.NDArray[Any]) -> None:
    for axes in panels.flat:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(_GREY)
        axes.tick_params(colors=_INK)
        axes.grid(axis="y", color="#d5dce3", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xscale("log")
        axes.set_xlim(EPSILONS[0], EPSILONS[-1])
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.set_xticks([], minor=True)
    above, below = panels[:, 0]
    above.set_yscale("log")
    above.set_ylim(0.9, 700)
    above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    above.set_ylabel("respondents, to those without privacy", color=_INK)
    below.set_ylim(0, 1.05)
    below.yaxis.set_major_formatter(PercentFormatter(1.0))
    below.set_ylabel("efficiency", color=_INK)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
