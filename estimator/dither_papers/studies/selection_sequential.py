"""Alparslan & Yıldırım, Figure 9: `|x|` against `x²` if every value is released by itself."""

from typing import TYPE_CHECKING

import numpy as np

from dither_papers.statistic_selection.chains import Walk
from dither_papers.statistic_selection.grid import posterior_means, sequence_log_likelihood
from dither_papers.statistic_selection.information import sequence_information
from dither_papers.statistic_selection.latent_chains import sequence_chain
from dither_papers.statistic_selection.monte_carlo import monte_carlo_information, single_latents
from dither_papers.studies.pictures import half_width, log_ticks
from dither_papers.studies.selection_information import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

THETA, SIZE, BOUND, UPPER = 2.0, 100, 10.0, 100.0
EPSILONS = (2.0, 5.0, 10.0, 20.0, 50.0)
POWERS = (1, 2)
NAMES = ("a = 1", "a = 2")
"""|x| and x² in tables, whose columns cannot contain bars."""
BATCH, ITERATIONS, DRAWS = 5, 1_000, 20
OUTER, INNER = 200, 500
GRID = np.geomspace(0.05, UPPER, 80)


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    power, scale = cell["a"], BOUND ** cell["a"] / cell["epsilon"]
    x = np.minimum(np.abs(rng.standard_normal((BATCH, SIZE))) * THETA**0.5, BOUND)
    y = x**power + scale * rng.laplace(size=(BATCH, SIZE))
    step = min(2.5 / np.sqrt(sequence_information(power, THETA, SIZE, scale)), UPPER / 8)
    walk = Walk(np.full(BATCH, THETA), float(step), UPPER, ITERATIONS)
    states = sequence_chain(rng, y, power, scale, walk, DRAWS)[ITERATIONS // 4 :]
    logs = sequence_log_likelihood(y, GRID, power, scale)
    exact = posterior_means(GRID, logs + np.log(GRID))  # equally spaced in log θ
    one = monte_carlo_information(rng, single_latents(power, THETA, scale), OUTER, INNER)
    return {
        "chain": ((states.mean(axis=0) - THETA) ** 2).tolist(),
        "exact": ((exact - THETA) ** 2).tolist(),
        "information": SIZE * one,
    }


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        row: dict[str, float] = {"ε": epsilon}
        for a, name in zip(POWERS, NAMES, strict=True):
            chain = results.array("chain", a=a, epsilon=epsilon).ravel()
            row[f"MSE, {name}"], row[f"± (95%), {name}"] = float(chain.mean()), half_width(chain)
            row[f"exact MSE, {name}"] = float(results.array("exact", a=a, epsilon=epsilon).mean())
            measured = results.array("information", a=a, epsilon=epsilon)
            row[f"F(θ), {name}, Algorithm 3"] = float(measured.mean())
            row[f"± (95%), F(θ), {name}, Algorithm 3"] = half_width(measured)
            row[f"F(θ), {name}"] = sequence_information(a, THETA, SIZE, BOUND**a / epsilon)
        rows.append(row)
    ahead = [f"{row['ε']:g}" for row in rows if row["exact MSE, a = 1"] < row["exact MSE, a = 2"]]
    told = [f"{row['ε']:g}" for row in rows if row["F(θ), a = 1"] > row["F(θ), a = 2"]]
    sentence = (
        "Paper: |x| has the smaller error, as its information predicts. Seen: the smaller error at ε = "
        f"{', '.join(ahead) or 'none'} and more information at ε = {', '.join(told) or 'none'}, of those in the table; "
        f"at ε = 10 the errors are {rows[2]['exact MSE, a = 1']:.3g} and {rows[2]['exact MSE, a = 2']:.3g}."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows))


def _draw(figure: "Figure", rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    epsilons = [row["ε"] for row in rows]
    for name, colour in zip(NAMES, ("tab:blue", "tab:red"), strict=True):
        found, bars = ([row[f"{kind}, {name}"] for row in rows] for kind in ("MSE", "± (95%)"))
        left.errorbar(epsilons, found, bars, fmt="o", capsize=3, color=colour)
        left.plot(epsilons, [row[f"exact MSE, {name}"] for row in rows], color=colour, label=name)
        points, bars = ([row[f"{kind}{name}, Algorithm 3"] for row in rows] for kind in ("F(θ), ", "± (95%), F(θ), "))
        right.errorbar(epsilons, points, bars, fmt="o", capsize=3, color=colour)
        right.plot(epsilons, [row[f"F(θ), {name}"] for row in rows], color=colour, label=name)
    for axes, label in (
        (left, "mean squared error (dots: chains)"),
        (right, "Fisher information at θ = 2 (dots: Algorithm 3)"),
    ):
        axes.set(xlabel="ε", ylabel=label, yscale="log")
        log_ticks(axes, epsilons)
        axes.legend(frameon=False)


STUDIES = (
    Study(
        "selection-figure-9",
        PAPER,
        "Figure 9",
        1,
        20,
        [Cell({"a": a, "epsilon": epsilon}) for epsilon in EPSILONS for a in POWERS],
        _run,
        _summarise,
        figure_size=(9.0, 4.0),
        sizes=f"{BATCH} data sets a run, chains of {ITERATIONS:,} steps",
    ),
)
