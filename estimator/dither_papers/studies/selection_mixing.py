"""Alparslan & Yıldırım, Table 3: integrated autocorrelation times of PMMH and MHAAR."""

from typing import TYPE_CHECKING

import numpy as np

from dither_papers.statistic_selection.autocorrelation import integrated_autocorrelation_time
from dither_papers.statistic_selection.chains import Additive, Walk, averaged_ratio_chain, pseudo_marginal_chain
from dither_papers.statistic_selection.powers import NormalVariance
from dither_papers.studies.pictures import half_width, log_ticks
from dither_papers.studies.selection_information import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

THETA, SIZE, BOUND, EPSILON, UPPER = 2.0, 100, 10.0, 5.0, 100.0
PUBLISHED = {2: (44.03, 17.99), 5: (28.19, 17.10), 10: (21.11, 16.13), 20: (18.16, 15.44), 50: (15.32, 13.78)}
PUBLISHED |= {100: (16.42, 15.86)}
STEP = 0.25
"""Step of the random walk: the paper does not give its own; this one brings MHAAR to the paper's times."""
CHAINS, ITERATIONS, BURN_IN = 20, 5_000, 500
CHAIN = {"PMMH": pseudo_marginal_chain, "MHAAR": averaged_ratio_chain}


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """One noisy observation, with several equal chains on it."""
    scale = BOUND / (SIZE * EPSILON)
    x = np.minimum(np.abs(rng.standard_normal(SIZE)) * THETA**0.5, BOUND)
    y = np.full(CHAINS, x.mean() + rng.laplace(0.0, scale))
    model, walk = Additive(NormalVariance(1), SIZE, scale, y), Walk(np.full(CHAINS, THETA), STEP, UPPER, ITERATIONS)
    states = CHAIN[cell["algorithm"]](rng, model, walk, cell["N"])
    return {"time": integrated_autocorrelation_time(states[BURN_IN:])}


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for draws, published in PUBLISHED.items():
        row: dict[str, float] = {"N": draws}
        for name, paper in zip(CHAIN, published, strict=True):
            times = results.array("time", algorithm=name, N=draws)
            row |= {name: float(times.mean()), f"± (95%), {name}": half_width(times)}
            row |= {f"median, {name}": float(np.median(times)), f"{name}, paper": paper}
        rows.append(row)
    first, last = rows[0], rows[-1]
    sentence = (
        "Paper: from N = 2 to 100 the times go from 44.03 to 16.42 for PMMH and from 17.99 to 15.86 for MHAAR, ahead "
        f"for almost all N. Seen: {first['PMMH']:.1f} to {last['PMMH']:.1f} and {first['MHAAR']:.1f} to "
        f"{last['MHAAR']:.1f} on average, {first['median, PMMH']:.1f} to {last['median, PMMH']:.1f} and "
        f"{first['median, MHAAR']:.1f} to {last['median, MHAAR']:.1f} in the median, with a random walk of {STEP:g} "
        "(the paper's is not given)."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows, results))


def _draw(figure: "Figure", rows: list[Row], results: Results) -> None:
    axes = figure.subplots()
    draws = [row["N"] for row in rows]
    for name, colour, aside in zip(CHAIN, ("tab:blue", "tab:red"), (0.97, 1.03), strict=True):
        times = [results.array("time", algorithm=name, N=n) for n in draws]
        for n, some in zip(draws, times, strict=True):
            axes.plot(np.full(len(some), n * aside), some, ".", markersize=4, alpha=0.5, color=colour)
        axes.plot(
            draws, [row[f"median, {name}"] for row in rows], "o-", color=colour, label=f"{name}, median of the runs"
        )
        axes.plot(draws, [row[f"{name}, paper"] for row in rows], "x:", color=colour, label=f"{name}, paper")
    axes.plot([], [], ".", markersize=4, color="gray", label="one run")
    axes.set(xlabel="N, draws of the statistic", ylabel="integrated autocorrelation time", yscale="log")
    axes.yaxis.set_major_formatter("{x:g}")
    log_ticks(axes, draws)
    axes.legend(frameon=False)


STUDIES = (
    Study(
        "selection-table-3",
        PAPER,
        "Table 3",
        1,
        10,
        [Cell({"algorithm": name, "N": draws}) for draws in PUBLISHED for name in CHAIN],
        _run,
        _summarise,
        sizes=f"{CHAINS} chains of {ITERATIONS:,} steps a run",
    ),
)
