"""Foulds et al., Figures 4 and 5: what the states of the Iraq model emit, by private hidden Markov models at ε = 5."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.private_gibbs.records import IRAQ
from dither_estimator.studies.ops_posteriors import PAPER
from dither_estimator.studies.study import Cell, Findings, Results, Row, Study
from dither_estimator.studies.war_logs_states import fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

METHODS = {"none": "without privacy", "Laplace": "Laplace", "OPS, last one": "OPS, one sample"}
FEATURES = ("type", "category", "friendly harm", "civilian harm", "enemy harm")


def _cell(method: str) -> dict[str, str | int]:
    return {"data": "Iraq", "states": IRAQ.states, "method": method}


def _summarise(results: Results) -> Findings:
    true = results.array("true emissions", **_cell("none"))
    found = {method: results.array("emissions", **_cell(method)) for method in METHODS}
    rows: list[Row] = []
    for state in range(IRAQ.states):
        for feature, start, end in _features():
            part = slice(start, end)
            row = {"state": state + 1, "feature": feature}
            for method, label in METHODS.items():
                apart = np.abs(found[method][:, state, part] - true[:, state, part]).sum(axis=1) / 2.0
                row[f"{label}, distance"] = float(apart.mean())
            agree = [
                float((found[method][:, state, part].argmax(axis=1) == true[:, state, part].argmax(axis=1)).mean())
                for method in ("Laplace", "OPS, last one")
            ]
            rows.append({**row, "Laplace, mode is right": agree[0], "OPS, mode is right": agree[1]})
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, true[0], {m: e[0] for m, e in found.items()}))


def _features() -> list[tuple[str, int, int]]:
    ends = np.cumsum(IRAQ.sizes).tolist()
    return [(name, end - size, end) for name, size, end in zip(FEATURES, IRAQ.sizes, ends, strict=True)]


def _sentence(rows: Sequence[Row]) -> str:
    laplace, ops = (max(row[f"{label}, distance"] for row in rows) for label in ("Laplace", "OPS, one sample"))
    right = np.mean([row["Laplace, mode is right"] for row in rows])
    return (
        "Paper: the most frequent type, category and casualties of each state tell one state from the other, and "
        f"make sense. Seen, on synthetic records: with the Laplace mechanism the most frequent outcome is right in "
        f"{right:.0%} of states and features, and no feature's emissions are further than {laplace:.3f} from the true "
        f"ones (total variation distance), with OPS {ops:.3f}."
    )


def _draw(figure: "Figure", true: FloatArray, found: dict[str, FloatArray]) -> None:
    panels = figure.subplots(IRAQ.states, len(FEATURES), width_ratios=[max(4, size) for size in IRAQ.sizes])
    for state, line in enumerate(panels):
        for axes, (feature, start, end) in zip(line, _features(), strict=True):
            places = np.arange(end - start)
            axes.bar(places, true[state, start:end], 0.9, color="0.85", label="true")
            for i, (method, emissions) in enumerate(found.items()):
                axes.plot(
                    places + 0.2 * (i - 1), emissions[state, start:end], "o", markersize=2.5, label=METHODS[method]
                )
            axes.set_xticks([])
            axes.set_title(feature if state == 0 else "", fontsize=8)
            axes.tick_params(labelsize=7)
        line[0].set_ylabel(f"state {state + 1}")
    panels[0][1].legend(frameon=False, fontsize=7)


STUDIES = (
    Study(
        "war-logs-emissions",
        PAPER,
        "Figures 4 and 5, on synthetic records",
        1,
        10,
        [Cell(_cell(method)) for method in METHODS],
        partial(fit, None),
        _summarise,
        figure_size=(11.0, 4.5),
    ),
)
