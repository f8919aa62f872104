"""Lakshminarayanan & Rojas, Figures 5 and 7: the mean squared error for each number of Bernoulli trials."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_papers.bayes_point.geometric import geometric_estimator
from dither_papers.bayes_point.lbapp import lbapp_mse, lbapp_squared_errors
from dither_papers.bayes_point.local import local_moments
from dither_papers.bayes_point.problem import count_moments
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.ubapp_paper import PAPER, certified

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

TRIALS = (2, 5, 10, 20, 30, 40, 50)
DRAWS = 1_000
"""Draws of Algorithm 2 per run; the paper takes 5,000 in all."""


def _cells() -> list[Cell]:
    return [
        *(Cell({"method": "LBaPP", "K": trials}) for trials in TRIALS),
        *(Cell({"method": "UBaPP", "K": trials}, random=False) for trials in TRIALS),
    ]


def _run(epsilon: float, cell: Cell, rng: np.random.Generator) -> RunResult:
    if cell["method"] == "LBaPP":
        return {"mse": float(lbapp_squared_errors(rng, cell["K"], epsilon, DRAWS).mean())}
    return {"bound": certified(cell["K"], epsilon)}


def _rows(epsilon: float, results: Results) -> list[Row]:
    rows: list[Row] = []
    for trials in TRIALS:
        moments = count_moments(trials)
        rows.append(
            {
                "K": trials,
                "LBaPP, Algorithm 2": float(results.array("mse", method="LBaPP", K=trials).mean()),
                "LBaPP, exact": lbapp_mse(moments, epsilon),
                "UBaPP, exact": geometric_estimator(moments, epsilon)[1],
                "lower bound": results.only(method="UBaPP", K=trials)["bound"],
                "without a curator": local_moments(trials, epsilon).bayes_risk,
                "without privacy": moments.bayes_risk,
            }
        )
    return rows


def _summarise(epsilon: float, results: Results) -> Findings:
    rows = _rows(epsilon, results)
    first, last = rows[0], rows[-1]
    if epsilon < 1:
        paper = "UBaPP's error depends less on K than LBaPP's, which is far behind where K is small"
    else:
        paper = "the two are similar"
    sentence = (
        f"Paper: at ε = {epsilon:g} {paper}. Seen, at K = {first['K']} and {last['K']}: LBaPP "
        f"{first['LBaPP, exact']:.4g} and {last['LBaPP, exact']:.4g}, UBaPP {first['UBaPP, exact']:.4g} and "
        f"{last['UBaPP, exact']:.4g}, never behind."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows, epsilon))


def _draw(figure: "Figure", rows: Sequence[Row], epsilon: float) -> None:
    axes = figure.subplots()
    for column, style in (
        ("LBaPP, Algorithm 2", "o"),
        ("LBaPP, exact", "-"),
        ("UBaPP, exact", "s-"),
        ("without a curator", "--"),
        ("without privacy", ":"),
    ):
        axes.plot([row["K"] for row in rows], [row[column] for row in rows], style, label=column, markersize=5)
    axes.set_yscale("log")
    axes.set(xlabel="number of Bernoulli trials K", ylabel="mean squared error", title=f"ε = {epsilon:g}")
    axes.legend(frameon=False, fontsize=8)


def _study(name: str, figure: str, epsilon: float) -> Study:
    return Study(name, PAPER, figure, 5, 5, _cells(), partial(_run, epsilon), partial(_summarise, epsilon))


STUDIES = (_study("ubapp-figure-5", "Figure 5", 0.001), _study("ubapp-figure-7", "Figure 7", 5.0))
