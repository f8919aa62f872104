"""Aydin & Yıldırım, total variation distances: restricted randomised response by six utilities, and Dither's questions.

The shares of each population are drawn from a symmetric Dirichlet distribution with parameter ρ. Its people are the
same for all methods in a run.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.restricted_response.exact import restricted_response
from dither_papers.restricted_response.online import best_for, estimate_shares, likely_mass
from dither_papers.restricted_response.utilities import UTILITIES
from dither_papers.studies.category_methods import dithers_shares
from dither_papers.studies.pictures import half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

PAPER = "Aydin & Yıldırım"
EPSILONS = (0.5, 1.0, 5.0)
RHOS = (0.1, 1.0)
LARGER_RHOS = (0.01,)
"""Only in the full study: nearly everyone is in one category."""
CATEGORIES = 10
PEOPLE = 500 * CATEGORIES
BATCH = 10
"""Populations in a run; the paper has one in each of 50."""
MASSES = {"all categories": 1.0, "likely 90%": 0.9}
"""Rivals that do not choose by a utility: how much of the shares is in the restriction."""
EXACT, DITHER = "exact posterior", "Dither"
METHODS = (*MASSES, *UTILITIES, EXACT, DITHER)


def _cells(rhos: Sequence[float]) -> list[Cell]:
    return [
        Cell({"rho": rho, "epsilon": epsilon, "method": method})
        for rho in rhos
        for epsilon in EPSILONS
        for method in METHODS
    ]


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    method, epsilon = cell["method"], cell["epsilon"]
    truth = rng.dirichlet(np.full(CATEGORIES, cell["rho"]), BATCH)
    values = np.array([rng.choice(CATEGORIES, PEOPLE, p=shares) for shares in truth])
    if method in (EXACT, DITHER):
        found = np.array([_exact(method, epsilon, rng, shares) for shares in truth])
        return {"TV": _distances(found, truth)}
    if method in MASSES:
        choice = likely_mass(MASSES[method], CATEGORIES, epsilon)
    else:
        choice = best_for(method, CATEGORIES, epsilon)
    estimates = estimate_shares(rng, values, choice)
    return {"TV": _distances(estimates.shares, truth), "likely": estimates.likely.tolist()}


def _exact(method: str, epsilon: float, rng: np.random.Generator, truth: FloatArray) -> FloatArray:
    """The posterior mean with exact draws, from people who are drawn anew."""
    if method == EXACT:
        return restricted_response(rng, truth, epsilon, PEOPLE)
    draws, _ = dithers_shares(rng, int(rng.integers(2**62)), truth, f"{epsilon:g}", PEOPLE)
    return np.asarray(draws.mean(axis=0))


def _distances(found: FloatArray, truth: FloatArray) -> list[float]:
    """Total variation distances, shape (BATCH,)."""
    distances: list[float] = (np.abs(found - truth).sum(axis=1) / 2).tolist()
    return distances


def _summarise(results: Results) -> Findings:
    rhos = [rho for rho in (*LARGER_RHOS, *RHOS) if _cells([rho])[0].key in results.by_cell]
    rows = [_row(results, rho, epsilon, method) for rho in rhos for epsilon in EPSILONS for method in METHODS]
    return Findings(rows, _sentence(rhos, rows), lambda figure: _draw(figure, rhos, rows))


def _row(results: Results, rho: float, epsilon: float, method: str) -> Row:
    found = results.array("TV", rho=rho, epsilon=epsilon, method=method).ravel()
    dithers = results.array("TV", rho=rho, epsilon=epsilon, method=DITHER).ravel()
    row: dict[str, float | str] = {"ρ": rho, "ε": epsilon, "method": method}
    row |= {"TV distance": float(found.mean()), "± (95%)": half_width(found)}
    row |= {"less Dither's": float((found - dithers).mean()), "± (95%), less Dither's": half_width(found - dithers)}
    if method in (EXACT, DITHER):
        return row | {"likely categories": ""}
    return row | {"likely categories": float(results.array("likely", rho=rho, epsilon=epsilon, method=method).mean())}


def _sentence(rhos: Sequence[float], rows: Sequence[Row]) -> str:
    def distance(row: Row) -> float:
        return float(row["TV distance"])

    seen, behind = [], 0
    for rho in rhos:
        for epsilon in EPSILONS:
            some = {row["method"]: row for row in rows if (row["ρ"], row["ε"]) == (rho, epsilon)}
            best = min((some[name] for name in UTILITIES), key=distance)
            seen.append(
                f"ρ = {rho:g}, ε = {epsilon:g}: {best['method']} {distance(best):.3g}, all categories "
                f"{distance(some['all categories']):.3g}, Dither {distance(some[DITHER]):.3g}"
            )
            rivals = [some[name] for name in METHODS if name != DITHER]
            behind += any(row["less Dither's"] < -row["± (95%), less Dither's"] for row in rivals)
    return (
        "Paper: choosing the restriction by a utility is nearer to the truth than randomised response over all "
        "categories, most of all where few categories have most of the people. Seen, mean total variation distance of "
        f"the best utility, of all categories and of Dither: {'; '.join(seen)}. In {behind} of {len(seen)} settings "
        "some method is ahead of Dither by more than the 95% limits of the difference."
    )


def _draw(figure: "Figure", rhos: Sequence[float], rows: Sequence[Row]) -> None:
    panels = figure.subplots(len(rhos), len(EPSILONS), sharey=True, squeeze=False)
    for line, rho in zip(panels, rhos, strict=True):
        for axes, epsilon in zip(line, EPSILONS, strict=True):
            some = [row for row in rows if (row["ρ"], row["ε"]) == (rho, epsilon)]
            colours = ["tab:red" if row["method"] == DITHER else "tab:blue" for row in some]
            places = np.arange(len(some))[::-1]
            axes.errorbar(
                [row["TV distance"] for row in some],
                places,
                xerr=[row["± (95%)"] for row in some],
                fmt="none",
                ecolor="0.4",
                capsize=2,
            )
            axes.scatter([row["TV distance"] for row in some], places, c=colours, s=14, zorder=3)
            axes.set_yticks(places, METHODS, fontsize=7)
            axes.set_xlim(0, None)
            axes.tick_params(axis="x", labelsize=7)
            axes.grid(axis="x", color="0.9")
            axes.set_title(f"ρ = {rho:g}, ε = {epsilon:g}", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("total variation distance, mean and 95% interval", fontsize=7)


STUDIES = (
    Study(
        "adobest-errors",
        PAPER,
        "total variation distances",
        1,
        5,
        _cells(RHOS),
        _run,
        _summarise,
        figure_size=(11.0, 8.0),
        sizes=f"{BATCH} populations a run, {CATEGORIES} categories (the paper's: 10 and 20), ε₁ = 0.8 ε",
        larger=_cells(LARGER_RHOS),
    ),
)
