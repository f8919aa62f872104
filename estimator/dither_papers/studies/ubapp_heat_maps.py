"""Lakshminarayanan & Rojas, Figure 6: which estimates UBaPP releases for each count, at four ε."""

from typing import TYPE_CHECKING

import numpy as np

from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.ubapp_paper import PAPER, on_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

TRIALS = 10
POINTS = 51
"""Points of the grid for θ: as many as a figure can show."""
EPSILONS = (0.001, 0.5, 2.0, 20.0)
"""From complete privacy to none; the paper does not give its four values."""


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    solution = on_grid(POINTS, TRIALS, cell["epsilon"])
    return {"actions": solution.actions.tolist(), "channel": solution.channel.tolist(), "mse": solution.risk}


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        found = results.only(epsilon=epsilon)
        actions, channel = np.array(found["actions"]), np.array(found["channel"])
        means = actions @ channel
        rows.append(
            {
                "ε": epsilon,
                "estimates in use": len(actions),
                "lowest": float(actions.min()),
                "highest": float(actions.max()),
                "mean at y = 0": float(means[0]),
                f"mean at y = {TRIALS}": float(means[-1]),
                "probability of the likeliest": float(channel.max(axis=0).mean()),
            }
        )
    likeliest = [f"{row['probability of the likeliest']:.2f}" for row in rows]
    sentence = (
        "Paper: one estimate, 0.5, whatever the data, at low ε; random ones between; and again one for each count, the "
        "Bayes estimate, at high ε. Seen: the likeliest estimate has on average the probability "
        f"{', '.join(likeliest)} at ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}, and the estimates for no "
        f"one and for {TRIALS} ones are {rows[0]['mean at y = 0']:.2f} and {rows[0][f'mean at y = {TRIALS}']:.2f} on "
        f"average at the lowest, {rows[-1]['mean at y = 0']:.2f} and {rows[-1][f'mean at y = {TRIALS}']:.2f} at the "
        "highest."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, results))


def _draw(figure: "Figure", results: Results) -> None:
    panels = figure.subplots(1, len(EPSILONS), sharey=True)
    for axes, epsilon in zip(panels, EPSILONS, strict=True):
        found = results.only(epsilon=epsilon)
        shares = np.zeros((POINTS, TRIALS + 1))
        shares[np.rint(np.array(found["actions"]) * (POINTS - 1)).astype(int)] = found["channel"]
        edges = (np.arange(POINTS + 1) - 0.5) / (POINTS - 1)
        image = axes.pcolormesh(np.arange(TRIALS + 2) - 0.5, edges, shares, vmin=0, vmax=1, cmap="viridis")
        axes.set(title=f"ε = {epsilon:g}", xlabel="count y")
    panels[0].set_ylabel("estimate of θ")
    figure.colorbar(image, ax=list(panels), label="probability")


STUDIES = (
    Study(
        "ubapp-figure-6",
        PAPER,
        "Figure 6",
        1,
        1,
        [Cell({"epsilon": epsilon}, random=False) for epsilon in EPSILONS],
        _run,
        _summarise,
        figure_size=(10.0, 3.6),
    ),
)
