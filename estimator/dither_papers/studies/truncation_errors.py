"""Yıldırım, Figure 2: posterior means over many runs of the paper's three methods and of Dither's.

On the same people there are also the paper's questions and noise with Dither's particles (`marginal`: the same
likelihood), the published program's noise with its intervals, and online gradients. The fast methods form a study of
their own with more runs: MCMC and `SMC-nonadaptive, marginal` sample the same posterior, as do `SMC-adaptive` and its
`marginal`.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.studies.pictures import mark_outside
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.truncation_methods import DITHERS, PAPER, PAPERS, Setting, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EPSILONS", "PEOPLE", "STUDIES", "TRUTH", "setting", "upper_ratio"]

EPSILONS = (1.0, 2.0, 5.0, 10.0)
TRUTH = np.array([50.0, 10.0**0.5])
PEOPLE = 1_000
FAST = ("SMC-adaptive, marginal", "SMC-nonadaptive, marginal", "online gradient", *DITHERS)
METHODS = (*PAPERS, "SMC-adaptive, published noise", *FAST)
_RESAMPLES = 2_000
_MIN_RUNS_FOR_RATIOS = 10
"""The fewest runs for which ratios of errors are reported."""


def setting(epsilon: float) -> Setting:
    """Section 4.1: the score of the mean, and `μ ± 10σ`."""
    mu, sigma = TRUTH.tolist()
    return Setting(epsilon, "mean", (mu - 10.0 * sigma, mu + 10.0 * sigma))


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    values = rng.normal(TRUTH[0], TRUTH[1], PEOPLE)
    return {"estimate": list(estimate(cell["method"], setting(cell["epsilon"]), rng, values))}


def upper_ratio(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """The ratio of two root mean squared errors (runs, …) on the same people, and its upper 95% bootstrap limit."""
    picks = np.random.default_rng(0).integers(len(ours), size=(_RESAMPLES, len(ours)))
    squares, others = (np.square(x).reshape(len(x), -1).sum(axis=1) for x in (ours, theirs))
    ratios = np.sqrt(squares[picks].mean(axis=1) / others[picks].mean(axis=1))
    return float(np.sqrt(squares.mean() / others.mean())), float(np.quantile(ratios, 0.95))


def _summarise(methods: Sequence[str], results: Results) -> Findings:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        errors = {m: results.array("estimate", epsilon=epsilon, method=m) - TRUTH for m in methods}
        rows += [_row(epsilon, method, errors) for method in methods]
    runs = len(results.of(epsilon=EPSILONS[0], method=methods[0]))
    return Findings(rows, _sentence(methods, rows, runs), lambda figure: _draw(figure, methods, results))


def _row(epsilon: float, method: str, errors: dict[str, FloatArray]) -> Row:
    """The errors of a method, and the ratios of Dither's errors to them: per parameter, and for μ with goal μ."""
    found = errors[method]
    rmse = np.sqrt((found**2).mean(axis=0))
    row: dict[str, float | str] = {
        "ε": epsilon,
        "method": method,
        "RMSE mu": float(rmse[0]),
        "RMSE sigma": float(rmse[1]),
        "RMSE both": float(np.sqrt((rmse**2).sum())),
    }
    ratios = {
        "randomized_response / this, mu": ("randomized_response", slice(0, 1)),
        "randomized_response / this, sigma": ("randomized_response", slice(1, 2)),
        "its goal mu / this, mu": ("randomized_response, goal mu", slice(0, 1)),
        "its goal mu / this, sigma": ("randomized_response, goal mu", slice(1, 2)),
        "laplace / this, mu": ("laplace", slice(0, 1)),
        "laplace / this, sigma": ("laplace", slice(1, 2)),
        "laplace / this, both": ("laplace", slice(0, 2)),
        "laplace, goal mu / this, mu": ("laplace, goal mu", slice(0, 1)),
    }
    for name, (ours, part) in ratios.items():
        ratio, upper = upper_ratio(errors[ours][:, part], found[:, part])
        row |= {name: ratio, f"{name}, at most": upper}
    return row


def _sentence(methods: Sequence[str], rows: Sequence[Row], runs: int) -> str:
    by = {(row["ε"], row["method"]): row for row in rows}
    papers = [method for method in methods if method in PAPERS or method.endswith("marginal")]
    seen = "; ".join(
        f"ε = {epsilon:g}: "
        + ", ".join(
            f"{method} {by[epsilon, method]['RMSE mu']:.2g} and {by[epsilon, method]['RMSE sigma']:.2g}"
            for method in (*papers, "laplace", "randomized_response")
        )
        for epsilon in EPSILONS
    )
    errors = (
        "Paper: SMC-adaptive is nearer to the truth than SMC-nonadaptive and MCMC, for μ and σ at every ε. Seen, root "
        f"mean squared errors of μ and σ, runs: {runs}; {seen}."
    )
    if runs < _MIN_RUNS_FOR_RATIOS:
        return f"{errors} That is too few for ratios."
    rivals = [by[epsilon, method] for epsilon in EPSILONS for method in papers]
    return (
        f"{errors} The error of randomized_response is at most "
        f"{_most(rivals, 'randomized_response / this, mu')} of that of any of the paper's methods for μ, "
        f"{_most(rivals, 'its goal mu / this, mu')} if μ is its goal, and "
        f"{_most(rivals, 'randomized_response / this, sigma')} for σ; that of laplace "
        f"{_most(rivals, 'laplace / this, sigma')} for σ and {_most(rivals, 'laplace / this, both')} for both."
    )


def _most(rivals: Sequence[Row], name: str) -> str:
    """The largest ratio over the rivals, where it occurs, and its upper limit."""
    row = max(rivals, key=lambda row: row[name])
    return f"{row[name]:.2f} (≤ {row[f'{name}, at most']:.2f}; {row['method']}, ε = {row['ε']:g})"


def _draw(figure: "Figure", methods: Sequence[str], results: Results) -> None:
    panels = figure.subplots(2, len(EPSILONS), sharex=True, squeeze=False)
    for column, epsilon in zip(panels.T, EPSILONS, strict=True):
        found = [results.array("estimate", epsilon=epsilon, method=method) for method in methods]
        for j, axes in enumerate(column):
            axes.boxplot([x[:, j] for x in found], widths=0.6, flierprops={"markersize": 2})
            axes.axhline(TRUTH[j], color="black", linewidth=0.8, label="truth")
            low, high = np.quantile(np.concatenate([x[:, j] for x in found]), [0.02, 0.98])
            axes.set_ylim(min(low, TRUTH[j] - 0.5), max(high, TRUTH[j] + 0.5))
            mark_outside(axes, [x[:, j] for x in found])
            axes.tick_params(labelsize=7)
        column[0].set_title(f"ε = {epsilon:g}", fontsize=9)
        column[1].set_xticks(range(1, len(methods) + 1), methods, rotation=90, fontsize=6)
    panels[0][0].set_ylabel("posterior mean of μ")
    panels[1][0].set_ylabel("posterior mean of σ")
    panels[0][0].legend(loc="upper right", frameon=False, fontsize=6)


def _study(name: str, reproduces: str, methods: Sequence[str], runs: int, full_runs: int) -> Study:
    cells = [Cell({"epsilon": epsilon, "method": method}) for epsilon in EPSILONS for method in methods]
    summarise = partial(_summarise, methods)
    return Study(name, PAPER, reproduces, runs, full_runs, cells, _run, summarise, figure_size=(12.0, 6.5))


STUDIES = (
    _study("truncation-figure-2", "Figure 2", METHODS, 1, 30),
    _study("truncation-figure-2-exact", "Figure 2, exactly", FAST, 2, 400),
)
