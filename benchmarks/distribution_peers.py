"""Other ways to learn a whole distribution at the same ε, on the populations of `benchmarks.any_distribution`.

    python -m benchmarks.distribution_peers [SEEDS [RESPONDENTS,… [EPSILON,…]]]

Each needs a range before anybody answers, and what lies beyond it counts as its end. The tight one is from the
population's 0.1% to its 99.9% quantile, or to the bounds where they are declared; the other is ten times as wide, with
the same middle, or from the same minimum where that alone is declared. People and seeds are those of
`benchmarks.any_distribution`. Each cell has two errors: the RMS over seeds of the largest distance between estimated
and true distribution function, over the population's thousandths; and the mean distance between their quantiles at the
same levels (Wasserstein-1), in interquartile ranges of the population. Within bins distribution functions are straight.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.any_distribution import Population, populations
from benchmarks.peers.square_wave import SquareWave, fit_shares
from benchmarks.peers.unary_histograms import flat_shares, tree_shares
from dither_estimator.families import FloatArray
from testing.tables import print_table

__all__ = ["PEERS", "distribution_function", "errors", "main", "range_of"]

_SEEDS = 10
_RESPONDENTS = (2_000, 20_000)
_EPSILONS = ("1", "2")
_BINS = 32
_LEVELS = np.linspace(0.001, 0.999, 999)
_WIDER = {"tight": 1.0, "ten times": 10.0}

Learner = Callable[[np.random.Generator, FloatArray, float], FloatArray]


def _square_wave(people: FloatArray, epsilon: float, buckets: int) -> FloatArray:
    wave, rng = SquareWave(epsilon, buckets), np.random.default_rng(1)
    return fit_shares(wave, wave.count(wave.reports(rng, people)), 1e-3 * math.exp(epsilon))


def _runs(learn: Learner, people: FloatArray, epsilon: float) -> FloatArray:
    rng = np.random.default_rng(1)
    return np.array([learn(rng, run, epsilon) for run in people])


PEERS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "SW+EMS, 1,024 buckets": partial(_square_wave, buckets=1_024),
    "SW+EMS, 128 buckets": partial(_square_wave, buckets=128),
    f"OUE, {_BINS} bins": partial(_runs, partial(flat_shares, bins=_BINS)),
    "tree of OUE": partial(_runs, tree_shares),
}
"""Estimated shares of equal bins of [0, 1] by run, from the people of each run (row), in [0, 1], and ε."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    columns = ("population", "respondents", "ε", "range", *PEERS)
    print_table(f"Peers: {seeds} seeds", columns, _rows(seeds, respondents, epsilons))


def _rows(seeds: int, respondents: Sequence[int], epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name, population in populations().items():
        for size in respondents:
            people = np.array([population.draw(np.random.default_rng(seed), size) for seed in range(seeds)])
            for epsilon in epsilons:
                for span, wider in _WIDER.items():
                    low, high = range_of(population, wider)
                    inside = ((people - low) / (high - low)).clip(0.0, 1.0)
                    cells = [_cell(population, (low, high), learn(inside, float(epsilon))) for learn in PEERS.values()]
                    yield name, f"{size:,}", epsilon, span, *cells


def _cell(population: Population, limits: tuple[float, float], shares: FloatArray) -> str:
    worst, apart = np.array([errors(population, limits, run) for run in shares]).T
    return f"{np.sqrt((worst**2).mean()):.3f}; {np.sqrt((apart**2).mean()):.2f}"


def range_of(population: Population, wider: float) -> tuple[float, float]:
    """The range that is given beforehand, so many times as wide as the tight one."""
    quantiles, support = _quantiles(population), population.support
    low = quantiles[0] if support.minimum is None else support.minimum
    high = quantiles[-1] if support.maximum is None else support.maximum
    if support.minimum is not None and support.maximum is None:
        return low, low + wider * (high - low)
    middle, reach = (low + high) / 2, wider * (high - low) / 2
    return middle - reach, middle + reach


def errors(population: Population, limits: tuple[float, float], shares: FloatArray) -> tuple[float, float]:
    """The largest distance of the distribution function, and the mean one of quantiles in interquartile ranges."""
    edges, below = np.linspace(*limits, len(shares) + 1), distribution_function(shares)
    worst = np.abs(np.interp(population.points, edges, below) - population.cdf(population.points)).max()
    truth = _quantiles(population)
    rising = np.concatenate([[True], np.diff(below) > 0])
    apart = np.abs(np.interp(_LEVELS, below[rising], edges[rising]) - truth).mean()
    lower, upper = np.interp([0.25, 0.75], _LEVELS, truth)
    return float(worst), float(apart / (upper - lower))


def distribution_function(shares: FloatArray) -> FloatArray:
    """F at the edges of the bins; where shares are negative, the middle of the rising functions above and below.

    These are nowhere farther from a distribution function than the sums of the shares are at most.
    """
    sums = np.concatenate([[0.0], np.cumsum(shares)]).clip(0.0, 1.0)
    return (np.maximum.accumulate(sums) + np.minimum.accumulate(sums[::-1])[::-1]) / 2


def _quantiles(population: Population) -> FloatArray:
    """The population's thousandths, of its points."""
    reached = np.searchsorted(population.cdf(population.points), _LEVELS - 1e-9)
    return population.points[np.minimum(reached, len(population.points) - 1)]


if __name__ == "__main__":
    main(sys.argv[1:])
