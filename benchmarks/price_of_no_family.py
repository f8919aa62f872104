"""What it costs to name no family where one holds: errors of the distribution function beside those of the family.

    python -m benchmarks.price_of_no_family [SEEDS [RESPONDENTS,… [EPSILON,… [FOLDER]]]]

The same people, whose values follow the family, are asked three times: without a family, and with it for its default
goal and for `distribution`. The answers to the questions without a family are also averaged over the families alone, as
if it were known that one of them holds, but not which. Errors are the RMS over seeds of the largest distance between
the mean distribution and the truth, over the population's thousandths; ratios have the standard error of 200 resamples
of the seeds.
Runs that are done are kept in `FOLDER`, as those of `any_distribution` are.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from joblib import Memory, Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import FIRST_SEED, Population, answers, collection, populations
from dither_estimator.checks.averaging import averaged
from dither_estimator.checks.family_fits import fit_families
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import Unscaled
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.learning.recomputed_learner import SEED
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 60
_RESPONDENTS = (2_000, 20_000)
_EPSILONS = ("1", "2")
_DRAWS = 1_000
_RESAMPLES = 200
_IMPOSSIBLE = 1e3
"""Nats against having no family."""
_FAMILIES: Mapping[str, Mapping[str, str]] = {
    "normal": {"family": "normal"},
    "lognormal(6.2, 0.7)": {"family": "normal", "transform": "log"},
    "beta(5, 2)": {"family": "beta"},
}
"""The family of each population that has one."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    run = Memory(arguments[3] if len(arguments) > 3 else None, verbose=0).cache(_run)
    columns = (
        *("population", "respondents", "ε", "error without a family", "of some family", "of the family"),
        *("ratios without", "of some", "of the family, goal distribution", "ratios without", "of some"),
    )
    print_table(f"The price of no family: {seeds} seeds", columns, _rows(run, seeds, respondents, epsilons))


def _rows(
    run: Callable[[str, int, str, int], FloatArray], seeds: int, respondents: Sequence[int], epsilons: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    for name in _FAMILIES:
        for size in respondents:
            for epsilon in epsilons:
                each = range(FIRST_SEED, FIRST_SEED + seeds)
                found = np.array(Parallel(n_jobs=-1)(delayed(run)(name, size, epsilon, seed) for seed in each))
                without, some, usual, whole = (f"{error:.4f}" for error in _rms(found))
                ratios = [
                    [f"{ratio:.2f} ± {error:.2f}" for ratio, error in zip(*_ratios(found, to), strict=True)]
                    for to in (2, 3)
                ]
                yield name, f"{size:,}", epsilon, without, some, usual, *ratios[0], whole, *ratios[1]


def _rms(errors: FloatArray) -> FloatArray:
    return np.sqrt((errors**2).mean(axis=-2))


def _ratios(errors: FloatArray, to: int) -> tuple[FloatArray, FloatArray]:
    """The first two columns of errors (n, 4) over one of the others, with standard errors."""
    rng = np.random.default_rng(0)
    again = _rms(errors[rng.integers(len(errors), size=(_RESAMPLES, len(errors)))])
    found = _rms(errors)
    return found[:2] / found[to], (again[:, :2] / again[:, to, np.newaxis]).std(axis=0)


def _run(name: str, size: int, epsilon: str, seed: int) -> FloatArray:
    """The errors without a family, with one of all, with the right one, and with it for the goal `distribution`."""
    population = populations()[name]
    truth = population.cdf(population.points)
    with threadpool_limits(1):
        learner, _ = collection(population, size, epsilon, seed)
        means = [learner.distribution.cdf(population.points).mean, _of_some_family(learner, population)]
        for goal in ({}, {"goal": "distribution"}):
            fields = {**_FAMILIES[name], "epsilon": epsilon, "particles": _DRAWS, **goal}
            means.append(_asked(Learner(Specification.from_json(fields), seed), population, size, seed))
    return np.array([np.abs(mean - truth).max() for mean in means])


def _of_some_family(learner: NonparametricLearner, population: Population) -> FloatArray:
    """The mean distribution function that a learner would find if having no family were out of the question."""
    rng, counts = np.random.default_rng(SEED), learner.counts
    without = estimate_distribution(rng, counts, population.support, _DRAWS)
    fits = fit_families(counts, without)
    impossible = min(fit.log_evidence for fit in fits.fits) - _IMPOSSIBLE
    return averaged(rng, without, counts, replace(fits, none=impossible)).cdf(population.points).mean


def _asked(learner: Learner, population: Population, size: int, seed: int) -> FloatArray:
    """The mean distribution function that a learner has found after asking the people of `collection`."""
    rng = np.random.default_rng(seed)
    drawn = population.draw(rng, size)
    values = np.log(drawn) if learner.specification.transform == "log" else drawn
    while learner.answers < size:
        queries = learner.pool()
        learner.learn_counts(answers(rng, queries, values[learner.answers : int(learner.renew_at)]))
    found = learner.posterior().population
    assert not isinstance(found, Unscaled)
    return found.cdf(population.points).mean


if __name__ == "__main__":
    main(sys.argv[1:])
