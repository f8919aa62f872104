"""Foulds et al., Figure 1: private posteriors of a success probability, given twenty trials."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

from dither_estimator.families import FloatArray
from dither_papers.conjugate.costs import temperature
from dither_papers.conjugate.counts import BetaBernoulli
from dither_papers.conjugate.noisy_count import (
    draw_geometric,
    geometric_noise,
    laplace_pair_noise,
    noisy_count_posterior,
)
from dither_papers.studies.study import Cell, Findings, Results, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PAPER", "STUDIES"]

PAPER = "Foulds et al."
TRIALS, SUCCESSES = 20, 6
"""The paper's parameter, 0.3 of the trials."""
EPSILON = 1.0
MODEL = BetaBernoulli(0.3, least=0.2)
SCALE = MODEL.statistics_sensitivity / EPSILON
POINTS = 500
THETA = (np.arange(POINTS) + 0.5) / POINTS


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    """What each mechanism releases: two noisy statistics, and one count."""
    noisy = np.array([SUCCESSES, TRIALS - SUCCESSES]) + rng.laplace(0.0, SCALE, 2)
    count = draw_geometric(rng, np.array([float(SUCCESSES)]), TRIALS, EPSILON)
    return {"noisy": noisy.tolist(), "count": float(count[0])}


def _densities(results: Results) -> dict[str, FloatArray]:
    """Posterior densities of θ for each release, shape (runs, POINTS), by method."""
    noisy, count = results.array("noisy", epsilon=EPSILON), results.array("count", epsilon=EPSILON)
    projected = MODEL.project(noisy, TRIALS)[:, :, np.newaxis]
    return {
        "Laplace": np.asarray(beta.pdf(THETA, 1.0 + projected[:, 0], 1.0 + projected[:, 1])),
        "exact": noisy_count_posterior(TRIALS, laplace_pair_noise(noisy, TRIALS, SCALE)).density(THETA),
        "Dither": noisy_count_posterior(TRIALS, geometric_noise(count, EPSILON)).density(THETA),
    }


def _true() -> FloatArray:
    return beta.pdf(THETA, 1.0 + SUCCESSES, 1.0 + TRIALS - SUCCESSES)


def _ops() -> FloatArray:
    heat = temperature(MODEL.likelihood_sensitivity, EPSILON)
    density = beta.pdf(THETA, 1.0 + SUCCESSES / heat, 1.0 + (TRIALS - SUCCESSES) / heat)
    density[np.abs(THETA - 0.5) > 0.5 - MODEL.least] = 0.0
    return density / density.mean()


NAMES = {
    "Laplace": "noisy statistics taken as they are",
    "exact": "the same, exact posterior",
    "Dither": "Dither: one geometric count, exact posterior",
}


def _summarise(results: Results) -> Findings:
    true = _true()
    densities = _densities(results)
    distances = {name: np.abs(found - true).mean(axis=1) / 2.0 for name, found in densities.items()}
    ops = float(np.abs(_ops() - true).mean() / 2.0)
    rows = [
        {
            "posterior": f"OPS, T = {temperature(MODEL.likelihood_sensitivity, EPSILON):.2f}",
            "distance": ops,
            "worst": ops,
        },
        *(
            {"posterior": label, "distance": float(distances[name].mean()), "worst": float(distances[name].max())}
            for name, label in NAMES.items()
        ),
    ]
    laplace, exact, dither = (float(distances[name].mean()) for name in NAMES)
    sentence = (
        "Paper: OPS has to be truncated and is flattened, T = 2.7; the Laplace mechanism's posteriors are as narrow as "
        "the true one, and scattered. Seen: total variation distance from the true posterior, on average, "
        f"{ops:.2f} for OPS, {laplace:.2f} with noisy statistics (up to {distances['Laplace'].max():.2f}), {exact:.2f} "
        f"for the exact posterior given the same (up to {distances['exact'].max():.2f}), and {dither:.2f} for the "
        "exact posterior given Dither's one count."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, densities))


def _draw(figure: "Figure", densities: dict[str, FloatArray]) -> None:
    panels = figure.subplots(1, len(NAMES), sharey=True)
    for axes, (name, label) in zip(panels, NAMES.items(), strict=True):
        lines = axes.plot(THETA, densities[name].T, color="tab:blue", linewidth=0.5, alpha=0.5)
        lines[0].set_label("posteriors of the releases")
        axes.plot(THETA, _true(), color="black", label="true posterior")
        axes.plot(THETA, _ops(), color="tab:red", label="OPS")
        axes.set_title(label, fontsize=9)
        axes.set(xlabel="success probability", ylim=(0.0, 8.0))
    panels[0].set_ylabel("density")
    panels[0].legend(frameon=False, fontsize=8)


STUDIES = (
    Study(
        "ops-figure-1",
        PAPER,
        "Figure 1",
        30,
        30,
        [Cell({"epsilon": EPSILON})],
        _run,
        _summarise,
        figure_size=(11.0, 3.8),
    ),
)
