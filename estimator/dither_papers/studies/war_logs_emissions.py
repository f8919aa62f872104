"""Foulds et al., Figures 4 and 5: emissions of the states of both countries, by private hidden Markov models at ε = 5.

The records are synthetic, so the results can be compared with the truth. `--data` takes a file, for which the results
without privacy replace the truth.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.records import AFGHANISTAN, IRAQ, Records, digest, parse_records
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.pictures import half_width
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
    states: int
    features: Sequence[str]
    sizes: Sequence[int]
    given: Records | None = None
    """The records of a file; None for synthetic ones, new in each run."""

    def cell(self, method: str) -> dict[str, str | int]:
        """The values of a method's cell."""
        return {"data": self.data, "states": self.states, "method": method}

    def parts(self) -> list[tuple[str, int, int]]:
        """Each feature's name, and the start and end of its outcomes."""
        ends = np.cumsum(self.sizes).tolist()
        return [(name, end - size, end) for name, size, end in zip(self.features, self.sizes, ends, strict=True)]


def _summarise(sources: Sequence[_Source], results: Results) -> Findings:
    found = {source.data: _emissions(source, results) for source in sources}
    rows = [row for source in sources for row in _rows(source, *found[source.data])]
    return Findings(rows, _sentence(sources, rows), lambda figure: _draw(figure, sources, found))


def _emissions(source: _Source, results: Results) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The true emissions, shape (runs, K, J), and those that each method found."""
    true = results.array("true emissions", **source.cell("none"))
    found = {method: results.array("emissions", **source.cell(method)) for method in METHODS}
    if source.given is not None:
        names = _as_in_the_first(true)
        true = np.take_along_axis(true, names, axis=1)
        found = {method: np.take_along_axis(emissions, names, axis=1) for method, emissions in found.items()}
    return true, found


def _rows(source: _Source, true: FloatArray, found: dict[str, FloatArray]) -> Iterator[Row]:
    for state in range(source.states):
        for feature, start, end in source.parts():
            part = slice(start, end)
            row: dict[str, float | str | int] = {"data": source.data, "state": state + 1, "feature": feature}
            for method, label in METHODS.items():
                apart = np.abs(found[method][:, state, part] - true[:, state, part]).sum(axis=1) / 2.0
                row |= {f"{label}, distance": float(apart.mean()), f"± (95%), {label}": half_width(apart)}
            for method, name in (("Laplace", "Laplace"), ("OPS, last one", "OPS")):
                right = found[method][:, state, part].argmax(axis=1) == true[:, state, part].argmax(axis=1)
                row[f"{name}, mode is right"] = float(right.mean())
            yield row


def _as_in_the_first(true: FloatArray) -> npt.NDArray[np.int64]:
    """Match the states of each run to the first run's, shape (runs, K, 1): chains number them arbitrarily."""
    apart = np.abs(true[0][:, np.newaxis] - true[:, np.newaxis]).sum(axis=3)
    return np.array([linear_sum_assignment(run)[1] for run in apart], dtype=np.int64)[:, :, np.newaxis]


def _sentence(sources: Sequence[_Source], rows: Sequence[Row]) -> str:
    records, truth, true = "synthetic records", "", "the true ones"
    if sources[0].given is not None:
        records, true = "the records of a file", "those"
        truth = " the emissions found without privacy stand for the true ones;"
    seen = "; ".join(
        f"{source.data}: {_accuracy([row for row in rows if row['data'] == source.data], true)}" for source in sources
    )
    return (
        "Paper: the most frequent type, category and casualties of each state tell one state from the other, and "
        f"make sense. Seen, on {records},{truth} {seen}."
    )


def _accuracy(rows: Sequence[Row], true: str) -> str:
    laplace, ops = (max(row[f"{label}, distance"] for row in rows) for label in ("Laplace", "OPS, one sample"))
    right = np.mean([row["Laplace, mode is right"] for row in rows])
    return (
        f"with the Laplace mechanism the most frequent outcome is right in {right:.0%} of states and features, and no "
        f"feature's emissions are further than {laplace:.3f} from {true} (total variation distance), with OPS {ops:.3f}"
    )


def _draw(
    figure: "Figure", sources: Sequence[_Source], found: Mapping[str, tuple[FloatArray, dict[str, FloatArray]]]
) -> None:
    """The emissions of the first run: every outcome of every feature, by state."""
    widths = [max(4, size) for size in sources[0].sizes]
    lines = [(source, state) for source in sources for state in range(source.states)]
    panels = figure.subplots(len(lines), len(widths), width_ratios=widths, squeeze=False)
    for line, (source, state) in zip(panels, lines, strict=True):
        true, by_method = found[source.data]
        for axes, (feature, start, end) in zip(line, source.parts(), strict=True):
            places = np.arange(end - start)
            label = "true" if source.given is None else "stands for the truth"
            axes.bar(places, true[0, state, start:end], 0.9, color="0.85", label=label)
            for i, (method, emissions) in enumerate(by_method.items()):
                shown = emissions[0, state, start:end]
                axes.plot(places + 0.2 * (i - 1), shown, "o", markersize=2.5, label=METHODS[method])
            axes.set_xticks([])
            axes.set_ylim(0, None)
            axes.set_title(feature if (source, state) == lines[0] else "", fontsize=8)
            axes.tick_params(labelsize=7)
        line[0].set_ylabel(f"{source.data}\nstate {state + 1}\nprobability", fontsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("outcome", fontsize=7)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)


def _study(sources: Sequence[_Source], with_data: bool) -> Study:
    given = sources[0].given
    return Study(
        "war-logs-emissions",
        PAPER,
        "Figures 4 and 5, on " + ("synthetic records" if given is None else "the records of a file"),
        1,
        10,
        [Cell(source.cell(method)) for source in sources for method in METHODS],
        partial(fit, given),
        partial(_summarise, sources),
        figure_size=(11.0, 2.0 * sum(source.states for source in sources)),
        with_data=_on_file if with_data else None,
    )


def _on_file(text: str) -> Study:
    """The same study on the records of a file, with the two states of the paper's Iraq model."""
    records = parse_records(text)
    header = next(csv.reader(io.StringIO(text)))
    features = [name for name in header if name not in ("region", "time")]
    return _study([_Source(digest(text), IRAQ.states, features, records.sizes, records)], with_data=False)


SOURCES = [
    _Source(name, shape.states, FEATURES, shape.sizes) for name, shape in (("Iraq", IRAQ), ("Afghanistan", AFGHANISTAN))
]

STUDIES = (_study(SOURCES, with_data=True),)
