"""How many respondents a given precision needs without a family: found by collecting from the population in mind.

There the precision depends on the shape, and no formula has all of what a collection does: it looks for the place, asks
about cells that it knows roughly, and its prior is worth many answers in places. So a few collections are simulated,
answer counts drawn question by question, and what their posteriors say is read off.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from dither_estimator.design.design import DesignError
from dither_estimator.design.goal import Goal
from dither_estimator.families import FloatArray
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.planning.foreseen import (
    MAX_RESPONDENTS,
    Foreseen,
    check_enough,
    enough,
    first_enough,
    medians,
    sds_at,
    shared,
)
from dither_estimator.specification.specification import Specification

__all__ = ["Wanted", "foresee", "foresee_precision", "sds_of_values"]

_COLLECTIONS = 3
_POOL = 16
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
_MIN_ANSWERS = 300
"""With fewer answers a posterior is mostly its prior, and says little of how wide it will be."""
_SLOPE_STEP = 0.02


@dataclass(frozen=True)
class Wanted:
    """The numbers whose posterior standard deviations are foreseen."""

    levels: tuple[float, ...]
    """The levels of the quantiles."""
    values: tuple[float, ...]
    """The values above which shares are asked for."""

    @classmethod
    def of(cls, goal: Goal) -> "Wanted":
        """What the goal asks for, and five quantiles."""
        return cls(tuple(sorted({*_LEVELS, *goal.levels})), goal.values)

    @property
    def names(self) -> tuple[str, ...]:
        """`distribution`, of which the sd is that of F(x), as a root mean square over the population; then the rest."""
        quantiles = (f"quantile_{level:.12g}" for level in self.levels)
        return ("distribution", *quantiles, *(f"above_{value:.12g}" for value in self.values))

    def asked(self, goal: Goal) -> tuple[str, ...]:
        """The names of what the goal asks for, among these."""
        return Wanted(goal.levels, goal.values).names[0 if goal.distribution else 1 :]

    def sds(self, learnt: Distribution, people: FloatArray) -> dict[str, float]:
        """The posterior's standard deviations, by name; `people` are values that cover the population."""
        whole = math.sqrt(float(np.square(learnt.cdf(people).sd).mean()))
        quantiles = learnt.quantile(np.array(self.levels)).sd.tolist()
        above = learnt.share_above(np.array(self.values)).sd.tolist() if self.values else []
        return dict(zip(self.names, [whole, *quantiles, *above], strict=True))


def foresee_precision(spec: Specification, population: KnownPopulation, respondents: int) -> dict[str, float]:
    """The standard deviations after so many answers, medians of three simulated collections. Raises `DesignError`."""
    if not _MIN_ANSWERS <= respondents <= MAX_RESPONDENTS:
        raise DesignError(f"without a family, give from {_MIN_ANSWERS:,} to {MAX_RESPONDENTS:,} respondents")
    return medians([_collect(spec, population, {}, respondents, seed)[-1].sds for seed in range(_COLLECTIONS)])


def foresee(spec: Specification, population: KnownPopulation, targets: Mapping[str, float]) -> Foreseen:
    """The fewest respondents with whom no sd is above its target, by three simulated collections.

    Raises `DesignError` if there would be more than `MAX_RESPONDENTS`.
    """
    collections = [_collect(spec, population, targets, MAX_RESPONDENTS, seed) for seed in range(_COLLECTIONS)]
    number = math.ceil(median(first_enough(known, targets) for known in collections))
    return Foreseen(number, medians([sds_at(number, known) for known in collections]))


def sds_of_values(population: KnownPopulation, wanted: Wanted) -> dict[str, float]:
    """The same from one value in place of n answers, times √n: what the values themselves would tell."""
    below = population.cdf(population.points)
    whole = math.sqrt(float((below * (1 - below)).mean()))
    quantiles = [_sd_of_quantile(population, level) for level in wanted.levels]
    above = population.cdf(np.array(wanted.values)) if wanted.values else np.empty(0)
    return dict(zip(wanted.names, [whole, *quantiles, *np.sqrt(above * (1 - above)).tolist()], strict=True))


def _sd_of_quantile(population: KnownPopulation, level: float) -> float:
    """`√(p (1 - p)) / f`, with the density f from quantiles nearby; 0 where so many people have the same value."""
    step = min(_SLOPE_STEP, level / 2, (1 - level) / 2)
    below, levels = population.cdf(population.points), [level - step, level + step]
    if len(set(np.searchsorted(below, levels))) == 1:
        return 0.0
    low, high = np.interp(levels, below, population.points)
    return math.sqrt(level * (1 - level)) * float(high - low) / (2 * step)


def _collect(
    spec: Specification,
    population: KnownPopulation,
    targets: Mapping[str, float],
    most: int,
    seed: int,
) -> list[Foreseen]:
    """What one collection knows at each renewal of its questions, until it knows enough or has so many answers."""
    learner, rng, wanted = NonparametricLearner(spec, seed), np.random.default_rng(seed), Wanted.of(spec.goal)
    known: list[Foreseen] = []
    while learner.answers < most:
        queries = learner.pool(_POOL)
        until = min(most, max(int(min(learner.renew_at, most)), learner.answers + len(queries)))
        for query, number in zip(queries, shared(until - learner.answers, len(queries)), strict=True):
            if number:
                learner.learn_counts({query: rng.multinomial(number, population.chances(query))})
        if learner.answers >= _MIN_ANSWERS:
            known.append(Foreseen(learner.answers, wanted.sds(learner.distribution, population.points)))
            if targets and len(known) > 1 and enough(known[-1], targets):
                break
    check_enough(known[-1], targets)
    return known
