"""Foulds et al., supplement A: data chosen so that one posterior sample costs as much as in the worst case."""

from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.conjugate.adversary import greedy_adversary
from dither_papers.conjugate.costs import posterior_sample_cost, random_scan_cost
from dither_papers.conjugate.counts import BetaBernoulli
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

P_MIN = 0.1
STEPS = 1_000
SHOWN = (0, 1, 3, 10, 30, 100, 300, 1_000)


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    return {"cost": greedy_adversary(P_MIN, STEPS).tolist()}


def _summarise(results: Results) -> Findings:
    cost = results.array("cost", least=P_MIN)[0]
    sensitivity = BetaBernoulli(0.5, P_MIN).likelihood_sensitivity
    worst = posterior_sample_cost(sensitivity)
    rows: list[Row] = [
        {"N": n, "ε of these data": float(cost[n]), "of the worst case": float(cost[n] / worst)} for n in SHOWN
    ]
    sentence = (
        "Paper: an adversary can bring the privacy cost of one posterior sample, which more data do not lower, up to "
        f"its worst case. Seen, truncated at {P_MIN}: ε = {cost[0]:.2f} without data, {cost[100]:.2f} after 100 chosen "
        f"entries and {cost[-1]:.2f} after {STEPS:,}, of at most {worst:.2f}; noisy statistics cost the ε they are "
        "made with, whatever the data. A Gibbs pass over a random tenth of the entries' values costs up to "
        f"{random_scan_cost(sensitivity, 0.1):.2f}, not the paper's 4ΔQ/N = {0.4 * sensitivity:.2f}."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, cost, worst))


def _draw(figure: "Figure", cost: FloatArray, worst: float) -> None:
    axes = figure.subplots()
    axes.plot(np.arange(len(cost)), cost, label="these data")
    axes.axhline(worst, color="black", linestyle="--", label="worst case, 2 Δ log Pr(θ, X)")
    axes.axhline(worst / 2.0, color="0.6", linewidth=0.8, label="half of it")
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set(xlabel="entries that the adversary has added", ylabel="ε of one posterior sample", ylim=(0.0, None))
    axes.legend(frameon=False, fontsize=8)


STUDIES = (
    Study(
        "ops-adversary",
        PAPER,
        "supplement A, Figure 1",
        1,
        1,
        [Cell({"least": P_MIN}, random=False)],
        _run,
        _summarise,
    ),
)
