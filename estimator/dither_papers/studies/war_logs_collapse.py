"""Foulds et al., section 5: how many of ten states a private hidden Markov model uses, at ε = 5.

The records are synthetic, with two and three states.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dither_papers.private_gibbs.records import synthetic
from dither_papers.private_gibbs.sampler import gibbs
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.pictures import half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.war_logs_states import EPSILON, SHAPES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

METHODS = {"none": "without privacy", "Laplace": "Laplace"}
STATES, ITERATIONS = 10, 200
SUBSTANTIAL = 0.05
"""The share of regions and months from which on a state counts as used."""


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """The shares of regions and months in each state of the last draw, the largest first."""
    records, _, _ = synthetic(rng, SHAPES[cell["data"]])
    seen = records.noisy(rng, EPSILON) if cell["method"] == "Laplace" else records
    *_, last = gibbs(rng, seen, STATES, ITERATIONS)
    shares = np.bincount(last.states.ravel(), minlength=STATES) / last.states.size
    return {"shares": (-np.sort(-shares)).tolist()}


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for data, shape in SHAPES.items():
        for method, label in METHODS.items():
            shares = results.array("shares", data=data, method=method)
            used = (shares >= SUBSTANTIAL).sum(axis=1)
            row: dict[str, float | str | int] = {"data": data, "method": label, "true states": shape.states}
            row |= {"states in use": float(used.mean()), "± (95%)": half_width(used)}
            largest = shares[:, : shape.states].sum(axis=1)
            rows.append(row | {"share of as many states as are true": float(largest.mean())})
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, results))


def _sentence(rows: Sequence[Row]) -> str:
    seen = "; ".join(
        f"{row['data']}, {row['method']}: {row['states in use']:.1f} of {STATES}, where {row['true states']} are true"
        for row in rows
    )
    return (
        "Paper: given ten states, the private model uses two or three, and the model without privacy all ten. Seen, on "
        f"records that come from a model with few states, states with at least {SUBSTANTIAL:.0%} of regions and "
        f"months: {seen}."
    )


def _draw(figure: "Figure", results: Results) -> None:
    panels = figure.subplots(1, len(SHAPES), sharey=True)
    places = np.arange(1, STATES + 1)
    for axes, (data, shape) in zip(panels, SHAPES.items(), strict=True):
        for i, (method, label) in enumerate(METHODS.items()):
            shares = results.array("shares", data=data, method=method)
            bars = [half_width(column) for column in shares.T]
            axes.bar(places + 0.4 * (i - 0.5), shares.mean(axis=0), 0.4, yerr=bars, capsize=2, label=label)
        axes.axhline(SUBSTANTIAL, color="0.4", linestyle="--", linewidth=1, label="a state in use, at least")
        axes.set(title=f"{data}: {shape.states} true states", xlabel="state, by size", xticks=places)
        axes.set_ylim(0, 1)
    panels[0].set_ylabel("share of regions and months")
    panels[0].legend(frameon=False)


STUDIES = (
    Study(
        "war-logs-collapse",
        PAPER,
        "ten states of section 5, on synthetic records",
        1,
        10,
        [Cell({"data": data, "method": method}) for data in SHAPES for method in METHODS],
        _run,
        _summarise,
        figure_size=(9.0, 3.8),
    ),
)
