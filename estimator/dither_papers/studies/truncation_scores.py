"""Yıldırım, section 4.2: the harmonic score of the real-data study at each ε, and the mixture that replaces it.

Answers follow the paper's mechanism for N(50, 3.16²) and are learnt by Dither's particles; only the questions differ.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families.normal import Normal
from dither_papers.studies.pictures import log_ticks, rmse_half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.truncation_errors import EPSILONS, PEOPLE, TRUTH, setting
from dither_papers.studies.truncation_methods import PAPER, Setting, estimate
from dither_papers.truncation.criteria import harmonic
from dither_papers.truncation.information import exact_information
from dither_papers.truncation.intervals import best_interval, best_mixture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

QUESTIONS = {"harmonic": "SMC-adaptive, marginal", "mixture": "SMC-adaptive, marginal, mixture"}
MECHANISMS: tuple[Mechanism, ...] = ("laplace", "randomized_response")


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    values = rng.normal(TRUTH[0], TRUTH[1], PEOPLE)
    asked = Setting(cell["epsilon"], "harmonic", setting(cell["epsilon"]).wide)
    return {"estimate": list(estimate(QUESTIONS[cell["questions"]], asked, rng, values))}


def _summarise(results: Results) -> Findings:
    rows = [_row(results, epsilon) for epsilon in EPSILONS]
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, rows))


def _row(results: Results, epsilon: float) -> Row:
    low, high = best_interval("harmonic", epsilon)
    information = exact_information((low, high), epsilon)
    row: dict[str, float | str] = {
        "ε": epsilon,
        "best interval": f"[{low:.3f}, {high:.3f}]",
        "harmonic score": harmonic(information),
        "determinant": float(np.linalg.det(information)),
        "trace(F⁻¹)": float(np.trace(np.linalg.inv(information))),
        "mixture": float(np.trace(np.linalg.inv(best_mixture(epsilon).information))),
    }
    for mechanism in MECHANISMS:
        row[mechanism] = _criterion(mechanism, epsilon)
    for questions in QUESTIONS:
        squares = (results.array("estimate", epsilon=epsilon, questions=questions) - TRUTH) ** 2
        for name, mine in zip(("mu", "sigma"), squares.T, strict=True):
            row[f"RMSE {name}, {questions}"] = float(np.sqrt(mine.mean()))
            row[f"± (95%), {name}, {questions}"] = rmse_half_width(mine)
    return row


def _criterion(mechanism: Mechanism, epsilon: float) -> float:
    family = Normal()
    design = optimal_design(family, family.standard, mechanism, Fraction(f"{epsilon:g}"), parse_goal("all", family))
    return design.criterion


def _sentence(rows: Sequence[Row]) -> str:
    traces = "; ".join(
        f"ε = {row['ε']:g}: {row['trace(F⁻¹)']:,.4g} for the score's interval, {row['mixture']:.4g} for the mixture, "
        f"{row['laplace']:.4g} for laplace, {row['randomized_response']:.4g} for randomized_response"
        for row in rows
    )
    return (
        "Paper: the harmonic mean of the diagonal of F accounts for the squared errors of μ and σ. Seen, trace(F⁻¹), "
        f"to which the number of respondents is proportional: {traces}. Up to ε = 2 the score's interval lies beside "
        "the mean, and its answers cannot tell a larger mean from a larger spread; the mixture is that interval and "
        "its mirror image. Questions that follow the posterior move about, which mends some of it."
    )


def _draw(figure: "Figure", rows: Sequence[Row]) -> None:
    left, right = figure.subplots(1, 2)
    epsilons = [row["ε"] for row in rows]
    for name in ("trace(F⁻¹)", "mixture", *MECHANISMS):
        label = "the harmonic score's interval" if name == "trace(F⁻¹)" else name
        left.plot(epsilons, [row[name] for row in rows], "o-", markersize=3, label=label)
    for questions, colour in zip(QUESTIONS, ("tab:red", "tab:blue"), strict=True):
        for name, style in (("mu", "o-"), ("sigma", "s--")):
            values = [row[f"RMSE {name}, {questions}"] for row in rows]
            bars = [row[f"± (95%), {name}, {questions}"] for row in rows]
            label = f"{questions}, {name}"
            right.errorbar(epsilons, values, bars, fmt=style, capsize=2, color=colour, markersize=3, label=label)
    left.set(title="variances of μ and σ, in σ² a respondent", ylabel="trace(F⁻¹)")
    right.set(title=f"{PEOPLE:,} respondents, σ² = 10", ylabel="RMSE of the posterior mean")
    for axes in (left, right):
        axes.set(xlabel="ε", yscale="log")
        log_ticks(axes, epsilons)
        axes.legend(frameon=False, fontsize=7)


STUDIES = (
    Study(
        "truncation-scores",
        PAPER,
        "the harmonic score of section 4.2",
        2,
        30,
        [Cell({"epsilon": epsilon, "questions": questions}) for epsilon in EPSILONS for questions in QUESTIONS],
        _run,
        _summarise,
        figure_size=(10.0, 4.0),
    ),
)
