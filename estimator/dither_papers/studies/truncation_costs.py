"""Yıldırım, section 3.1: the cost of n answers, O(N n²) for Algorithm 2, with Dither and online gradients."""

from collections.abc import Mapping, Sequence
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.truncation_errors import TRUTH, setting
from dither_papers.studies.truncation_methods import PAPER, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

EPSILON = 5.0
SIZES = {
    "SMC-adaptive": (100, 300, 1_000),
    "SMC-adaptive, marginal": (100, 300, 1_000),
    "online gradient": (100, 1_000, 10_000),
    "laplace": (100, 1_000, 10_000),
    "randomized_response": (100, 1_000, 10_000),
}
LARGER = {
    "SMC-adaptive": (3_000,),
    "SMC-adaptive, marginal": (3_000,),
    "online gradient": (100_000,),
    "laplace": (100_000, 1_000_000),
    "randomized_response": (100_000, 1_000_000),
}


def _cells(sizes: Mapping[str, tuple[int, ...]]) -> list[Cell]:
    return [Cell({"method": method, "n": n}) for method, some in sizes.items() for n in some]


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """The processor time of asking, answering and learning; designs are computed beforehand."""
    method, asked = cell["method"], setting(EPSILON)
    values = rng.normal(TRUTH[0], TRUTH[1], cell["n"])
    estimate(method, asked, rng, values[:5])
    began = process_time()
    mu, sigma = estimate(method, asked, rng, values)
    return {"seconds": process_time() - began, "estimate": [mu, sigma]}


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for method in SIZES:
        cells = _cells({method: (*SIZES[method], *LARGER[method])})
        sizes = [cell["n"] for cell in cells if cell.key in results.by_cell]
        seconds = [float(np.median(results.array("seconds", method=method, n=n))) for n in sizes]
        for i, (n, taken) in enumerate(zip(sizes, seconds, strict=True)):
            power = float(np.log(taken / seconds[i - 1]) / np.log(n / sizes[i - 1])) if i else float("nan")
            errors = np.abs(results.array("estimate", method=method, n=n) - TRUTH).mean(axis=0)
            row = {"method": method, "n": n, "seconds": taken, "µs an answer": 1e6 * taken / n}
            row |= {"grows as n to the": power if i else "", "error of mu": float(errors[0])}
            rows.append(row | {"error of sigma": float(errors[1])})
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, rows))


def _sentence(rows: Sequence[Row]) -> str:
    last = {row["method"]: row for row in rows}
    seen = "; ".join(
        f"{method} {row['seconds']:.3g} s for {row['n']:,} answers, growing as n to the {row['grows as n to the']:.2g}"
        for method, row in last.items()
    )
    return (
        f"Paper: n answers cost O(N n²), a concern when n is very large. Seen, processor time at ε = {EPSILON:g}, "
        f"1,000 particles: {seen}."
    )


def _draw(figure: "Figure", rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    for method in SIZES:
        some = [row for row in rows if row["method"] == method]
        axes.plot([row["n"] for row in some], [row["seconds"] for row in some], "o-", markersize=3, label=method)
    axes.set(xscale="log", yscale="log", xlabel="answers", ylabel="processor time, s")
    axes.legend(frameon=False, fontsize=8)


STUDIES = (
    Study(
        "truncation-costs",
        PAPER,
        "the cost of section 3.1",
        1,
        1,
        _cells(SIZES),
        _run,
        _summarise,
        larger=_cells(LARGER),
    ),
)
