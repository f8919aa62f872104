"""Alparslan & Yıldırım, Figures 1 to 4: the Fisher information of powers of values, and of binary responses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.information import (
    average_of_noisy_values,
    gaussian_information,
    noisy_average,
    randomised_responses,
)
from dither_papers.statistic_selection.powers import NormalMean, NormalVariance, Power, UniformWidth
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PAPER", "STUDIES"]

PAPER = "Alparslan & Yıldırım"
SIZE = 100
POINTS = 60
SHOWN = 8
"""Values of θ in a table; the figure shows all."""


@dataclass(frozen=True)
class _Example:
    """One of Examples 1 to 3."""

    power: type[Power]
    powers: tuple[float, ...]
    bound: float
    theta: tuple[float, float]
    parameter: str
    paper: str


EXAMPLES: Mapping[str, _Example] = {
    "1": _Example(
        NormalMean,
        (1, 3),
        10.0,
        (0.2, 10.0),
        "mean θ of N(θ, 1)",
        "x is always better without privacy, x³ at ε = 1 where θ is large",
    ),
    "2": _Example(
        NormalVariance,
        (0.5, 1, 2, 3),
        100.0,
        (1.0, 100.0),
        "variance θ of N(0, θ)",
        "x² is always better without privacy, |x| is the best choice at ε = 1 of the powers compared, which the text "
        "does not list",
    ),
    "3": _Example(
        UniformWidth,
        (0.5, 1, 2, 5),
        100.0,
        (1.0, 100.0),
        "width θ of Unif(-θ, θ)",
        "there is information where the uniform distribution itself has none, since the average is nearly normal",
    ),
}


def _thetas(example: _Example) -> FloatArray:
    return np.linspace(*example.theta, POINTS)


def _run(name: str, cell: Cell, rng: np.random.Generator) -> RunResult:
    example = EXAMPLES[name]
    power, theta = example.power(cell["a"]), _thetas(example)
    return {
        "private": gaussian_information(power, theta, SIZE, 1.0, example.bound).tolist(),
        "public": gaussian_information(power, theta, SIZE, np.inf, example.bound).tolist(),
    }


def _summarise(name: str, results: Results) -> Findings:
    example = EXAMPLES[name]
    theta = _thetas(example)
    found = {
        kind: np.array([results.only(a=a)[kind] for a in example.powers], dtype=np.float64)
        for kind in ("private", "public")
    }
    rows: list[Row] = [
        {
            "θ": float(theta[t]),
            **{f"a = {a:g}, ε = 1": float(found["private"][i, t]) for i, a in enumerate(example.powers)},
            **{f"a = {a:g}, no privacy": float(found["public"][i, t]) for i, a in enumerate(example.powers)},
        }
        for t in np.linspace(0, POINTS - 1, SHOWN).round().astype(int)
    ]
    sentence = f"Paper: {example.paper}. Seen: {_best(example, theta, found['private'], found['public'])}."
    return Findings(rows, sentence, lambda figure: _draw(figure, example, theta, found))


def _best(example: _Example, theta: FloatArray, private: FloatArray, public: FloatArray) -> str:
    """Which power is best where, in words."""
    best = private.argmax(axis=0)
    starts = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist()]
    where = [f"a = {example.powers[best[t]]:g} from θ = {theta[t]:.3g}" for t in starts]
    without = sorted({example.powers[i] for i in public.argmax(axis=0)})
    return (
        f"at ε = 1 the most informative is {', '.join(where)} on; without privacy a = "
        f"{' or '.join(f'{a:g}' for a in without)} everywhere"
    )


_NARROW = 10.0
"""Information that varies by at most this factor is drawn on a linear axis."""


def _draw(figure: "Figure", example: _Example, theta: FloatArray, found: Mapping[str, FloatArray]) -> None:
    panels = figure.subplots(1, 2)
    for axes, kind, title in zip(panels, ("private", "public"), ("ε = 1", "no privacy"), strict=True):
        for a, values in zip(example.powers, found[kind], strict=True):
            axes.plot(theta, values, label=f"a = {a:g}")
        axes.set(xlabel=example.parameter, ylabel="Fisher information", title=title)
        if found[kind].max() > _NARROW * found[kind].min():
            axes.set_yscale("log")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(max(low, 1e-8 * high), high)
    panels[0].legend(frameon=False, fontsize=8)


EPSILONS = (0.1, 0.5, 1.0, 5.0)
BINARY = np.linspace(0.02, 0.98, 49)
BINARY_RELEASES = {"F1": "randomised responses", "F2": "mean of noisy values", "F3": "noisy mean"}


def _run_binary(cell: Cell, rng: np.random.Generator) -> RunResult:
    functions = {"F1": randomised_responses, "F2": average_of_noisy_values, "F3": noisy_average}
    return {name: function(BINARY, SIZE, cell["epsilon"]).tolist() for name, function in functions.items()}


def _summarise_binary(results: Results) -> Findings:
    found = {epsilon: results.only(epsilon=epsilon) for epsilon in EPSILONS}
    rows: list[Row] = [
        {
            "ε": epsilon,
            "θ": float(BINARY[t]),
            "F1, randomised response": found[epsilon]["F1"][t],
            "F2, average of noisy values": found[epsilon]["F2"][t],
            "F3, noisy average": found[epsilon]["F3"][t],
        }
        for epsilon in EPSILONS
        for t in (4, 24)
    ]
    at = {(row["ε"], round(row["θ"], 1)): row for row in rows}
    low, high = at[0.1, 0.5], at[5.0, 0.5]
    sentence = (
        "Paper: at small ε randomised responses tell more than noisy values, and a noisy average more than both. "
        f"Seen, at θ = 0.5: F1 {low['F1, randomised response']:.4g}, F2 {low['F2, average of noisy values']:.4g} and "
        f"F3 {low['F3, noisy average']:.4g} at ε = 0.1; {high['F1, randomised response']:.4g}, "
        f"{high['F2, average of noisy values']:.4g} and {high['F3, noisy average']:.4g} at ε = 5. The printed F2 and "
        "F3 lack a factor 1/2, which hardly shows; and F1's ε is differential privacy, theirs Gaussian differential "
        "privacy, so the comparison is not at one privacy."
    )
    return Findings(rows, sentence, lambda figure: _draw_binary(figure, results))


def _draw_binary(figure: "Figure", results: Results) -> None:
    panels = figure.subplots(1, len(EPSILONS))
    for axes, epsilon in zip(panels, EPSILONS, strict=True):
        found = results.only(epsilon=epsilon)
        for (name, label), style in zip(BINARY_RELEASES.items(), ("-", "--", ":"), strict=True):
            axes.plot(BINARY, found[name], style, label=f"{name}, {label}")
        axes.set_yscale("log")
        axes.set(xlabel="θ", title=f"ε = {epsilon:g}")
        axes.yaxis.set_minor_formatter("")
    panels[0].set_ylabel("Fisher information")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)


def _study(name: str) -> Study:
    return Study(
        f"selection-figure-{name}",
        PAPER,
        f"Example {name} (Figure {name})",
        1,
        1,
        [Cell({"a": a}, random=False) for a in EXAMPLES[name].powers],
        partial(_run, name),
        partial(_summarise, name),
        figure_size=(9.0, 4.0),
    )


STUDIES = (
    *(_study(name) for name in EXAMPLES),
    Study(
        "selection-figure-4",
        PAPER,
        "Example 4 (Figure 4)",
        1,
        1,
        [Cell({"epsilon": epsilon}, random=False) for epsilon in EPSILONS],
        _run_binary,
        _summarise_binary,
        figure_size=(12.0, 3.5),
    ),
)
