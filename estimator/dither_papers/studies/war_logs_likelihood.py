"""Foulds et al., Figure 6: held-out log-likelihood of private naive Bayes and hidden Markov models, at each ε.

The records are synthetic, with the dimensions of the paper's: we may not distribute the war logs. `--data` takes a
file.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.held_out import mean_log_likelihood
from dither_papers.private_gibbs.records import AFGHANISTAN, IRAQ, Records, digest, parse_records, synthetic
from dither_papers.private_gibbs.sampler import Draw, Truncation, gibbs
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.pictures import half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

SHAPES = {"Afghanistan": AFGHANISTAN, "Iraq": IRAQ}
PANELS = (("naive Bayes", "Afghanistan"), ("naive Bayes", "Iraq"), ("HMM", "Afghanistan"), ("HMM", "Iraq"))
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
MULTIPLIERS = {"OPS, M = 10": 10.0, "OPS, M = 100": 100.0}
METHODS = ("Laplace", *MULTIPLIERS)
HELD_OUT = 0.1
STATES = 10
ITERATIONS, BURN_IN = 200, 100


Panels = Sequence[tuple[str, str]]


def _cells(panels: Panels) -> list[Cell]:
    return [
        Cell({"model": model, "data": data, "method": method, "epsilon": epsilon})
        for model, data in panels
        for method, epsilon in (("none", 0.0), *((method, epsilon) for method in METHODS for epsilon in EPSILONS))
    ]


def _run(given: Records | None, cell: Cell, rng: np.random.Generator) -> RunResult:
    """One split: in a given run all cells of a data set have the same records and the same split."""
    records = given or synthetic(rng, SHAPES[cell["data"]])[0]
    held_out = rng.random(records.counts.shape[:2]) < HELD_OUT
    if cell["model"] == "naive Bayes":
        pooled = _draws(cell, rng, records.pooled(held_out), 1, None)
        draws: Sequence[Draw] = [Draw(held_out * 0, draw.emissions, 1) for draw in pooled]
    else:
        draws = _draws(cell, rng, records, STATES, held_out)
    return {"log likelihood": mean_log_likelihood(draws, records, held_out)}


def _draws(
    cell: Cell, rng: np.random.Generator, records: Records, n_states: int, held_out: npt.NDArray[np.bool_] | None
) -> Sequence[Draw]:
    """The draws after the burn-in; for OPS only the last one, to which its ε applies."""
    multiplier = MULTIPLIERS.get(cell["method"])
    truncation = None if multiplier is None else Truncation(multiplier, cell["epsilon"])
    seen = records.noisy(rng, cell["epsilon"]) if cell["method"] == "Laplace" else records
    draws = list(gibbs(rng, seen, n_states, ITERATIONS, held_out, truncation))
    return draws[-1:] if truncation else draws[BURN_IN:]


def _summarise(panels: Panels, results: Results) -> Findings:
    def splits(model: str, data: str, method: str, epsilon: float) -> FloatArray:
        return results.array("log likelihood", model=model, data=data, method=method, epsilon=epsilon)

    rows: list[Row] = [
        {
            "model": model,
            "data": data,
            "ε": epsilon,
            **{method: float(splits(model, data, method, epsilon).mean()) for method in METHODS},
            "without privacy": float(splits(model, data, "none", 0.0).mean()),
            **{
                f"± (95%), {method}": half_width(
                    splits(model, data, method, epsilon) - splits(model, data, "none", 0.0)
                )
                for method in METHODS
            },
        }
        for model, data in panels
        for epsilon in EPSILONS
    ]
    return Findings(rows, _sentence(panels, rows), lambda figure: _draw(figure, panels, rows))


def _sentence(panels: Panels, rows: Sequence[Row]) -> str:
    ahead = {
        panel: [
            f"{row['ε']:g}"
            for row in rows
            if (row["model"], row["data"]) == panel and row["Laplace"] > max(row[name] for name in MULTIPLIERS)
        ]
        for panel in panels
    }
    seen = "; ".join(
        f"{model} ({data}): at ε = {', '.join(epsilons) or 'none'}" for (model, data), epsilons in ahead.items()
    )
    return (
        "Paper: the Laplace mechanism is ahead of OPS for naive Bayes and for the HMM on Iraq, where much data falls "
        "into each region and month, and OPS competes on Afghanistan, where little does. Seen, on records that are not "
        f"the paper's, it is ahead of OPS with either truncation for {seen}."
    )


def _draw(figure: "Figure", panels: Panels, rows: Sequence[Row]) -> None:
    for axes, (model, data) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        some = [row for row in rows if (row["model"], row["data"]) == (model, data)]
        for method in METHODS:
            bars = [row[f"± (95%), {method}"] for row in some]
            axes.errorbar(
                EPSILONS, [row[method] for row in some], bars, fmt="o-", markersize=4, capsize=2, label=method
            )
        axes.axhline(some[0]["without privacy"], color="0.4", linestyle="--", linewidth=1, label="without privacy")
        axes.set_xscale("log")
        axes.set(xlabel="ε", title=f"{model}, {data}")
        axes.margins(x=0.1)
        axes.legend(frameon=False, fontsize=7)
    figure.axes[0].set_ylabel("held-out log-likelihood\nof a feature of an entry")


def _study(panels: Panels, given: Records | None, with_data: bool) -> Study:
    return Study(
        "war-logs-figure-6",
        PAPER,
        "Figure 6, on " + ("synthetic records" if given is None else "the records of a file"),
        1,
        10,
        _cells(panels),
        partial(_run, given),
        partial(_summarise, panels),
        figure_size=(3.9 * len(panels), 3.8),
        with_data=_on_file if with_data else None,
    )


def _on_file(text: str) -> Study:
    """The same study on the records of a file."""
    records, name = parse_records(text), digest(text)
    return _study([("naive Bayes", name), ("HMM", name)], records, with_data=False)


STUDIES = (_study(PANELS, None, with_data=True),)
