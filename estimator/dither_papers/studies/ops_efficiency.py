"""Foulds et al., Table 1 and Theorems 4 and 5: sensitivities, and the measured asymptotic relative efficiency."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dither_papers.conjugate.base import ConjugateFamily
from dither_papers.conjugate.costs import temperature
from dither_papers.conjugate.counts import BetaBernoulli, DirichletMultinomial, GammaPoisson
from dither_papers.conjugate.mechanisms import noisy_statistics, one_posterior_sample
from dither_papers.conjugate.normals import NormalKnownVariance, NormalUnknownVariance
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

EPSILON = 1.0
ENTRIES = 40_000
BATCH = 50
"""Data sets per run."""
FAMILIES: Mapping[str, ConjugateFamily] = {
    "beta-Bernoulli": BetaBernoulli(0.3, least=0.05),
    "Dirichlet-multinomial": DirichletMultinomial((0.3, 0.2, 0.5), least=0.05),
    "gamma-Poisson": GammaPoisson(3.0, most=15, low=0.5, high=10.0),
    "normal, known variance": NormalKnownVariance(0.1, 0.25),
    "normal, unknown variance": NormalUnknownVariance(0.1, 0.25, least=0.02),
}
METHODS = ("posterior sample", "OPS", "Laplace, sample", "Laplace, mean")


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """Mean squared errors of the first parameter, in units of the inverse information."""
    family = FAMILIES[cell["family"]]
    statistics = family.draw_statistics(rng, ENTRIES, BATCH)
    noisy = noisy_statistics(rng, family, statistics, ENTRIES, EPSILON)
    found = {
        "posterior sample": family.draw_posterior(rng, statistics, ENTRIES, 1.0),
        "OPS": one_posterior_sample(rng, family, statistics, ENTRIES, EPSILON),
        "Laplace, sample": family.draw_posterior(rng, noisy, ENTRIES, 1.0),
        "Laplace, mean": family.posterior_mean(noisy, ENTRIES),
    }
    unit = family.inverse_information / ENTRIES
    return {name: float(((theta[:, 0] - family.truth[0]) ** 2).mean()) / unit for name, theta in found.items()}


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for name, family in FAMILIES.items():
        measured = {method: results.array(method, family=name) for method in METHODS}
        heat = temperature(family.likelihood_sensitivity, EPSILON)
        rows.append(
            {
                "family": name,
                "ΔS": family.statistics_sensitivity,
                "Δ log Pr": family.likelihood_sensitivity,
                "T": heat,
                "1 + T": 1.0 + heat,
                **{f"ARE of {method}": float(values.mean()) for method, values in measured.items()},
                "± (95%, relative)": float(1.96 * np.sqrt(2.0 / (BATCH * len(measured["OPS"])))),
            }
        )
    ratios = [row["ARE of OPS"] / row["1 + T"] for row in rows]
    twos = [row["ARE of Laplace, sample"] for row in rows]
    ones = [row["ARE of Laplace, mean"] for row in rows]
    sentence = (
        "Paper: one sample has an asymptotic relative efficiency of 2 with the Laplace mechanism and of 1 + T with "
        f"OPS, and the mean with the Laplace mechanism has 1. Seen at N = {ENTRIES:,}, ε = {EPSILON:g}, in five "
        "families: "
        f"{min(twos):.2f} to {max(twos):.2f}; {min(ratios):.2f} to {max(ratios):.2f} of 1 + T, which is "
        f"{min(row['1 + T'] for row in rows):.0f} to {max(row['1 + T'] for row in rows):.0f}; {min(ones):.2f} to "
        f"{max(ones):.2f}."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows))


def _draw(figure: "Figure", rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    places = np.arange(len(rows))
    for i, method in enumerate(METHODS):
        found = np.array([row[f"ARE of {method}"] for row in rows])
        bars = found * [row["± (95%, relative)"] for row in rows]
        axes.bar(places + 0.2 * (i - 1.5), found, 0.18, yerr=bars, capsize=2, label=method)
    axes.plot(places - 0.1, [row["1 + T"] for row in rows], "k_", markersize=14, label="1 + T")
    for value, label in ((1.0, "1 and 2, the limits of the Laplace mechanism"), (2.0, None)):
        axes.axhline(value, color="0.6", linewidth=0.8, label=label)
    axes.set_yscale("log")
    axes.set_xticks(places, [row["family"] for row in rows], fontsize=7)
    axes.set_ylabel("asymptotic relative efficiency")
    axes.legend(frameon=False, fontsize=8)


STUDIES = (
    Study(
        "ops-efficiency",
        PAPER,
        "Table 1, Theorems 4 and 5",
        8,
        40,
        [Cell({"family": name}) for name in FAMILIES],
        _run,
        _summarise,
        figure_size=(8.5, 4.5),
    ),
)
