"""Where a distribution without a family is not what is assumed: heaps, sharp edges, gaps, far tails, few answers.

    python -m benchmarks.smoothness [SEEDS [EPSILON]]

No range is given, and the learner of a collection asks, as in `benchmarks.any_distribution`. Bands are those of the
distribution function, with probability 90%.

The second table has what answers tell of heaps: the log evidence of deviations that are rough as well as smooth, less
that of smooth ones. Rough are further coefficients of all cosines, with equal sds.

The third has what anybody could tell from the same answers who knew both populations and had only to say which it is:
the wages, or wages without heaps, whose logarithms are spread a little and whose distribution function passes through
the middle of each step, all but 0.25 points. It is the Kullback-Leibler divergence D of all answers, and the power of
the best test with 5% of false alarms, by the normal distribution of a sum of so many log ratios: Φ(√(2D) - 1.645).

The fourth has the mean of people who all are far below a maximum that is given, beside the same without: answers can
hardly tell that nobody is there.
"""

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import FIRST_SEED, collection, learner_on, populations
from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.nonparametric.approximation import approximate
from dither_estimator.nonparametric.deviations import BINS, COSINES, LOG_PRIOR, SCALES, Deviations
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.support import ANYWHERE, Support
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 40
_EPSILON = "1"
_X = np.linspace(0.0, 100.0, 101)
_TENS = np.arange(10.0, 101.0, 10.0)
_WHOLE = np.arange(30.0, 70.0)
_HEAPED = ("normal", "two groups", "wages")
"""Only the last has heaps."""
_HEAPED_ANSWERS, _HEAPED_EPSILON = 20_000, "2"
_ROUGHNESS = (0.03, 0.06, 0.12)
_ALL_WAGES = 28_155
_FAR_MAXIMA = {
    "lognormal(6.2, 0.7)": (math.exp(6.2 + 0.7**2 / 2), 1e4),
    "25% zeros, else lognormal(4.2, 1.4)": (0.75 * math.exp(4.2 + 1.4**2 / 2), 1e5),
}
"""The mean of populations, and a maximum far above: of the first 9 people in a million are beyond, of the other 0.1."""
_FEWER_AND_MORE = (2_000, 20_000)
_SPREAD = 0.05
"""The sd of what is added to the logarithms of wages, half of the usual distance between heaps."""


@dataclass(frozen=True)
class _Case:
    population: KnownPopulation
    answers: Sequence[int]
    places: dict[str, FloatArray]
    """Where bands are compared with the truth, by what these places are called."""
    goal: Any = "distribution"
    """What the collection is asked for."""


def _middle(cdf: Any) -> FloatArray:
    return _X[(cdf(_X) > 0.02) & (cdf(_X) < 0.98)]


def _tens(x: FloatArray) -> FloatArray:
    return np.floor(x / 10).clip(0, 10) / 10


def _whole(x: FloatArray) -> FloatArray:
    """N(50, 10²), rounded to whole numbers."""
    return np.asarray(stats.norm.cdf(np.floor(x) + 0.5, 50, 10))


def _ratings(x: FloatArray) -> FloatArray:
    """From 1 to 5, which 10, 15, 20, 35 and 20% give."""
    return np.interp(np.floor(x), np.arange(6), [0.0, 0.1, 0.25, 0.45, 0.8, 1.0])


def _at_40(share: float, x: FloatArray) -> FloatArray:
    """So many have 40, the others N(38, 10²)."""
    return np.asarray(share * (np.asarray(x) >= 40) + (1 - share) * stats.norm.cdf(x, 38, 10))


def _groups(x: FloatArray) -> FloatArray:
    return np.asarray((stats.norm.cdf(x, 35, 5) + stats.norm.cdf(x, 65, 5)) / 2)


def _apart(x: FloatArray) -> FloatArray:
    return np.asarray(0.6 * stats.norm.cdf(x, 25, 4) + 0.4 * stats.norm.cdf(x, 65, 4))


def _unequal(x: FloatArray) -> FloatArray:
    return np.asarray(0.8 * stats.norm.cdf(x, 40, 5) + 0.2 * stats.norm.cdf(x, 62, 4))


def _some_at_zero(x: FloatArray) -> FloatArray:
    """A tenth have 0."""
    return np.asarray(0.1 * (np.asarray(x) >= 0) + 0.9 * stats.lognorm.cdf(x, 0.7, scale=30))


def _far(x: FloatArray) -> FloatArray:
    return np.asarray(0.9 * stats.norm.cdf(x, 20, 5) + 0.1 * stats.norm.cdf(x, 80, 8))


def _cases() -> dict[str, _Case]:
    normal, flat, heavy = stats.norm(50, 10), stats.uniform(20, 60), stats.t(2, 50, 8)
    few, many = (100, 300, 1_000, 3_000), (20_000,)
    heaps = {"at the tens": _TENS[:-1], "half-way between them": _TENS[:-1] + 5}
    beside = {"25 to 39 and 41 to 55": np.concatenate([np.arange(25.0, 40.0), np.arange(41.0, 56.0)])}
    whole = {"at whole numbers": _WHOLE, "half-way between them": _WHOLE + 0.5}
    edges = {"1 inside the edges": np.array([21.0, 79.0]), "at 30, …, 70": _TENS[2:7]}
    tails = {f"{share:.1%} of each tail": heavy.ppf([share, 1 - share]) for share in (0.001, 0.005, 0.02, 0.1)}

    def known(cdf: Any, support: Support = ANYWHERE) -> KnownPopulation:
        return KnownPopulation(cdf, _X, support)

    return {
        "N(50, 10²)": _Case(known(normal.cdf), few, {"2% to 98%": _middle(normal.cdf)}),
        "two groups": _Case(known(_groups), few, {"2% to 98%": _middle(_groups)}),
        "tens": _Case(known(_tens), many, heaps),
        "tens, declared as atoms": _Case(known(_tens, Support(atoms=tuple(_TENS))), many, heaps),
        **{
            f"{share:.0%} at 40, else N(38, 10²)": _Case(known(partial(_at_40, share)), (3_000, 20_000), beside)
            for share in (0.2, 0.3, 0.5, 0.8)
        },
        "N(50, 10²) in whole numbers": _Case(known(_whole), many, whole),
        "N(50, 10²) in whole numbers, with decimals 0": _Case(
            known(_whole, Support(decimals=0)), (3_000, 20_000), {"at whole numbers": _WHOLE}
        ),
        "Poisson(3), with minimum 0 and decimals 0": _Case(
            known(stats.poisson(3).cdf, Support(0.0, decimals=0)), (3_000, 20_000), {"at 0 to 7": np.arange(8.0)}
        ),
        "ratings from 1 to 5, with these bounds and decimals 0": _Case(
            known(_ratings, Support(1.0, 5.0, decimals=0)), (3_000, 20_000), {"at 1 to 4": np.arange(1.0, 5.0)}
        ),
        "uniform on 20 to 80": _Case(known(flat.cdf), many, edges),
        "uniform, with its bounds": _Case(known(flat.cdf, Support(20.0, 80.0)), many, edges),
        "Student t, 2 df": _Case(known(heavy.cdf), many, tails),
        "two groups, 10 sds apart": _Case(known(_apart), (3_000, 20_000), {"2% to 98%": _middle(_apart)}),
        "two groups, 10 sds apart, for the median": _Case(
            known(_apart),
            (3_000, 20_000),
            {"2% to 98%": _middle(_apart), "at the median": np.array([stats.norm.ppf(5 / 6, 25, 4)])},
            {"quantiles": [0.5]},
        ),
        "four fifths and a fifth, 22 apart with sds of 5 and 4": _Case(
            known(_unequal),
            (5_000, 20_000),
            {"2% to 98%": _middle(_unequal), "between the groups": np.array([54.0, 57.0])},
        ),
        "a tenth at 0, not declared, else lognormal, with minimum 0": _Case(
            known(_some_at_zero, Support(0.0)), (3_000, 20_000), {"at 0": np.array([0.0]), "at 10, …, 70": _TENS[:7]}
        ),
        "a tenth, far from all others": _Case(known(_far), (3_000, 20_000), {"at 95% and 98%": np.array([80.0, 86.7])}),
    }


def main(arguments: Sequence[str]) -> None:
    """Prints the tables."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    epsilon = arguments[1] if len(arguments) > 1 else _EPSILON
    columns = ("population", "answers", "where", "90% bands that cover", "RMS error of F", "band's height")
    print_table(f"Where smoothness fails: {seeds} seeds, ε = {epsilon}", columns, _rows(seeds, epsilon))
    title = f"What tells of heaps: {seeds} seeds, {_HEAPED_ANSWERS:,} answers, ε = {_HEAPED_EPSILON}"
    print_table(title, ("population", *(f"sd {roughness}" for roughness in _ROUGHNESS)), _heaped_rows(seeds))
    title = f"Wages with heaps or without: {seeds} seeds, {_HEAPED_ANSWERS:,} answers"
    print_table(title, ("ε", "divergence in nats", "found by the best test, of 100"), _told_apart_rows(seeds))
    columns = ("population", "maximum", "answers", "median of the means told", "the mean", "90% intervals that hold it")
    print_table(f"Means below a far maximum: {seeds} seeds, ε = {epsilon}", columns, _mean_rows(seeds, epsilon))


def _rows(seeds: int, epsilon: str) -> Iterator[tuple[object, ...]]:
    for name, case in _cases().items():
        runs = Parallel(n_jobs=-1)(delayed(_run)(name, epsilon, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds))
        for stage, answers in enumerate(case.answers):
            for place, where in enumerate(case.places):
                covered, error, height = np.mean([run[stage][place] for run in runs], axis=0)
                yield name, f"{answers:,}", where, f"{covered:.0%}", f"{np.sqrt(error):.4f}", f"{height:.4f}"


def _run(name: str, epsilon: str, seed: int) -> list[list[tuple[float, float, float]]]:
    """For each number of answers and each kind of places: the share covered, the mean squared error, the height."""
    case, rng, found = _cases()[name], np.random.default_rng(seed), []
    learner = learner_on(case.population.support, epsilon, seed, case.goal)
    with threadpool_limits(1):
        for answers in case.answers:
            while learner.answers < answers:
                queries = learner.pool()
                size = min(answers, int(learner.renew_at)) - learner.answers
                learner.learn_counts(_answers(rng, queries, case.population, size))
            posterior = learner.distribution
            found.append([_compared(posterior.cdf(x), case.population.cdf(x)) for x in case.places.values()])
    return found


def _compared(shares: Any, truth: FloatArray) -> tuple[float, float, float]:
    low, high = shares.interval(0.9)
    covered = (low <= truth) & (truth <= high)
    return float(covered.mean()), float(np.square(shares.mean - truth).mean()), float((high - low).mean())


def _answers(rng: np.random.Generator, queries: Sequence[Query], population: KnownPopulation, size: int) -> Counts:
    """Counts of so many people's answers, the queries in turn."""
    table: Counts = {}
    for turn, query in enumerate(queries):
        people = len(range(turn, size, len(queries)))
        table = merge_counts(table, {query: rng.multinomial(people, population.chances(query))})
    return {query: row for query, row in table.items() if row.any()}


def _heaped_rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for name in _HEAPED:
        runs = Parallel(n_jobs=-1)(delayed(_gains)(name, seed) for seed in range(FIRST_SEED, FIRST_SEED + seeds))
        found = np.array(runs)
        yield name, *(f"{gain:.1f} ± {sd:.1f}" for gain, sd in zip(found.mean(axis=0), found.std(axis=0), strict=True))


def _gains(name: str, seed: int) -> FloatArray:
    """By how much the evidence is greater with each roughness than without, in nats."""
    population = populations()[name]
    with threadpool_limits(1):
        learner, _ = collection(population, _HEAPED_ANSWERS, _HEAPED_EPSILON, seed)
        smooth, *rough = (_log_evidence(learner.counts, population.support, sd) for sd in (0.0, *_ROUGHNESS))
        return np.array(rough) - smooth


def _told_apart_rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for epsilon in ("1", "2"):
        runs = Parallel(n_jobs=-1)(delayed(_divergence)(epsilon, FIRST_SEED + seed) for seed in range(seeds))
        found = float(np.mean(runs))
        yield epsilon, f"{found:.2f}", f"{100 * stats.norm.cdf(np.sqrt(2 * found) - stats.norm.ppf(0.95)):.0f}"


def _divergence(epsilon: str, seed: int) -> float:
    """How far the answers of the wages diverge from those of the same wages without heaps, in nats."""
    heaped = populations()["wages"]
    wages, people = np.unique(heaped.draw(np.random.default_rng(0), _ALL_WAGES), return_counts=True)

    def spread(x: FloatArray) -> FloatArray:
        standard = (np.log(np.maximum(x, 1e-9))[:, np.newaxis] - np.log(wages)) / _SPREAD
        return np.asarray(stats.norm.cdf(standard) @ people / _ALL_WAGES)

    with threadpool_limits(1):
        learner, _ = collection(heaped, _HEAPED_ANSWERS, epsilon, seed)
    with_heaps, without = (KnownPopulation(cdf, wages, heaped.support) for cdf in (heaped.cdf, spread))
    total = 0.0
    for query, row in learner.counts.items():
        chances = with_heaps.chances(query)
        total += float(row.sum() * (chances * np.log(chances / without.chances(query))).sum())
    return total


def _mean_rows(seeds: int, epsilon: str) -> Iterator[tuple[object, ...]]:
    for name, (mean, far) in _FAR_MAXIMA.items():
        for maximum, size in itertools.product((None, far), _FEWER_AND_MORE):
            each = range(FIRST_SEED, FIRST_SEED + seeds)
            runs = Parallel(n_jobs=-1)(delayed(_mean_told)(name, maximum, size, epsilon, seed) for seed in each)
            low, middle, high = np.array([found for found in runs if found]).T
            held = (low <= mean) & (mean <= high)
            given = "none" if maximum is None else f"{maximum:,.0f}"
            yield name, given, f"{size:,}", f"{np.median(middle):.0f}", f"{mean:.0f}", f"{held.mean():.0%}"


def _mean_told(name: str, maximum: float | None, size: int, epsilon: str, seed: int) -> list[float]:
    """The 5, 50 and 95% quantiles of the mean after so many answers; empty where it is left out."""
    population = populations()[name]
    with threadpool_limits(1):
        support = replace(population.support, maximum=maximum)
        learner, _ = collection(replace(population, support=support), size, epsilon, seed)
        found = learner.distribution.mean_value
        return [] if found is None else np.quantile(found.values, [0.05, 0.5, 0.95]).tolist()


def _log_evidence(counts: Counts, support: Support, roughness: float) -> float:
    """The log evidence around a fitted base, up to a constant, with so large an sd of all cosines besides."""
    base = fit_base(counts, support)
    deviations = Deviations(base, support)
    deviations.scales[:, -COSINES:] = np.hypot(SCALES, roughness)
    normal, expansion = approximate(MassLikelihood.of(counts, base, BINS, support), deviations)
    heights = expansion(deviations.masses(deviations.scales * normal.means)) - 0.5 * np.square(normal.means).sum(axis=1)
    determinants = np.log(np.diagonal(normal.roots, axis1=1, axis2=2)).sum(axis=1)
    return float(np.logaddexp.reduce(heights + LOG_PRIOR - determinants))


if __name__ == "__main__":
    main(sys.argv[1:])
