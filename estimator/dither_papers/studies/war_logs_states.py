"""Foulds et al., Figures 3 and 7: latent states found by private hidden Markov models at ε = 5.

The records are synthetic, so the results can be compared with the truth. `--data` takes a file.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.records import AFGHANISTAN, IRAQ, Records, digest, parse_records, synthetic
from dither_papers.private_gibbs.sampler import Truncation, gibbs
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SHAPES", "STUDIES", "fit"]

SHAPES = {"Iraq": IRAQ, "Afghanistan": AFGHANISTAN}
METHODS = ("none", "Laplace", "OPS, last 100", "OPS, last one")
EPSILON = 5.0
MULTIPLIER = 100.0

DataSets = Sequence[tuple[str, int]]
"""Names, and numbers of latent states."""

ITERATIONS, BURN_IN = 200, 100


def fit(given: Records | None, cell: Cell, rng: np.random.Generator) -> RunResult:
    """One run: states and emissions by the cell's method, matched to the true ones, and their distance from these."""
    n_states = cell["states"]
    if given is None:
        records, states, emissions = synthetic(rng, SHAPES[cell["data"]])
    else:  # nobody knows the truth: the result without privacy replaces it
        records, last = given, list(gibbs(rng, given, n_states, ITERATIONS))[-1]
        states, emissions = last.states, last.emissions
    truncation = Truncation(MULTIPLIER, EPSILON) if cell["method"].startswith("OPS") else None
    seen = records.noisy(rng, EPSILON) if cell["method"] == "Laplace" else records
    draws = list(gibbs(rng, seen, n_states, ITERATIONS, None, truncation))
    draws = draws[-1:] if cell["method"] == "OPS, last one" else draws[BURN_IN:]
    votes = sum(np.eye(n_states)[draw.states] for draw in draws)
    found = np.asarray(votes).argmax(axis=2)
    names = _matched(found, states, n_states)
    mean = np.mean([draw.emissions for draw in draws], axis=0)[np.argsort(names)]
    distance = np.abs(mean - emissions).sum(axis=1) / 2.0 / len(records.sizes)
    return {
        "true": states.tolist(),
        "found": names[found].tolist(),
        "right": float((names[found] == states).mean()),
        "distance": float(distance.mean()),
        "true emissions": emissions.tolist(),
        "emissions": mean.tolist(),
    }


def _matched(found: npt.NDArray[np.int64], states: npt.NDArray[np.int64], n_states: int) -> npt.NDArray[np.int64]:
    """The true state that each found one is matched to, a permutation that maximises agreement."""
    agree: FloatArray = np.zeros((n_states, n_states))
    np.add.at(agree, (found, states), 1.0)
    return np.asarray(linear_sum_assignment(-agree)[1])


def _summarise(data_sets: DataSets, results: Results) -> Findings:
    rows: list[Row] = [
        {
            "data": data,
            "states": states,
            "method": method,
            "states that are right": _mean(results, "right", data, method, states),
            "emissions, distance from the true": _mean(results, "distance", data, method, states),
        }
        for data, states in data_sets
        for method in METHODS
    ]
    right = {(row["data"], row["states"], row["method"]): row["states that are right"] for row in rows}
    seen = "; ".join(
        f"{data}, {states} states: {right[data, states, 'Laplace']:.1%} with the Laplace mechanism, "
        f"{right[data, states, 'OPS, last one']:.1%} in OPS's one sample, {right[data, states, 'none']:.1%} without "
        "privacy"
        for data, states in data_sets
    )
    return Findings(
        rows,
        "Paper: at ε = 5 the Laplace mechanism's states are coherent and their emissions make sense; the one sample "
        f"that OPS releases is noisy on Afghanistan. Seen, on records that are not the paper's, states that are right: "
        f"{seen}.",
        lambda figure: _draw(figure, data_sets, results),
    )


def _mean(results: Results, name: str, data: str, method: str, states: int) -> float:
    return float(results.array(name, data=data, method=method, states=states).mean())


def _draw(figure: "Figure", data_sets: DataSets, results: Results) -> None:
    panels = figure.subplots(len(METHODS) + 1, len(data_sets), sharex="col", squeeze=False)
    for column, (data, n_states) in zip(panels.T, data_sets, strict=True):
        shown: Sequence[tuple[str, FloatArray]] = [
            ("true", results.array("true", data=data, method="none", states=n_states)[0]),
            *((method, results.array("found", data=data, method=method, states=n_states)[0]) for method in METHODS),
        ]
        for axes, (name, states) in zip(column, shown, strict=True):
            axes.imshow(states, aspect="auto", cmap="viridis", interpolation="nearest")
            axes.set_title(f"{data}: {'without privacy' if name == 'none' else name}", fontsize=8)
            axes.set_ylabel("region", fontsize=7)
            axes.set_yticks(range(len(states)), [str(r + 1) for r in range(len(states))], fontsize=6)
        column[-1].set_xlabel("month; a colour is a state")


def _study(data_sets: DataSets, given: Records | None, with_data: bool) -> Study:
    cells = [
        Cell({"data": data, "states": states, "method": method}) for data, states in data_sets for method in METHODS
    ]
    return Study(
        "war-logs-states",
        PAPER,
        "Figures 3 and 7, on " + ("synthetic records" if given is None else "the records of a file"),
        1,
        10,
        cells,
        partial(fit, given),
        partial(_summarise, data_sets),
        figure_size=(9.0, 6.5),
        with_data=_on_file if with_data else None,
    )


def _on_file(text: str) -> Study:
    """The same study on the records of a file, with the paper's two and three states."""
    return _study([(digest(text), states) for states in (2, 3)], parse_records(text), with_data=False)


STUDIES = (_study([(name, shape.states) for name, shape in SHAPES.items()], None, with_data=True),)
