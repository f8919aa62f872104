"""Yıldırım, section 3.1: what Algorithm 2 saves if it moves a random subset of each particle's values at each answer.

The estimates stand beside the exact posterior of the same answers, a sum over a grid. Questions are the best intervals
for the mean, at draws of the particles.
"""

from functools import partial
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.studies.pictures import half_width, rmse_half_width
from dither_papers.studies.study import Cell, Findings, Results, Row, RunResult, Scalar, Study
from dither_papers.studies.truncation_methods import PAPER, PARTICLES
from dither_papers.truncation import latent_smc
from dither_papers.truncation.clipped import Answers, Interval, log_density
from dither_papers.truncation.intervals import best_interval
from dither_papers.truncation.interview import interview, thompson
from dither_papers.truncation.latent_smc import LatentParticles, Rejuvenation
from dither_papers.truncation.prior import NormalPrior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDIES", "exact_moments"]

EPSILON = 5.0
TRUTH = np.array([50.0, 10.0**0.5])
PRIOR = NormalPrior()
ALL = "all"
SUBSETS = (ALL, "100", "30", "10")
SIZE, LARGER = 300, 1_000
_POINTS = 21
_PASSES = 3
_NEIGHBOURHOOD = 2.5, 6.0
"""Half the width of the next grid: so many of the last one's steps, or standard deviations, whichever is wider."""


def _run(cell: Cell, rng: np.random.Generator) -> RunResult:
    values = rng.normal(TRUTH[0], TRUTH[1], cell["n"])
    rejuvenation = Rejuvenation(subset=None if cell["values"] == ALL else int(cell["values"]))
    ask = thompson([best_interval("mean", EPSILON)])
    began = process_time()
    start = latent_smc.init(rng, PRIOR, PARTICLES, EPSILON)
    *_, (_, last) = interview(rng, start, partial(_step, rejuvenation), ask, values)
    seconds = process_time() - began
    mean = last.weights @ last.theta
    sd = np.sqrt(last.weights @ (last.theta - mean) ** 2)
    exact = [moment.tolist() for moment in exact_moments(last.answers)]
    return {"seconds": seconds, "estimate": mean.tolist(), "sd": sd.tolist(), "exact": exact}


def _step(
    rejuvenation: Rejuvenation, rng: np.random.Generator, state: LatentParticles, y: float, interval: Interval
) -> LatentParticles:
    return latent_smc.step(rng, PRIOR, state, y, interval, rejuvenation)


def exact_moments(answers: Answers) -> tuple[FloatArray, FloatArray]:
    """The posterior means and standard deviations of μ and σ, by grids in (μ, log σ) that close in on them."""
    centre, reach = np.array([TRUTH[0], np.log(TRUTH[1])]), np.array([10.0, 1.8])
    for _ in range(_PASSES):
        mu, log_sigma = (np.linspace(c - r, c + r, _POINTS) for c, r in zip(centre, reach, strict=True))
        grid = np.stack(np.meshgrid(mu, log_sigma, indexing="ij"), axis=-1).reshape(-1, 2)
        theta = np.column_stack([grid[:, 0], np.exp(grid[:, 1])])
        logs = PRIOR.log_density(*grid.T) + log_density(theta, answers).sum(axis=1)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        centre = weights @ grid
        steps, sds = _NEIGHBOURHOOD
        reach = np.maximum(steps * 2.0 * reach / (_POINTS - 1), sds * np.sqrt(weights @ (grid - centre) ** 2))
    mean = weights @ theta
    return mean, np.sqrt(weights @ (theta - mean) ** 2)


def _summarise(results: Results) -> Findings:
    sizes = [n for n in (SIZE, LARGER) if Cell({"values": ALL, "n": n}).key in results.by_cell]
    rows = [_row(results, n, values) for n in sizes for values in SUBSETS]
    most = rows[-len(SUBSETS) :]
    seen = "; ".join(
        f"{row['values']} {row['seconds']:.2g} s and {row['off, mu']:.2g} and {row['off, sigma']:.2g}" for row in most
    )
    sentence = (
        "Paper: updating a random subset of the latent values saves time; it does not say how much. Seen with "
        f"{most[0]['n']:,} answers at ε = {EPSILON:g}, {PARTICLES:,} particles, by the number of values that an answer "
        "moves: processor time, and how far the means of μ and σ are from the exact posterior means of the same "
        f"answers, in its standard deviations (root mean square): {seen}."
    )
    return Findings(rows, sentence, lambda figure: _draw(figure, rows))


def _row(results: Results, n: int, values: str) -> Row:
    cell: dict[str, Scalar] = {"n": n, "values": values}
    seconds, found = results.array("seconds", **cell), results.array("estimate", **cell)
    means, sds = np.moveaxis(results.array("exact", **cell), 1, 0)
    off = (found - means) / sds
    claimed = (results.array("sd", **cell) / sds).mean(axis=0)
    whole = results.array("seconds", n=n, values=ALL).mean()
    row: dict[str, float | str] = {"n": n, "values": values, "seconds": float(seconds.mean())}
    row |= {"± (95%), seconds": half_width(seconds), "to all": float(seconds.mean() / whole)}
    for j, name in enumerate(("mu", "sigma")):
        row[f"off, {name}"] = float(np.sqrt((off[:, j] ** 2).mean()))
        row[f"± (95%), off, {name}"] = rmse_half_width(off[:, j] ** 2)
        row[f"sd to exact, {name}"] = float(claimed[j])
        row[f"RMSE {name}"] = float(np.sqrt(((found[:, j] - TRUTH[j]) ** 2).mean()))
    return row


def _draw(figure: "Figure", rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    places = np.arange(len(SUBSETS))
    for n, colour in zip(dict.fromkeys(row["n"] for row in rows), ("tab:blue", "tab:orange"), strict=False):
        some = [row for row in rows if row["n"] == n]
        bars = [row["± (95%), seconds"] for row in some]
        left.errorbar(places, [row["seconds"] for row in some], bars, fmt="o-", capsize=3, color=colour, label=f"{n:,}")
        for name, style, letter in (("mu", "o-", "μ"), ("sigma", "s--", "σ")):
            off, bars = ([row[f"{kind}off, {name}"] for row in some] for kind in ("", "± (95%), "))
            options = {"capsize": 3, "markersize": 4, "color": colour, "label": f"{n:,} answers, {letter}"}
            right.errorbar(places + (0.08 if name == "sigma" else 0.0), off, bars, fmt=style, **options)
    left.set(ylabel="processor time of all answers, s", ylim=(0, None))
    right.set(ylabel="distance from the exact posterior mean,\nin its standard deviations (RMS)", ylim=(0, None))
    left.legend(title="answers", frameon=False, fontsize=8)
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.set_xticks(places, SUBSETS)
        axes.set_xlabel("latent values of a particle that an answer moves")


def _cells(n: int) -> list[Cell]:
    return [Cell({"values": values, "n": n}) for values in SUBSETS]


STUDIES = (
    Study(
        "truncation-subsets",
        PAPER,
        "the subsets of section 3.1",
        1,
        5,
        _cells(SIZE),
        _run,
        _summarise,
        figure_size=(9.0, 4.0),
        larger=_cells(LARGER),
    ),
)
