"""Foulds et al., Figures 4 and 5: emissions of the states of the Iraq model, by private hidden Markov models at ε = 5.

The records are synthetic, so the results can be compared with the truth. `--data` takes a file, for which the results
without privacy replace the truth.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.records import IRAQ, Records, digest, parse_records
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, Study
from dither_papers.studies.war_logs_states import fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

METHODS = {"none": "without privacy", "Laplace": "Laplace", "OPS, last one": "OPS, one sample"}
FEATURES = ("type", "category", "friendly harm", "civilian harm", "enemy harm")


@dataclass(frozen=True)
class _Source:
    """The source of the records."""

    data: str
    features: Sequence[str]
    sizes: Sequence[int]
    given: Records | None = None
    """The records of a file; None for synthetic ones, new in each run."""

    def cell(self, method: str) -> dict[str, str | int]:
        """The values of a method's cell."""
        return {"data": self.data, "states": IRAQ.states, "method": method}

    def parts(self) -> list[tuple[str, int, int]]:
        """Each feature's name, and the start and end of its outcomes."""
        ends = np.cumsum(self.sizes).tolist()
        return [(name, end - size, end) for name, size, end in zip(self.features, self.sizes, ends, strict=True)]


def _summarise(source: _Source, results: Results) -> Findings:
    true = results.array("true emissions", **source.cell("none"))
    found = {method: results.array("emissions", **source.cell(method)) for method in METHODS}
    if source.given is not None:
        names = _as_in_the_first(true)
        true = np.take_along_axis(true, names, axis=1)
        found = {method: np.take_along_axis(emissions, names, axis=1) for method, emissions in found.items()}
    rows: list[Row] = []
    for state in range(IRAQ.states):
        for feature, start, end in source.parts():
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
    first = {method: emissions[0] for method, emissions in found.items()}
    return Findings(rows, _sentence(source, rows), lambda figure: _draw(figure, source, true[0], first))


def _as_in_the_first(true: FloatArray) -> npt.NDArray[np.int64]:
    """Match the states of each run to the first run's, shape (runs, K, 1): chains number them arbitrarily."""
    apart = np.abs(true[0][:, np.newaxis] - true[:, np.newaxis]).sum(axis=3)
    return np.array([linear_sum_assignment(run)[1] for run in apart], dtype=np.int64)[:, :, np.newaxis]


def _sentence(source: _Source, rows: Sequence[Row]) -> str:
    laplace, ops = (max(row[f"{label}, distance"] for row in rows) for label in ("Laplace", "OPS, one sample"))
    right = np.mean([row["Laplace, mode is right"] for row in rows])
    records, truth, true = "synthetic records", "", "the true ones"
    if source.given is not None:
        records, true = "the records of a file", "those"
        truth = " the emissions found without privacy stand for the true ones;"
    return (
        "Paper: the most frequent type, category and casualties of each state tell one state from the other, and "
        f"make sense. Seen, on {records}:{truth} with the Laplace mechanism the most frequent outcome is right in "
        f"{right:.0%} of states and features, and no feature's emissions are further than {laplace:.3f} from {true} "
        f"(total variation distance), with OPS {ops:.3f}."
    )


def _draw(figure: "Figure", source: _Source, true: FloatArray, found: dict[str, FloatArray]) -> None:
    widths = [max(4, size) for size in source.sizes]
    panels = figure.subplots(IRAQ.states, len(source.features), width_ratios=widths, squeeze=False)
    for state, line in enumerate(panels):
        for axes, (feature, start, end) in zip(line, source.parts(), strict=True):
            places = np.arange(end - start)
            label = "true" if source.given is None else "stands for the truth"
            axes.bar(places, true[state, start:end], 0.9, color="0.85", label=label)
            for i, (method, emissions) in enumerate(found.items()):
                axes.plot(
                    places + 0.2 * (i - 1), emissions[state, start:end], "o", markersize=2.5, label=METHODS[method]
                )
            axes.set_xticks([])
            axes.set_title(feature if state == 0 else "", fontsize=8)
            axes.tick_params(labelsize=7)
        line[0].set_ylabel(f"state {state + 1}")
    panels[0][:2][-1].legend(frameon=False, fontsize=7)


def _study(source: _Source, with_data: bool) -> Study:
    return Study(
        "war-logs-emissions",
        PAPER,
        "Figures 4 and 5, on " + ("synthetic records" if source.given is None else "the records of a file"),
        1,
        10,
        [Cell(source.cell(method)) for method in METHODS],
        partial(fit, source.given),
        partial(_summarise, source),
        figure_size=(11.0, 4.5),
        with_data=_on_file if with_data else None,
    )


def _on_file(text: str) -> Study:
    """The same study on the records of a file, with the two states of the paper's Iraq model."""
    records = parse_records(text)
    header = next(csv.reader(io.StringIO(text)))
    features = [name for name in header if name not in ("region", "time")]
    return _study(_Source(digest(text), features, records.sizes, records), with_data=False)


STUDIES = (_study(_Source("Iraq", FEATURES, IRAQ.sizes), with_data=True),)
