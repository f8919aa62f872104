"""The rules that choose questions, compared: what errors they leave, beside those of the best questions.

    python -m benchmarks.rules [SEEDS [PLOT]]

The population is N(50, 10), the prior the paper's. Every rule meets the same people and the same uniforms for their
noise. `PLOT` is a file for the picture. With many outstanding, "late oracle" is what the questions' own would be if
they were as good as one by one after as much was learnt (docs/statistics.md, "Many at once").
"""

import sys
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.tables import print_table
from dither_client import Query
from dither_estimator.channels import channel_of
from dither_estimator.design import Design, optimal_design
from dither_estimator.families import FloatArray, families
from dither_estimator.goals import parse_goal
from dither_estimator.information import information
from dither_estimator.learner import Learner
from dither_estimator.particles import ParticleSystem, systematic_resample
from dither_estimator.policies import Adaptive, QuestionPolicy, Thompson
from dither_estimator.specification import Specification
from dither_server.simulate.scenario import PAPER_PRIOR

__all__ = ["NORMAL", "RULES", "main", "paper_fields", "run"]

NORMAL = families["normal"]
TRUTH = np.array([50.0, 10**0.5])
CASES = [
    (mechanism, epsilon) for mechanism in ("laplace", "randomized_response") for epsilon in ("0.5", "1", "2", "5", "10")
]
RESPONDENTS = {"0.5": 4_000}
"""1,000 at the other ε."""
OUTSTANDING = 256
_FIRST_POOL, _POOL = 64, 16
"""As large as a server's."""
_SEEDS = 400


class MutualInformation(Adaptive):
    """Of the candidates of `Adaptive`, the question whose answer is expected to tell most of θ, in nats."""

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        theta = particles.theta[systematic_resample(rng, particles.weights, 256)]
        best: tuple[float, Query] | None = None
        for some in self._candidates(particles, rng.permutation(theta), size, epsilon):
            shares = some.probabilities(NORMAL, theta)
            means = shares.mean(axis=0)
            gains = (shares * np.log(shares)).sum(axis=1).mean(axis=0) - (means * np.log(means)).sum(axis=0)
            place = int(np.argmax(gains))
            if best is None or gains[place] > best[0]:
                best = float(gains[place]), some.query(place)
        assert best is not None
        return (best[1],)


@dataclass(frozen=True)
class Oracle:
    """Questions drawn from the optimal mixture at the truth, which nobody knows."""

    design: Design

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        picks = rng.choice(len(self.design.queries), 64, p=np.array(self.design.weights))
        return tuple(self.design.queries[i] for i in picks)


RULES = ("variance reduction", "the same, 256 outstanding", "Thompson", "mutual information", "best, given the truth")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    found: dict[tuple[str, str, str], FloatArray] = {}
    measured = ("error", "95% interval", "at most (95%)", "questions' own", "late oracle")
    columns = ("mechanism", "ε", "respondents", "rule", *measured)
    title = f"Rules: root mean squared error to that of the best questions, {seeds} seeds"
    print_table(title, columns, _rows(seeds, found))
    if len(arguments) > 1:
        _figure(found).savefig(arguments[1], dpi=150)


def _rows(seeds: int, found: dict[tuple[str, str, str], FloatArray]) -> Iterator[tuple[object, ...]]:
    efficiency: dict[str, FloatArray] = {}
    for (mechanism, epsilon), rule in product(CASES, RULES):
        respondents = RESPONDENTS.get(epsilon, 1_000)
        fields = paper_fields(mechanism, epsilon)
        runs = Parallel(n_jobs=-1)(delayed(run)(fields, rule, respondents, seed) for seed in range(seeds))
        squared, asked, each = (np.array(column) for column in zip(*runs, strict=True))
        efficiency[rule] = each.mean(axis=0)
        found[mechanism, epsilon, rule] = squared
        mean, error = squared.mean(), squared.std() / np.sqrt(seeds)
        low, high = np.sqrt(np.maximum(mean + error * np.array([-1.96, 1.96]), 0.0))
        bound = np.sqrt(mean + 1.645 * error)
        own = np.sqrt(np.median(asked))
        yield (
            mechanism, epsilon, f"{respondents:,}", rule, f"{np.sqrt(mean):.3f}", f"{low:.3f} to {high:.3f}",
            f"{bound:.3f}", f"{own:.3f}", f"{_late_oracle(efficiency):.3f}" if "outstanding" in rule else "",
        )  # fmt: skip


def _late_oracle(efficiency: dict[str, FloatArray]) -> float:
    """The questions' own if the first are as they were asked, and each later one as efficient as the question that was
    asked one by one after as much was learnt, in efficiencies, as what had been answered by then taught.
    """
    alone, late = efficiency[RULES[0]], efficiency[RULES[1]][:OUTSTANDING].tolist()
    learnt = np.cumsum(alone) - alone
    answered = 0.0
    for first in range(len(alone) - OUTSTANDING):
        late.append(float(np.interp(answered, learnt, alone)))
        answered += late[first]
    return float(1 / np.sqrt(np.mean(late)))


def paper_fields(mechanism: str, epsilon: str) -> dict[str, Any]:
    """A specification with the paper's prior."""
    return {"mechanism": mechanism, "epsilon": epsilon, "family": "normal", "prior": PAPER_PRIOR}


def run(fields: dict[str, Any], rule: str, respondents: int, seed: int) -> tuple[float, float, FloatArray]:
    """`Σ (error)² n / Σ V`, `tr((Σ F)⁻¹) n / Σ V` of the questions that were asked, `V` the optimal variances; and
    each question's efficiency, shape (n,): what it does for the best design's criterion, 1 at most.
    """
    with threadpool_limits(1):
        spec = Specification.from_json(fields)
        best = optimal_design(NORMAL, TRUTH, spec.mechanism, spec.epsilon, parse_goal("all", NORMAL))
        for_people, for_pools, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        values, uniforms = rng.normal(TRUTH[0], TRUTH[1], respondents), rng.random(respondents)
        learner = Learner(spec, for_learner, _policy(rule, spec, best))
        outstanding = OUTSTANDING if "outstanding" in rule else 0
        asked = _interview(learner, values, uniforms, outstanding, np.random.default_rng(for_pools))
        posterior = learner.posterior().parameters
        squared = sum((posterior[name].mean - true) ** 2 for name, true in zip(NORMAL.names, TRUTH, strict=True))
        scale = respondents / best.criterion
        inverse = np.linalg.inv(best.information)
        efficiency = np.einsum("ij,nij->n", inverse @ inverse, asked) / best.criterion
        return float(squared * scale), float(np.trace(np.linalg.pinv(asked.sum(axis=0))) * scale), efficiency


def _policy(rule: str, spec: Specification, best: Design) -> QuestionPolicy:
    match rule:
        case "Thompson":
            return Thompson(spec)
        case "mutual information":
            return MutualInformation(spec)
        case "best, given the truth":
            return Oracle(best)
    return Adaptive(spec)


def _interview(
    learner: Learner,
    values: npt.NDArray[np.float64],
    uniforms: npt.NDArray[np.float64],
    outstanding: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Asks everyone, `outstanding` before the first answers; returns each question's information, shape (n, 2, 2)."""
    samplers: dict[Query, tuple[Sequence[float], list[list[float]], FloatArray]] = {}
    asked = []
    out: deque[Query] = deque()
    for value, uniform in zip(values.tolist(), uniforms.tolist(), strict=True):
        while len(out) < outstanding:
            pool = learner.pool(_POOL if learner.answers else _FIRST_POOL)
            out.append(pool[int(rng.integers(len(pool)))])
        query = out.popleft() if outstanding else learner.ask()
        if query not in samplers:
            cumulative = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1].tolist()
            samplers[query] = query.edges, cumulative, information(NORMAL, TRUTH, query)
        edges, cumulative, own = samplers[query]
        learner.learn(query, bisect_right(cumulative[bisect_left(edges, value)], uniform))
        asked.append(own)
    return np.array(asked)


def _figure(found: dict[tuple[str, str, str], FloatArray]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    mechanisms = list(dict.fromkeys(mechanism for mechanism, _ in CASES))
    for axes, mechanism in zip(figure.subplots(1, 2, sharey=True), mechanisms, strict=True):
        epsilons = [epsilon for name, epsilon in CASES if name == mechanism]
        for i, rule in enumerate(RULES):
            squared = [found[mechanism, epsilon, rule] for epsilon in epsilons]
            middle = np.array([np.sqrt(some.mean()) for some in squared])
            error = np.array([some.std() / np.sqrt(len(some)) for some in squared]) / (2 * middle)
            places = np.arange(len(epsilons)) + 0.12 * (i - 2)
            axes.errorbar(places, middle, 1.96 * error, fmt="o", markersize=4, capsize=2, label=rule)
        axes.axhline(1.0, color="0.6", linewidth=0.8)
        axes.set_xticks(range(len(epsilons)), epsilons)
        axes.set(xlabel="ε", title=mechanism, ylim=(0.9, 1.7))
    figure.axes[0].set_ylabel("RMSE, to that of the best questions")
    figure.axes[1].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
