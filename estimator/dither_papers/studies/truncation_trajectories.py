"""Yıldırım, Figure 1: how particles approach the truth in one run, with adaptive and with constant intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study
from dither_papers.studies.truncation_errors import EPSILONS, PEOPLE, TRUTH, setting
from dither_papers.studies.truncation_methods import PAPER, Seen, Setting, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STUDIES", "draw_trajectory", "watch"]

METHODS = ("SMC-adaptive", "SMC-nonadaptive", "randomized_response")
EVERY = 20
"""Answers between two looks, as in the paper and its figure."""
SHOWN = 12
"""Particles drawn at each time."""


def watch(
    method: str, asked: Setting, rng: np.random.Generator, values: FloatArray, every: int
) -> dict[str, list[Any]]:
    """The data of a figure of one run, to five digits: times, means, standard deviations, particles, intervals."""
    looks = [_look(rng, seen) for seen in follow(method, asked, rng, values, every)]
    return {name: [look[name] for look in looks] for name in looks[0]}


def _look(rng: np.random.Generator, seen: Seen) -> dict[str, Any]:
    some = seen.theta[rng.choice(len(seen.weights), SHOWN, p=seen.weights)]
    mean = seen.weights @ seen.theta
    sd = np.sqrt(seen.weights @ (seen.theta - mean) ** 2)
    return {
        "answers": seen.answers,
        "mean": _rounded(mean),
        "sd": _rounded(sd),
        "particles": [_rounded(x) for x in some],
        "interval": None if seen.interval is None else _rounded(np.array(seen.interval)),
    }


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{x:.5g}") for x in values]


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    values = rng.normal(TRUTH[0], TRUTH[1], PEOPLE)
    return watch(cell["method"], setting(cell["epsilon"]), rng, values, EVERY)


def _summarise(results: Results) -> Findings:
    rows = [_row(results, epsilon, method) for epsilon in EPSILONS for method in METHODS]
    return Findings(rows, _sentence(rows), lambda figure: _draw(figure, results))


def _row(results: Results, epsilon: float, method: str) -> Row:
    """The results of the first run, or their mean over several."""
    means = results.array("mean", epsilon=epsilon, method=method)
    sds = results.array("sd", epsilon=epsilon, method=method)
    row: dict[str, float | str] = {"ε": epsilon, "method": method}
    for j, name in enumerate(("mu", "sigma")):
        for t in (PEOPLE // 5, PEOPLE):
            row[f"sd of {name} at {t:,}"] = float(sds[:, t // EVERY - 1, j].mean())
        row[f"error of {name}"] = float(np.abs(means[:, -1, j] - TRUTH[j]).mean())
    return row


def _sentence(rows: Sequence[Row]) -> str:
    by = {(row["ε"], row["method"]): row for row in rows}
    name = f"sd of mu at {PEOPLE:,}"
    seen = "; ".join(
        f"ε = {epsilon:g}: " + ", ".join(f"{by[epsilon, method][name]:.2g}" for method in METHODS)
        for epsilon in EPSILONS
    )
    return (
        "Paper: the adaptive method's particles close in on the truth, and much more quickly than with constant "
        f"intervals. Seen, standard deviation of μ after {PEOPLE:,} answers for {', '.join(METHODS)}: {seen}."
    )


def _draw(figure: "Figure", results: Results) -> None:
    panels = figure.subplots(2 * len(METHODS), len(EPSILONS), sharex=True)
    for column, epsilon in zip(panels.T, EPSILONS, strict=True):
        for i, method in enumerate(METHODS):
            run = results.of(epsilon=epsilon, method=method)[0]
            for j in (0, 1):
                draw_trajectory(column[2 * i + j], run, j, float(TRUTH[j]))
                column[2 * i + j].set_title(f"{method}, ε = {epsilon:g}", fontsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("answers", fontsize=7)
    for i, axes in enumerate(panels[:, 0]):
        axes.set_ylabel("μσ"[i % 2], fontsize=8)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)


def draw_trajectory(axes: "Axes", run: RunResult, parameter: int, truth: float, truth_label: str = "truth") -> None:
    """Plot particles, posterior mean and truth of a parameter, and intervals for μ, with all of the second half."""
    times, particles = np.array(run["answers"]), np.array(run["particles"])[:, :, parameter]
    axes.plot(
        np.repeat(times, particles.shape[1]), particles.ravel(), ".", color="tab:blue", markersize=1, label="particles"
    )
    axes.plot(times, np.array(run["mean"])[:, parameter], color="tab:red", linewidth=0.8, label="posterior mean")
    axes.axhline(truth, color="black", linewidth=0.8, label=truth_label)
    late = np.s_[len(times) // 2 :, parameter]
    reach = 6.0 * float(np.median(np.array(run["sd"])[late])) + 0.2
    ends = [truth, *np.array(run["mean"])[late]]
    low, high = min(ends) - reach, max(ends) + reach
    if parameter == 0 and run["interval"][0] is not None:
        asked = np.array(run["interval"])
        axes.plot(times, asked[:, 0], color="0.55", linewidth=0.6, label="ends of the intervals")
        axes.plot(times, asked[:, 1], color="0.55", linewidth=0.6)
        width = 0.05 * np.ptp(asked[len(times) // 2 :])
        low, high = min(low, asked[len(times) // 2 :].min() - width), max(high, asked[len(times) // 2 :].max() + width)
    axes.set_ylim(max(low, 0.0) if parameter else low, high)
    axes.tick_params(labelsize=6)


STUDIES = (
    Study(
        "truncation-figure-1",
        PAPER,
        "Figure 1",
        1,
        1,
        [Cell({"epsilon": epsilon, "method": method}) for epsilon in EPSILONS for method in METHODS],
        _run,
        _summarise,
        figure_size=(12.0, 11.0),
    ),
)
