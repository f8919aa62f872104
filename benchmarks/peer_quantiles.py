"""One quantile by noisy binary search (`peers.noisy_search`) and by Dither, from the same people at the same ε.

    python -m benchmarks.peer_quantiles [SEEDS [RESPONDENTS,… [EPSILON,…]]]

The peer needs a range beforehand, of which it searches 1,024 points, or 4,096 in the range that is ten times as
wide; ranges and populations are those of `benchmarks.distribution_peers`. Its one constant, the step of its
updates, has the value that is best for it on average over this table, of those in `_STEPS`. Dither has the quantile as
its goal and gets no range, only the bounds and atoms that are declared; its estimate is the quantile of the posterior
mean of the distribution. Errors are shares of the people: how far the estimate's level is from the one asked for, RMS
over seeds.
"""

import sys
from collections.abc import Iterator, Sequence
from time import process_time

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import Population, answers, learner_on, populations
from benchmarks.distribution_peers import range_of
from benchmarks.peers.noisy_search import binary_search, screening_search
from dither_estimator.families import FloatArray
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 6
_RESPONDENTS = (20_000,)
_EPSILONS = ("1", "2")
_LEVELS = (0.5, 0.9)
_POINTS = {"tight": 1_024, "ten times": 4_096}
_WIDER = {"tight": 1.0, "ten times": 10.0}
_STEPS = (0.125, 0.25, 0.5, 1.0, 2.0)
_STEP = 0.25
_STEP_SEEDS = 2
"""How many seeds show which step is best."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table, and what other steps would give."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    peers = [f"{name}, {span}" for span in _POINTS for name in ("screening search", "binary search")]
    columns = ("population", "level", "respondents", "ε", *peers, "Dither", "CPU seconds of Dither")
    print_table(f"Quantiles: {seeds} seeds", columns, _rows(seeds, respondents, epsilons))
    steps = ((f"{step:g}", *_of_step(min(seeds, _STEP_SEEDS), respondents, epsilons, step)) for step in _STEPS)
    print_table("Screening search by its step, tight range: mean over the rows", ("step", "RMS error"), steps)


def _rows(seeds: int, respondents: Sequence[int], epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name, population in populations().items():
        for size in respondents:
            people = _people(population, seeds, size)
            for epsilon in epsilons:
                for level in _LEVELS:
                    peers = []
                    for span in _POINTS:
                        places = _screened(population, span, people, level, float(epsilon), _STEP)
                        peers += [places, _halved(population, span, people, level, float(epsilon))]
                    tasks = [delayed(_run)(name, run, epsilon, level, seed) for seed, run in enumerate(people)]
                    runs = Parallel(n_jobs=-1)(tasks)
                    own, seconds = np.array(runs).T
                    shown = [f"{_rms(population, found, level):.4f}" for found in (*peers, own)]
                    yield name, level, f"{size:,}", epsilon, *shown, f"{seconds.mean():.1f}"


def _of_step(seeds: int, respondents: Sequence[int], epsilons: Sequence[str], step: float) -> tuple[str]:
    found = [
        _rms(
            population,
            _screened(population, "tight", _people(population, seeds, size), level, float(epsilon), step),
            level,
        )
        for population in populations().values()
        for size in respondents
        for epsilon in epsilons
        for level in _LEVELS
    ]
    return (f"{np.mean(found):.4f}",)


def _people(population: Population, seeds: int, size: int) -> FloatArray:
    return np.array([population.draw(np.random.default_rng(seed), size) for seed in range(seeds)])


def _screened(
    population: Population, span: str, people: FloatArray, level: float, epsilon: float, step: float
) -> FloatArray:
    grid = _grid(population, span)
    rng, places = np.random.default_rng(1), np.searchsorted(grid, people)
    return grid[screening_search(rng, places, len(grid), level, epsilon, step)]


def _halved(population: Population, span: str, people: FloatArray, level: float, epsilon: float) -> FloatArray:
    grid = _grid(population, span)
    rng, places = np.random.default_rng(1), np.searchsorted(grid, people)
    return grid[binary_search(rng, places, len(grid), level, epsilon)]


def _grid(population: Population, span: str) -> FloatArray:
    return np.linspace(*range_of(population, _WIDER[span]), _POINTS[span] + 1)[1:]


def _run(name: str, people: FloatArray, epsilon: str, level: float, seed: int) -> tuple[float, float]:
    """Dither's estimate, and the CPU seconds of its learner."""
    with threadpool_limits(1):
        rng, learner = (
            np.random.default_rng([seed, 1]),
            learner_on(populations()[name].support, epsilon, seed, {"quantiles": [level]}),
        )
        began, asking = process_time(), 0.0
        while learner.answers < len(people):
            queries = learner.pool()
            before = process_time()
            found = answers(rng, queries, people[learner.answers : int(learner.renew_at)])
            asking += process_time() - before
            learner.learn_counts(found)
        estimate = learner.distribution.mean.quantile(np.array([level])).values[0, 0]
        return float(estimate), process_time() - began - asking


def _rms(population: Population, estimates: FloatArray, level: float) -> float:
    """The root mean square of how far levels are from the one asked for: from the nearest that the value has."""
    upto, below = population.cdf(estimates), population.cdf(np.nextafter(estimates, -np.inf))
    return float(np.sqrt(np.square(np.maximum(np.maximum(below - level, level - upto), 0.0)).mean()))


if __name__ == "__main__":
    main(sys.argv[1:])
