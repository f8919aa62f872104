"""Yıldırım, Figure 3 and Table 1: incomes, which do not follow the family, in random order, with the harmonic score.

We may not distribute the paper's incomes: wages shifted and scaled to their mean and standard deviation replace them.
`--data` takes a file. The paper does not state its ε; it is 1 here, which agrees with the paper's spread of σ.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.records import digest
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.truncation_methods import PAPER, PAPERS, Setting, estimate
from dither_papers.studies.truncation_trajectories import draw_trajectory, watch
from dither_papers.truncation.incomes import parse_incomes, substitute

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

EPSILON = 1.0
METHODS = (
    *PAPERS,
    "SMC-adaptive, marginal",
    "SMC-adaptive, marginal, mixture",
    "laplace",
    "randomized_response",
)
WATCHED = ("SMC-adaptive", "SMC-nonadaptive", "randomized_response")
"""The methods that Figure 3 shows, and ours."""
LOOKS = 50


def _run(given: FloatArray | None, cell: Cell, rng: np.random.Generator) -> RunResult:
    incomes = substitute() if given is None else given
    mean, sd = float(incomes.mean()), float(incomes.std())
    asked = Setting(EPSILON, "harmonic", (mean - 5.0 * sd, mean + 5.0 * sd))
    known = {"mle": [mean, sd], "quartiles": _by_quartiles(incomes)}
    values = rng.permutation(incomes)
    method = cell["method"]
    if method not in WATCHED:
        return known | {"estimate": list(estimate(method, asked, rng, values))}
    path = watch(method, asked, rng, values, max(1, len(values) // LOOKS))
    return known | {"estimate": path["mean"][-1], **path}


def _by_quartiles(incomes: FloatArray) -> list[float]:
    """The mean and standard deviation of the normal with the same quartiles, which central questions reveal."""
    low, high = np.quantile(incomes, [0.25, 0.75]).tolist()
    return [(low + high) / 2.0, (high - low) / 1.349]


def _summarise(data: str, results: Results) -> Findings:
    first = results.of(data=data, method=METHODS[0])
    mle, central = np.array(first[0]["mle"]), first[0]["quartiles"]
    rows: list[Row] = []
    for method in METHODS:
        found = results.array("estimate", data=data, method=method)
        errors = np.sqrt(((found - mle) ** 2).mean(axis=0))
        for number, (mu, sigma) in enumerate(found.tolist(), 1):
            row = {"method": method, "run": number, "mu": mu, "sigma": sigma}
            rows.append(row | {"RMSE mu": float(errors[0]), "RMSE sigma": float(errors[1])})
    return Findings(rows, _sentence(rows, mle, central, len(first)), lambda figure: _draw(figure, data, mle, results))


def _sentence(rows: Sequence[Row], mle: FloatArray, central: Sequence[float], runs: int) -> str:
    errors = {row["method"]: (row["RMSE mu"], row["RMSE sigma"]) for row in rows}
    seen = "; ".join(f"{method} {mu:.3g} and {sigma:.3g}" for method, (mu, sigma) in errors.items())
    return (
        "Paper: five runs of SMC-adaptive give μ from 46.6 to 55.0 and σ from 9.0 to 20.5; without adaptation μ is "
        f"fairly right but for one run, and σ far too small, 1.5 to 4.8. Seen at ε = {EPSILON:g}, runs: {runs}, root "
        "mean squared distance of μ and σ from the maximum-likelihood estimate "
        f"{mle[0]:.2f} and {mle[1]:.2f}: {seen}. A normal distribution with the quartiles of these data has "
        f"{central[0]:.1f}, {central[1]:.1f}: the further that is from the estimate, the less the family holds, "
        "and the more it is the "
        "questions that decide what is found."
    )


def _draw(figure: "Figure", data: str, mle: FloatArray, results: Results) -> None:
    panels = figure.subplots(2, len(WATCHED), sharex=True)
    for column, method in zip(panels.T, WATCHED, strict=True):
        run = results.of(data=data, method=method)[0]
        for j, axes in enumerate(column):
            draw_trajectory(axes, run, j, float(mle[j]), "maximum likelihood without privacy")
            axes.set_title(method if j == 0 else "", fontsize=9)
        column[-1].set_xlabel("answers")
    for axes, name in zip(panels[:, 0], "μσ", strict=True):
        axes.set_ylabel(name)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)


def _study(data: str, given: FloatArray | None) -> Study:
    return Study(
        "truncation-table-1",
        PAPER,
        "Figure 3 and Table 1, on " + ("scaled wages" if given is None else "a file"),
        1,
        5,
        [Cell({"data": data, "method": method}) for method in METHODS],
        partial(_run, given),
        partial(_summarise, data),
        figure_size=(11.0, 5.0),
        with_data=_on_file if given is None else None,
    )


def _on_file(text: str) -> Study:
    return _study(digest(text), parse_incomes(text))


STUDIES = (_study("CPS1988", None),)
