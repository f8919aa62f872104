"""Lakshminarayanan & Rojas, section 5.5: what the grid for θ costs UBaPP, compared with the exact reduction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dither_papers.bayes_point.geometric import geometric_estimator
from dither_papers.bayes_point.lbapp import lbapp_mse
from dither_papers.bayes_point.problem import chain, count_moments, squared_problem
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.ubapp_paper import PAPER, on_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

TRIALS = 10
EPSILONS = (1.0, 3.0, 5.0)
POINTS = (4, 5, 6, 8, 10, 11, 15, 20, 30, 50, 100, 500, 5_000)


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """The estimator that solves (11) on a grid: its error under the grid's prior and under the uniform one."""
    solution = on_grid(cell["points"], TRIALS, cell["epsilon"])
    exact = squared_problem(solution.actions, count_moments(TRIALS), chain(TRIALS + 1))
    return {
        "grid": solution.risk,
        "uniform": float((exact.costs * solution.channel).sum()),
        "actions": len(solution.actions),
    }


def _summarise(results: Results) -> Findings:
    rows: list[Row] = [
        {
            "ε": epsilon,
            "points": points,
            "UBaPP, prior on the grid": found["grid"],
            "UBaPP, θ uniform": found["uniform"],
            "estimates in use": found["actions"],
            "UBaPP, exact": geometric_estimator(count_moments(TRIALS), epsilon)[1],
            "LBaPP, exact": lbapp_mse(count_moments(TRIALS), epsilon),
        }
        for epsilon in EPSILONS
        for points in POINTS
        for found in [results.only(epsilon=epsilon, points=points)]
    ]
    last = rows[-1]
    lost = last["UBaPP, θ uniform"] - last["UBaPP, exact"]
    sentence = (
        "Paper: at moderate ε LBaPP is ahead of UBaPP by about 0.001, because of the grid of 5,000 points for θ. Seen, "
        f"with K = {TRIALS} at ε = 5: without a grid UBaPP has {last['UBaPP, exact']:.5f} and LBaPP "
        f"{last['LBaPP, exact']:.5f}. A grid does put UBaPP behind, if θ is uniform and not itself on the grid, but a "
        f"coarse one: {_behind(rows)} points or fewer of those tried, while {POINTS[-1]:,} points cost {lost:.0e}. No "
        f"grid is needed: three moments for each count, and {TRIALS + 1} estimates."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows))


def _behind(rows: Sequence[Row]) -> Any:
    """The largest grid with which UBaPP is worse than LBaPP at ε = 5."""
    return max(row["points"] for row in rows if row["ε"] == 5 and row["UBaPP, θ uniform"] > row["LBaPP, exact"])


def _draw(figure: "Figure", rows: Sequence[Row]) -> None:
    panels = figure.subplots(1, len(EPSILONS))
    for axes, epsilon in zip(panels, EPSILONS, strict=True):
        some = [row for row in rows if row["ε"] == epsilon]
        for column, style in (
            ("UBaPP, prior on the grid", "o-"),
            ("UBaPP, θ uniform", "s-"),
            ("UBaPP, exact", "-"),
            ("LBaPP, exact", "--"),
        ):
            axes.plot([row["points"] for row in some], [row[column] for row in some], style, label=column, markersize=4)
        axes.set_xscale("log")
        axes.set(title=f"ε = {epsilon:g}", xlabel="points for θ")
    panels[0].set_ylabel(f"mean squared error, K = {TRIALS}")
    panels[-1].legend(frameon=False, fontsize=8)


STUDIES = (
    Study(
        "ubapp-discretisation",
        PAPER,
        "section 5.5, the grid for θ",
        1,
        1,
        [Cell({"epsilon": epsilon, "points": points}, random=False) for epsilon in EPSILONS for points in POINTS],
        _run,
        _summarise,
        figure_size=(11.0, 3.8),
    ),
)
