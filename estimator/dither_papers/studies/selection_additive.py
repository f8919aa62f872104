"""Alparslan & Yıldırım, Figures 6 and 7: errors of `|x|` and `x²` with Gaussian and with Laplace noise."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.chains import Additive, Walk, metropolis_chain, pseudo_marginal_chain
from dither_papers.statistic_selection.grid import posterior_means
from dither_papers.statistic_selection.information import gaussian_information, laplace_information
from dither_papers.statistic_selection.normal_laplace import log_density
from dither_papers.statistic_selection.powers import NormalVariance
from dither_papers.studies.pictures import half_width, log_ticks
from dither_papers.studies.selection_information import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

THETA, SIZE, BOUND = 2.0, 100, 10.0
UPPER = 100.0
"""The end of the flat prior on θ, the variance of values within 10 of 0; without an end there is no posterior."""
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
POWERS = (1, 2)
NAMES = ("a = 1", "a = 2")
"""|x| and x² in tables, whose columns cannot contain bars."""
BATCH = 20
"""Noisy observations per run; each has a chain."""
ITERATIONS = 4_000
"""The paper has 100,000. The first quarter is discarded."""
DRAWS = 20
"""Draws in Algorithm 5; the paper does not give its number."""
GRID = np.linspace(UPPER / 4_000, UPPER, 4_000)


def _normal(y: FloatArray, power: NormalVariance, noise: float, theta: FloatArray) -> FloatArray:
    """`log N(y; μ_s(θ), H(θ))`, (15), up to a constant."""
    moments = power.moments(theta).of_average(SIZE)
    variance = moments.variance + noise
    return np.asarray(-0.5 * (y - moments.mean) ** 2 / variance - 0.5 * np.log(variance))


def _run(mechanism: str, cell: Cell, rng: np.random.Generator) -> RunResult:
    power = NormalVariance(cell["a"])
    scale = power.sensitivity(BOUND) / (SIZE * cell["epsilon"])
    x = np.minimum(np.abs(rng.standard_normal((BATCH, SIZE))) * THETA**0.5, BOUND)
    unit = rng.standard_normal(BATCH) if mechanism == "gaussian" else rng.laplace(size=BATCH)
    y = (x**power.a).mean(axis=1) + scale * unit
    step = min(2.5 / np.sqrt(_information(mechanism, cell["a"], cell["epsilon"])), UPPER / 4)
    walk = Walk(np.full(BATCH, THETA), float(step), UPPER, ITERATIONS)
    if mechanism == "gaussian":
        states = metropolis_chain(rng, lambda theta: _normal(y, power, scale**2, theta), walk)
        logs = _normal(y[:, None], power, scale**2, GRID)
    else:
        states = pseudo_marginal_chain(rng, Additive(power, SIZE, scale, y), walk, DRAWS)
        moments = power.moments(GRID).of_average(SIZE)
        logs = log_density(y[:, None], moments.mean, moments.variance, np.asarray(scale))
    chain, exact = states[ITERATIONS // 4 :].mean(axis=0), posterior_means(GRID, logs)
    return {
        "chain": ((chain - THETA) ** 2).tolist(),
        "exact": ((exact - THETA) ** 2).tolist(),
        "apart": ((chain - exact) ** 2).tolist(),
    }


def _information(mechanism: str, a: float, epsilon: float) -> float:
    compute = gaussian_information if mechanism == "gaussian" else laplace_information
    return float(compute(NormalVariance(a), np.array([THETA]), SIZE, epsilon, BOUND)[0])


def _summarise(mechanism: str, results: Results) -> Findings:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        row: dict[str, float] = {"ε": epsilon}
        for a, name in zip(POWERS, NAMES, strict=True):
            chain = results.array("chain", a=a, epsilon=epsilon).ravel()
            row[f"MSE, {name}"] = float(chain.mean())
            row[f"± (95%), {name}"] = half_width(chain)
            row[f"exact MSE, {name}"] = float(results.array("exact", a=a, epsilon=epsilon).mean())
            row[f"Monte Carlo's part, {name}"] = float(results.array("apart", a=a, epsilon=epsilon).mean())
            row[f"F(θ), {name}"] = _information(mechanism, a, epsilon)
        rows.append(row)
    ahead = [row["ε"] for row in rows if row["exact MSE, a = 1"] < row["exact MSE, a = 2"]]
    told = [row["ε"] for row in rows if row["F(θ), a = 1"] > row["F(θ), a = 2"]]
    parts = [
        (row[f"Monte Carlo's part, {name}"] / row[f"exact MSE, {name}"], row["ε"]) for row in rows for name in NAMES
    ]
    part, at = max(parts)
    paper = "unless ε is very large" if mechanism == "gaussian" else "as with Gaussian noise"
    sentence = (
        f"Paper: |x| has the smaller error {paper}, and is where the information is larger. Seen: |x| has the smaller "
        f"error at ε = {_listed(ahead)}, and more information at ε = {_listed(told)}; at ε = 1 the errors are "
        f"{rows[1]['exact MSE, a = 1']:.3g} and {rows[1]['exact MSE, a = 2']:.3g}. Means of "
        f"{ITERATIONS:,} steps are from the exact ones, squared, at most {part:.2g} of the exact error (ε = {at:g}): "
        "longer chains would show the same."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows))


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values) or "none"


def _draw(figure: "Figure", rows: list[Row]) -> None:
    panels = figure.subplots(1, 2)
    epsilons = [row["ε"] for row in rows]
    for name, colour in zip(NAMES, ("tab:blue", "tab:red"), strict=True):
        found, bars = ([row[f"{kind}, {name}"] for row in rows] for kind in ("MSE", "± (95%)"))
        panels[0].errorbar(epsilons, found, bars, fmt="o", capsize=3, color=colour)
        panels[0].plot(epsilons, [row[f"exact MSE, {name}"] for row in rows], color=colour, label=name)
        panels[1].plot(epsilons, [row[f"F(θ), {name}"] for row in rows], color=colour, label=name)
    for axes, label in zip(
        panels,
        ("mean squared error\n(dots: chains, 95%; lines: exact means)", "Fisher information at θ = 2"),
        strict=True,
    ):
        axes.set(xlabel="ε", ylabel=label, yscale="log")
        log_ticks(axes, epsilons)
        axes.legend(frameon=False)


def _study(figure: str, mechanism: str, runs: int, full: int) -> Study:
    return Study(
        f"selection-figure-{figure}",
        PAPER,
        f"Figure {figure}",
        runs,
        full,
        [Cell({"a": a, "epsilon": epsilon}) for epsilon in EPSILONS for a in POWERS],
        partial(_run, mechanism),
        partial(_summarise, mechanism),
        figure_size=(9.0, 4.0),
        sizes=f"{BATCH} observations a run, chains of {ITERATIONS:,} steps (the paper's: 100,000)",
    )


STUDIES = (_study("6", "gaussian", 2, 50), _study("7", "laplace", 2, 5))
