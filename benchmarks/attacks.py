"""Adversaries who know everything against the reported bound: how far the posterior mean moves, and how far it may.

They are a share of the respondents, know the true parameters and the questions' channels, and send what pushes hardest.
Those who steer come before all others, so that nobody else answers the first questions: the bound does not cover that.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.checks.contamination import poison_bound
from dither_estimator.design.design import optimal_design
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import cell_moments
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

MEMBER = np.array([50.0, 10**0.5])
RESPONDENTS = 10_000
ATTACKS = {"highest": "mu", "worst for mu": "mu", "worst for sigma": "sigma", "steering": "mu"}
"""What adversaries do, and the parameter that they mean."""

_MECHANISMS = ("laplace", "randomized_response")
_EPSILONS = ("0.5", "1", "2")
_SHARES = (0.01, 0.05, 0.1)
_SEEDS = 4
_FAMILY = families["normal"]
_FRAME = (0.01, 3.0)
"""The limits of the plot; what lies outside is drawn at its edge."""
_Answers = tuple[npt.NDArray[np.float64], int]
"""For each cell the cumulative probabilities of the answers, and what an adversary answers."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table and saves the plot; the arguments are the number of seeds and the plot's file."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    rows = []

    def kept() -> Iterator[tuple[object, ...]]:
        for row in _measured(seeds):
            rows.append(row)
            yield row.cells()

    columns = ("mechanism", "ε", "share", "attack", "on", "moves it by, in σ", "bound, in σ", "measured to bound")
    print_table(f"Contamination: N(50, 3.16²), {RESPONDENTS:,} respondents, {seeds} seeds", columns, kept())
    if len(arguments) > 1:
        _plot(rows, Path(arguments[1]))


@dataclass(frozen=True)
class _Row:
    mechanism: str
    epsilon: str
    share: float
    attack: str
    shift: float
    """The mean over seeds in units of the true σ, its standard error, and the mean of the reported bounds."""
    error: float
    bound: float

    def cells(self) -> tuple[object, ...]:
        moved = f"{self.shift:.3g} ± {self.error:.2g}"
        bound, ratio = (
            (f"{self.bound:.3g}", f"{self.shift / self.bound:.3g}") if np.isfinite(self.bound) else ("none", "")
        )
        return self.mechanism, self.epsilon, f"{self.share:.0%}", self.attack, ATTACKS[self.attack], moved, bound, ratio


def _measured(seeds: int) -> Iterator[_Row]:
    for mechanism, epsilon in product(_MECHANISMS, _EPSILONS):
        clean = _runs(mechanism, epsilon, 0.0, "highest", seeds)[0]
        for share, attack in product(_SHARES, ATTACKS):
            means, bounds = _runs(mechanism, epsilon, share, attack, seeds)
            j = _FAMILY.names.index(ATTACKS[attack])
            moved = (means - clean)[:, j] / MEMBER[1]
            error = float(moved.std(ddof=1)) / seeds**0.5 if seeds > 1 else float("nan")
            bound = float(bounds[:, j].mean()) / float(MEMBER[1])
            yield _Row(mechanism, epsilon, share, attack, float(moved.mean()), error, bound)


def _runs(mechanism: str, epsilon: str, share: float, attack: str, seeds: int) -> tuple[FloatArray, FloatArray]:
    """Posterior means and reported bounds, (seeds, 2) each."""
    jobs = (delayed(_run)(mechanism, epsilon, share, attack, seed) for seed in range(seeds))
    means, bounds = zip(*Parallel(n_jobs=-1)(jobs), strict=True)
    return np.array(means), np.array(bounds)


def _run(mechanism: str, epsilon: str, share: float, attack: str, seed: int) -> tuple[list[float], list[float]]:
    with threadpool_limits(1):
        spec = Specification.from_json(
            {"family": "normal", "epsilon": epsilon, "mechanism": mechanism, "particles": 300}
        )
        learner = Learner(spec, seed)
        rng = np.random.default_rng([seed, 1])
        values = rng.normal(MEMBER[0], MEMBER[1], RESPONDENTS).tolist()
        uniforms = rng.random(RESPONDENTS).tolist()
        adversarial = rng.random(RESPONDENTS) < share
        if attack == "steering":
            adversarial = np.sort(adversarial)[::-1]
        design = optimal_design(_FAMILY, MEMBER, spec.mechanism, spec.epsilon, spec.goal, None)
        information = np.asarray(design.information)
        known: dict[Query, _Answers] = {}
        for value, uniform, adversary in zip(values, uniforms, adversarial.tolist(), strict=True):
            query = learner.ask()
            if query not in known:
                known[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1], _worst(information, query, attack)
            rows, worst = known[query]
            honest = int(np.searchsorted(rows[query.cell(value)], uniform, "right"))
            learner.learn(query, worst if adversary else honest)
        theta, weights = learner.particles()
        bound = poison_bound(_FAMILY, learner.counts, _FAMILY.unconstrain(theta), weights, share)
    limits = [np.inf if x is None else x for x in bound.shift.values()]
    return (weights @ theta).tolist(), limits


def _worst(information: FloatArray, query: Query, attack: str) -> int:
    """The answer that raises the target's estimate most, at the true parameters and their `information`."""
    if attack == "highest":
        return query.n_answers - 1
    cells, slopes = cell_moments(_FAMILY, MEMBER, np.asarray(query.edges)[None])
    channel = channel_of(query).matrix
    scores = (slopes[0].T @ channel) / (cells[0] @ channel)
    influence = np.linalg.solve(information, scores)
    value = influence[_FAMILY.names.index(ATTACKS[attack])]
    return int(np.flatnonzero(value == value.max())[-1])  # all equal far from where the people are


def _plot(rows: Sequence[_Row], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    markers = dict(zip(ATTACKS, "osD^", strict=True))
    colours = dict(zip(_EPSILONS, ("#b2182b", "#2166ac", "#1b7837"), strict=True))
    for panel, mechanism in zip(panels, _MECHANISMS, strict=True):
        panel.plot(_FRAME, _FRAME, color="black", linewidth=0.8)
        for row in rows:
            if row.mechanism == mechanism:
                panel.errorbar(
                    *np.clip([row.bound, row.shift], *_FRAME),
                    yerr=2 * row.error if row.shift < _FRAME[1] else 0,
                    marker=markers[row.attack],
                    color=colours[row.epsilon],
                    markersize=5,
                    linewidth=0.8,
                    alpha=0.85,
                )
        panel.set(xscale="log", yscale="log", title=mechanism, xlabel="reported bound, σ", xlim=_FRAME, ylim=_FRAME)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("measured shift of the posterior mean, σ")
    for attack, marker in markers.items():
        panels[0].plot([], [], marker, color="grey", label=attack)
    for epsilon, colour in colours.items():
        panels[0].plot([], [], "s", color=colour, label=f"ε = {epsilon}")
    panels[0].legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(sys.argv[1:])
