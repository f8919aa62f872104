"""Foulds et al., Figure 2: the error of private posteriors of a success probability as the data grow.

The paper's part has success probability 0.1 and the L1 error of one sample. The other part draws the probability from
the uniform prior, under which a posterior must be right on average: the error of its mean, and how often its 90%
interval covers.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

from dither_estimator.families import FloatArray
from dither_papers.conjugate.counts import BetaBernoulli
from dither_papers.conjugate.mechanisms import one_posterior_sample
from dither_papers.conjugate.noisy_count import (
    NoisyCountPosterior,
    draw_geometric,
    geometric_noise,
    laplace_pair_noise,
    noisy_count_posterior,
)
from dither_papers.studies.ops_posteriors import PAPER
from dither_papers.studies.pictures import half_width, rmse_half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES"]

EPSILON = 0.1
MODEL = BetaBernoulli(0.1, least=0.05)
SCALE = MODEL.statistics_sensitivity / EPSILON
SIZES = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
BATCH = 50
"""Repetitions per run; the paper has 1,000 in all."""

SAMPLES = ("true posterior", "OPS", "Laplace", "exact", "Dither")
POSTERIORS = ("Laplace", "exact", "Dither")
COLOURS = dict(zip(SAMPLES, ("black", "tab:red", "tab:orange", "tab:blue", "tab:green"), strict=True))
LABELS = {
    "Laplace": "noisy statistics as they are",
    "exact": "the same, exact posterior",
    "Dither": "Dither: one count, exact posterior",
}


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    if cell["p"] == "0.1":
        return _one_samples(cell["N"], rng)
    return _whole_posteriors(cell["N"], rng)


def _exact(rng: np.random.Generator, counts: FloatArray, noisy: FloatArray, n: int) -> Sequence[NoisyCountPosterior]:
    """The exact posteriors given the paper's noisy statistics, and given Dither's single count."""
    released = draw_geometric(rng, counts[:, 0], n, EPSILON)
    noises = laplace_pair_noise(noisy, n, SCALE), geometric_noise(released, EPSILON)
    return [noisy_count_posterior(n, noise) for noise in noises]


def _one_samples(n: int, rng: np.random.Generator) -> RunResult:
    counts = MODEL.draw_statistics(rng, n, BATCH)
    noisy = counts + rng.laplace(0.0, SCALE, counts.shape)
    exact, dither = _exact(rng, counts, noisy, n)
    found = {
        "true posterior": MODEL.draw_posterior(rng, counts, n, 1.0)[:, 0],
        "OPS": one_posterior_sample(rng, MODEL, counts, n, EPSILON)[:, 0],
        "Laplace": MODEL.draw_posterior(rng, MODEL.project(noisy, n), n, 1.0)[:, 0],
        "exact": exact.sample(rng),
        "Dither": dither.sample(rng),
    }
    return {name: float(np.abs(values - MODEL.truth[0]).mean()) for name, values in found.items()}


def _whole_posteriors(n: int, rng: np.random.Generator) -> RunResult:
    """Squared errors of the means, and the shares of central 90% intervals that cover."""
    p = rng.random(BATCH)
    ones = rng.binomial(n, p)
    counts = np.stack([ones, n - ones], axis=1).astype(np.float64)
    noisy = counts + rng.laplace(0.0, SCALE, counts.shape)
    projected = MODEL.project(noisy, n)
    exact, dither = _exact(rng, counts, noisy, n)
    means = (MODEL.posterior_mean(projected, n)[:, 0], exact.mean, dither.mean)
    places = (beta.cdf(p, *(projected + 1.0).T), exact.cdf(p), dither.cdf(p))
    return {
        "squared": [float(((mean - p) ** 2).mean()) for mean in means],
        "covered": [float((np.abs(place - 0.5) < 0.45).mean()) for place in places],
    }


def _summarise(results: Results) -> Findings:
    rows: list[Row] = []
    for n in SIZES:
        errors = np.sqrt(results.array("squared", N=n, p="uniform").mean(axis=0))
        covered = results.array("covered", N=n, p="uniform").mean(axis=0)
        rows.append(
            {
                "N": n,
                **{f"L1, {name}": float(results.array(name, N=n, p="0.1").mean()) for name in SAMPLES},
                **{f"RMSE, {name}": float(x) for name, x in zip(POSTERIORS, errors, strict=True)},
                **{f"90% covers, {name}": float(x) for name, x in zip(POSTERIORS, covered, strict=True)},
            }
        )
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, rows, _bars(results)))


def _bars(results: Results) -> Mapping[str, list[float]]:
    """Half the widths of 95% intervals, by column and then by N."""
    bars: dict[str, list[float]] = {f"L1, {name}": [] for name in SAMPLES}
    for n in SIZES:
        for name in SAMPLES:
            bars[f"L1, {name}"].append(half_width(results.array(name, N=n, p="0.1")))
        squares, covered = (results.array(name, N=n, p="uniform") for name in ("squared", "covered"))
        for j, name in enumerate(POSTERIORS):
            bars.setdefault(f"RMSE, {name}", []).append(rmse_half_width(squares[:, j]))
            bars.setdefault(f"90% covers, {name}", []).append(half_width(covered[:, j]))
    return bars


def _sentence(rows: Sequence[Row]) -> str:
    behind = max((row["N"] for row in rows if row["L1, OPS"] < row["L1, Laplace"]), default=0)
    last = rows[-1]
    ops, laplace = (last[f"L1, {name}"] / last["L1, true posterior"] for name in ("OPS", "Laplace"))
    ratios = [row["RMSE, Dither"] / row["RMSE, Laplace"] for row in rows]
    least = {name: min(row[f"90% covers, {name}"] for row in rows) for name in POSTERIORS}
    return (
        "Paper: OPS is better than the Laplace mechanism for about 10 observations and fewer, and soon overtaken; with "
        "more, the Laplace mechanism comes to the true posterior's error, OPS does not. Seen: OPS is ahead up to N = "
        f"{behind}; at N = {last['N']:,} it has {ops:.1f} times the error of the true posterior, the Laplace mechanism "
        f"{laplace:.2f} times. But noisy statistics taken as they are make posteriors whose 90% intervals cover as "
        f"little as {least['Laplace']:.0%} of the time, exact posteriors {least['exact']:.0%} and more; and the mean "
        f"given Dither's one count has {min(ratios):.2f} to {max(ratios):.2f} of the error, by N."
    )


def _draw(figure: "Figure", rows: Sequence[Row], bars: Mapping[str, list[float]]) -> None:
    left, middle, right = figure.subplots(1, 3)
    for axes, kind, names in ((left, "L1", SAMPLES), (middle, "RMSE", POSTERIORS), (right, "90% covers", POSTERIORS)):
        for name in names:
            column = f"{kind}, {name}"
            axes.errorbar(
                [row["N"] for row in rows],
                [row[column] for row in rows],
                bars[column],
                fmt="o-",
                capsize=2,
                color=COLOURS[name],
                markersize=3,
                label=LABELS.get(name, name),
            )
    left.set(title="one sample, p = 0.1", ylabel="L1 error", yscale="log")
    middle.set(title="posterior mean, p uniform", ylabel="RMSE", yscale="log")
    right.axhline(0.9, color="0.6", linewidth=0.8, label="90%")
    right.set(title="p uniform", ylabel="share of 90% intervals that cover", ylim=(0.0, 1.0))
    for axes in (left, middle, right):
        axes.set_xscale("log")
        axes.set_xlabel("number of observations")
        axes.legend(frameon=False, fontsize=7)


STUDIES = (
    Study(
        "ops-figure-2",
        PAPER,
        "Figure 2",
        4,
        20,
        [Cell({"N": n, "p": p}) for p in ("0.1", "uniform") for n in SIZES],
        _run,
        _summarise,
        figure_size=(12.0, 4.0),
    ),
)
