"""The rules that choose questions, compared: what errors they leave, beside those of the best questions.

    python -m benchmarks.rules [SEEDS [PLOT]]

The population is N(50, 3.16²), the prior the paper's, or at ε = 1 the default; then a member of every family, under the
default prior. Every rule meets the same people and the same uniforms for their noise; families and rules that are here
for comparison have a quarter of the seeds. `PLOT` is a file for the picture. With many outstanding, "late oracle" is
what the questions' own would be if they were as good as one by one after as much was learnt (docs/statistics.md, "Many
at once").

Most of what an error's square varies by is the luck of the answers, the square of their score at the truth, whose
expectation given the questions is known: the information asked. The difference is a control variate, of mean 0 for any
rule, which leaves the error's interval a third as wide or less ("plain" is without it).
"""

import sys
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.design.design import Design, optimal_design
from dither_estimator.design.member import Member
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import cell_moments, information
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.policy import Adaptive, QuestionPolicy, Thompson
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.sample import systematic_sample
from dither_server.simulate.scenario import PAPER_PRIOR
from testing.tables import print_table

__all__ = ["NORMAL", "RULES", "Run", "main", "normal_fields", "run", "without_luck"]

NORMAL = families["normal"]
TRUTH = np.array([50.0, 10**0.5])
MECHANISMS = ("laplace", "randomized_response")
PRIORS: Mapping[str, Mapping[str, Any]] = {"paper's": {"prior": PAPER_PRIOR}, "default": {}}
CASES = [
    *((mechanism, epsilon, "paper's") for mechanism in MECHANISMS for epsilon in ("0.5", "1", "2", "5", "10")),
    *((mechanism, "1", "default") for mechanism in MECHANISMS),
]
MEMBERS: Mapping[str, Sequence[float]] = {
    "laplace": (50, 3), "logistic": (50, 3), "student_t:4": (50, 3), "gumbel": (50, 3),
    "exponential": (50,), "gamma": (3, 20), "weibull": (2, 50), "beta": (2, 5),
    "bernoulli": (0.2,), "poisson": (30,), "negative_binomial": (30, 3),
}  # fmt: skip
RESPONDENTS = {"0.5": 4_000}
"""1,000 at the other ε."""
OUTSTANDING = 256
_FIRST_POOL, _POOL = 64, 16
"""The sizes of the first pool and of later ones, as a server has them."""
_SEEDS = 400
_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Run:
    """One population asked. `V` are the best design's asymptotic variances, `w` what its criterion weighs them by."""

    squared: float
    """`Σ w (error)² n / Σ w V`, the error that of the posterior mean."""
    luck: FloatArray
    """What the answers' luck adds to each parameter's part of that: of mean 0, whatever the rule. Shape (d,).

    `w ((A s)² - diag(A J A)) n / Σ w V`, with s the answers' score at the truth and J the information that was asked,
    `A = (n M*)⁻¹`: the score is a martingale, and J its predictable variation.
    """
    own: float
    """`tr(W J⁻¹) n / Σ w V`."""
    efficiency: FloatArray
    """What each question does for the best design's criterion, 1 at most. Shape (n,)."""


class Variances(Adaptive):
    """`Adaptive` with the variances alone, whatever part of them the tails have."""

    def _aims(self, theta: FloatArray, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        values = theta if self.specification.family.location_scale else coordinates
        return values, self.specification.goal.vector(self.specification.family)


class MutualInformation(Adaptive):
    """The candidate of `Adaptive` whose answer is expected to give most information about θ, in nats."""

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        theta = particles.theta[systematic_sample(particles.weights, 256, rng.random())]
        best: tuple[float, Query] | None = None
        for some in self._candidates(particles, rng.permutation(theta), size, epsilon):
            shares = some.probabilities(self.specification.family, theta)
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


RULES = (
    "adaptive",
    "adaptive, 256 outstanding",
    "variances alone",
    "Thompson",
    "mutual information",
    "best, given the truth",
)
FAMILY_RULES = ("adaptive", "variances alone", "best, given the truth")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    found: dict[tuple[str, ...], FloatArray] = {}
    measured = ("error", "95% interval", "at most (95%)", "plain; at most", "questions' own")
    title = "root mean squared error to that of the best questions"
    columns: tuple[str, ...] = (
        "mechanism",
        "ε",
        "prior",
        "respondents",
        "rule",
        "seeds",
        *measured,
        "late oracle",
        "to it",
    )
    print_table(f"Rules: {title}", columns, _rows(seeds, found))
    columns = ("family", "member", "mechanism", "rule", "seeds", *measured)
    print_table(f"Rules: families, ε = 1, 1,000 respondents, default prior, {title}", columns, _family_rows(seeds))
    if len(arguments) > 1:
        _figure(found).savefig(arguments[1], dpi=150)


def _rows(seeds: int, found: dict[tuple[str, ...], FloatArray]) -> Iterator[tuple[object, ...]]:
    efficiency: dict[str, FloatArray] = {}
    for (mechanism, epsilon, prior), rule in product(CASES, RULES):
        respondents = RESPONDENTS.get(epsilon, 1_000)
        fields = normal_fields(mechanism, epsilon, prior)
        some = seeds if "adaptive" in rule else max(seeds // 4, 1)
        runs = _runs(fields, rule, respondents, some)
        efficiency[rule] = np.mean([one.efficiency for one in runs], axis=0)
        found[mechanism, epsilon, prior, rule] = without_luck(runs)
        against = _late_oracle(efficiency) if "outstanding" in rule else ("", "")
        yield mechanism, epsilon, prior, f"{respondents:,}", rule, some, *_measured(runs), *against


def _family_rows(seeds: int) -> Iterator[tuple[object, ...]]:
    some = max(seeds // 4, 1)
    for (name, member), mechanism, rule in product(MEMBERS.items(), MECHANISMS, FAMILY_RULES):
        fields = {"mechanism": mechanism, "epsilon": "1", "family": name}
        runs = _runs(fields, rule, 1_000, some, np.array(member, dtype=float))
        yield name, ", ".join(f"{part:g}" for part in member), mechanism, rule, some, *_measured(runs)


def _runs(fields: dict[str, Any], rule: str, respondents: int, seeds: int, truth: FloatArray = TRUTH) -> list[Run]:
    return list(Parallel(n_jobs=-1)(delayed(run)(fields, rule, respondents, seed, truth) for seed in range(seeds)))


def _measured(runs: Sequence[Run]) -> tuple[str, ...]:
    error, low, high, bound = _roots(without_luck(runs))
    plain, _, _, plain_bound = _roots(np.array([one.squared for one in runs]))
    own = np.sqrt(np.median([one.own for one in runs]))
    return (
        f"{error:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{bound:.3f}",
        f"{plain:.3f}; {plain_bound:.3f}",
        f"{own:.3f}",
    )


def _roots(squared: FloatArray) -> tuple[float, ...]:
    """The root of a mean, its 95% interval, and its upper 95% limit."""
    mean, error = squared.mean(), squared.std() / np.sqrt(len(squared))
    return tuple(np.sqrt(np.maximum(mean + error * np.array([0.0, -1.96, 1.96, 1.645]), 0.0)).tolist())


def without_luck(runs: Sequence[Run]) -> FloatArray:
    """The squared errors less what the answers' luck explains of them: of the same mean, shape (runs,).

    How much it explains is fitted to the runs outside of a run's fold, and so is independent of its luck.
    """
    squared, luck = np.array([one.squared for one in runs]), np.array([one.luck for one in runs])
    left = squared.copy()
    for fold in np.array_split(np.arange(len(runs)), min(_FOLDS, len(runs))):
        rest = np.delete(np.column_stack([np.ones(len(runs)), luck]), fold, axis=0)
        effect = np.linalg.lstsq(rest, np.delete(squared, fold))[0][1:]
        left[fold] -= luck[fold] @ effect
    return left


def _late_oracle(efficiency: Mapping[str, FloatArray]) -> tuple[str, str]:
    """The questions' own if the first are as they were asked, and each later one as efficient as the question that was
    asked one by one after as much was learnt, in efficiencies, as what had been answered by then taught; and what was
    asked to that. Of mean efficiencies, where the questions' own is a median.
    """
    alone, asked = efficiency[RULES[0]], efficiency[RULES[1]]
    late = asked[:OUTSTANDING].tolist()
    learnt = np.cumsum(alone) - alone
    answered = 0.0
    for first in range(len(alone) - OUTSTANDING):
        late.append(float(np.interp(answered, learnt, alone)))
        answered += late[first]
    best = np.mean(late)
    return f"{1 / np.sqrt(best):.3f}", f"{np.sqrt(best / asked.mean()):.3f}"


def normal_fields(mechanism: str, epsilon: str, prior: str = "paper's") -> dict[str, Any]:
    """A specification of the normal family with one of `PRIORS`."""
    return {"mechanism": mechanism, "epsilon": epsilon, "family": "normal", **PRIORS[prior]}


def run(fields: dict[str, Any], rule: str, respondents: int, seed: int, truth: FloatArray = TRUTH) -> Run:
    """Asks a population, one by one or with many outstanding as `rule` says."""
    with threadpool_limits(1):
        spec = Specification.from_json(fields)
        family = spec.family
        best = optimal_design(family, truth, spec.mechanism, spec.epsilon, spec.goal)
        for_people, for_pools, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        values, uniforms = family.sample(rng, truth, respondents), rng.random(respondents)
        learner = Learner(spec, for_learner, _policy(rule, spec, best))
        outstanding = OUTSTANDING if "outstanding" in rule else 0
        queries, answers = _interview(learner, values, uniforms, outstanding, np.random.default_rng(for_pools))
        theta, chances = learner.particles()
        weights = np.diag(Member(family, best.theta).aim(spec.goal))
        told = {query: information(family, truth, query) for query in set(queries)}
        asked = np.array([told[query] for query in queries])
        scores = {query: _scores(family, truth, query) for query in told}
        score = np.sum([scores[query][answer] for query, answer in zip(queries, answers, strict=True)], axis=0)
        total, inverse = asked.sum(axis=0), np.linalg.inv(best.information)
        efficiency = np.einsum("ij,nij->n", inverse * weights @ inverse, asked) / best.criterion
        scale = respondents / best.criterion
        squared = weights @ (chances @ theta - truth) ** 2
        lucky = (inverse @ score) ** 2 - np.diag(inverse @ total @ inverse)
        own = weights @ np.diag(np.linalg.pinv(total))
        return Run(float(squared * scale), weights * lucky * scale / respondents**2, float(own * scale), efficiency)


def _scores(family: Family, truth: FloatArray, query: Query) -> FloatArray:
    """The gradient of the log-likelihood of each answer at the truth, shape (answers, d)."""
    cells, slopes = cell_moments(family, truth, np.array([query.edges]))
    channel = channel_of(query).matrix
    scores: FloatArray = (channel.T @ slopes[0]) / (channel.T @ cells[0])[:, None]
    return scores


def _policy(rule: str, spec: Specification, best: Design) -> QuestionPolicy:
    match rule:
        case "Thompson":
            return Thompson(spec)
        case "variances alone":
            return Variances(spec)
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
) -> tuple[list[Query], list[int]]:
    """Asks everyone, `outstanding` before the first answers; returns what was asked and answered."""
    cumulative: dict[Query, list[list[float]]] = {}
    asked, answers = [], []
    out: deque[Query] = deque()
    for value, uniform in zip(values.tolist(), uniforms.tolist(), strict=True):
        while len(out) < outstanding:
            pool = learner.pool(_POOL if learner.answers else _FIRST_POOL)
            out.append(pool[int(rng.integers(len(pool)))])
        query = out.popleft() if outstanding else learner.ask()
        if query not in cumulative:
            cumulative[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1].tolist()
        answer = bisect_right(cumulative[query][bisect_left(query.edges, value)], uniform)
        learner.learn(query, answer)
        asked.append(query)
        answers.append(answer)
    return asked, answers


def _figure(found: Mapping[tuple[str, ...], FloatArray]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, mechanism in zip(figure.subplots(1, 2, sharey=True), MECHANISMS, strict=True):
        epsilons = [epsilon for name, epsilon, prior in CASES if (name, prior) == (mechanism, "paper's")]
        for i, rule in enumerate(RULES):
            squared = [found[mechanism, epsilon, "paper's", rule] for epsilon in epsilons]
            middle, low, high, _ = np.transpose([_roots(some) for some in squared])
            places = np.arange(len(epsilons)) + 0.12 * (i - 2)
            axes.errorbar(places, middle, [middle - low, high - middle], fmt="o", markersize=4, capsize=2, label=rule)
        axes.axhline(1.0, color="0.6", linewidth=0.8)
        axes.set_xticks(range(len(epsilons)), epsilons)
        axes.set(xlabel="ε", title=mechanism, ylim=(0.9, 1.95))
    figure.axes[0].set_ylabel("RMSE, to that of the best questions")
    figure.axes[1].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
