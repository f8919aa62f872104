"""What a posterior says about several numbers of each person: every one of them, correlations, and regressions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from dither_client import Transform
from dither_client.posterior.wire import QUANTILES, ComponentReply, ParameterSummary, Regression
from dither_estimator.dependence.joint_likelihood import JointCounts
from dither_estimator.dependence.margins import DrawnMargin, FamilyMargin
from dither_estimator.dependence.posterior import JointPosterior, estimate_dependence
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import (
    QUANTILE_LEVELS,
    Unscaled,
    bands,
    population_fields,
    quantile_summaries,
    summary_of,
)
from dither_estimator.learning.population import DistributionPopulation, FamilyPopulation
from dither_estimator.learning.summarise import summarise
from dither_estimator.learning.summary import Posterior
from dither_estimator.nonparametric.distribution import Draws
from dither_estimator.particles.system import ParticleSystem

__all__ = ["Part", "SeveralNumbers", "column_names", "estimate_several_numbers"]

_REGRESSION_DRAWS = 200
_PLACES = np.linspace(-2.3, 2.3, 17)
"""Regressions are given at values with these normal scores: all but one person in fifty lie between them."""
_SCORES = np.linspace(-5.0, 5.0, 201)
"""Where quantile functions are tabulated, in normal scores; between them they are interpolated."""
_BEYOND = 1e-7
"""The least distance of a share from 0 and 1 whose score is taken."""


@dataclass(frozen=True)
class Part:
    """One of the numbers: its name, its scale, and the posterior given the answers about it alone."""

    name: str
    transform: Transform
    alone: Posterior
    system: ParticleSystem | None
    """The particles of its family's parameters, if it has a family."""


@dataclass(frozen=True)
class SeveralNumbers(Unscaled):
    """The posterior of all numbers and of their correlations, given every answer."""

    parts: tuple[Part, ...]
    populations: tuple[FamilyPopulation | DistributionPopulation, ...]
    """Each number's distribution; equally numbered draws of all of them and of the correlations belong together."""
    joint: JointPosterior

    def fields(self) -> dict[str, Any]:
        names = [part.name for part in self.parts]
        pairs = combinations(range(len(names)), 2)
        return {
            "components": {part.name: self._component(number) for number, part in enumerate(self.parts)},
            "correlations": {f"{names[i]},{names[j]}": self._correlation(i, j) for i, j in pairs},
            "regressions": self._regressions(),
        }

    def summaries(self) -> dict[str, ParameterSummary]:
        names = [part.name for part in self.parts]
        medians = {
            f"{part.name}.quantile_0.5": each
            for part, population in zip(self.parts, self.populations, strict=True)
            for each in quantile_summaries(population, (0.5,)).values()
        }
        pairs = combinations(range(len(names)), 2)
        return medians | {f"{names[i]},{names[j]}": self._correlation(i, j) for i, j in pairs}

    def draws(self) -> FloatArray:
        """Equally likely draws of each number's parameters or quantiles, and of the correlations, shape (n, D)."""
        size = len(self.joint.correlations)
        numbers = [
            population.theta
            if isinstance(population, FamilyPopulation)
            else population.quantile(np.array(_levels(part))).values
            for part, population in zip(self.parts, self.populations, strict=True)
        ]
        rows, columns = np.triu_indices(len(self.parts), 1)
        return np.concatenate([*numbers, self.joint.correlations[:, rows, columns].reshape(size, -1)], axis=1)

    def _component(self, number: int) -> ComponentReply:
        part, population = self.parts[number], self.populations[number]
        found = part.alone.part()
        if isinstance(population, FamilyPopulation):
            weights = np.full(len(population.theta), 1 / len(population.theta))
            parameters, covariance = summarise(population.family.names, population.theta, weights)
            found = replace(found, posterior=parameters, covariance=tuple(map(tuple, covariance.tolist())))
        return replace(found, **_without_categories(population_fields(population, part.alone.levels, part.alone.above)))

    def _correlation(self, first: int, second: int) -> ParameterSummary:
        found = summary_of(self.joint.correlation(first, second))
        assert found is not None  # correlations are finite
        return found

    def _regressions(self) -> dict[str, Regression]:
        """Those of each number by each other one, while the posterior is no wider than floating point can hold."""
        rows = np.linspace(0, len(self.joint.correlations) - 1, _REGRESSION_DRAWS).astype(int)
        populations = [population.at(rows) for population in self.populations]
        with np.errstate(over="ignore", invalid="ignore"):
            tables = [population.quantile(ndtr(_SCORES)).values for population in populations]
            places = [population.points(ndtr(_PLACES)) for population in populations]
        told = [number for number, table in enumerate(tables) if np.isfinite(table).all()]
        known = {n: _known(populations[n], place) for n, place in enumerate(places) if np.isfinite(place).all()}
        found = {}
        for target, given in product(told, known):
            if target == given:
                continue
            x, scores = known[given]
            rho = self.joint.correlation(target, given)[rows, np.newaxis]
            lines = {
                name: bands(Draws(_interpolated(tables[target], rho * scores + np.sqrt(1 - rho**2) * ndtri(share))))
                for name, share in QUANTILES.items()
            }
            found[f"{self.parts[target].name},{self.parts[given].name}"] = Regression(tuple(x.tolist()), **lines)
        return found


def _known(population: FamilyPopulation | DistributionPopulation, place: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values (k,) about these places, and their normal scores in each draw (n, k)."""
    x = np.array([float(f"{value:.7g}") for value in np.unique(place)])
    return x, ndtri(np.clip(population.cdf(x).values, _BEYOND, 1 - _BEYOND))


def column_names(names: Sequence[str], columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of the columns of `SeveralNumbers.draws`, given those of each number alone."""
    own = [f"{name}.{column}" for name, some in zip(names, columns, strict=True) for column in some]
    return (*own, *(f"{first},{second}" for first, second in combinations(names, 2)))


def estimate_several_numbers(
    rng: np.random.Generator,
    parts: Sequence[Part],
    counts: JointCounts,
    n_particles: int,
) -> SeveralNumbers:
    """The posterior given that of each number alone, and answers about several."""
    margins = [_margin(part) for part in parts]
    joint = estimate_dependence(rng, margins, counts, n_particles)
    populations = tuple(map(_population, parts, margins, joint.margins))
    return SeveralNumbers(tuple(parts), populations, joint)


def _margin(part: Part) -> FamilyMargin | DrawnMargin:
    if part.system is not None:
        return FamilyMargin(part.system)
    population = part.alone.population
    assert isinstance(population, DistributionPopulation)
    return DrawnMargin(partial(_shares_below, population, part.transform))


def _population(
    part: Part, margin: FamilyMargin | DrawnMargin, states: FloatArray
) -> FamilyPopulation | DistributionPopulation:
    """The number's distribution in each of these states (n, s)."""
    if isinstance(margin, FamilyMargin):
        family = margin.system.prior.family
        return FamilyPopulation(family, part.transform, family.constrain(states))
    population = part.alone.population
    assert isinstance(population, DistributionPopulation)
    return population.at(margin.rows(states))


def _shares_below(population: DistributionPopulation, transform: Transform, cuts: FloatArray) -> FloatArray:
    """The share of the population at or below each cut (k,) on the transformed scale, by draw."""
    with np.errstate(over="ignore"):
        own = np.exp(cuts) if transform == "log" else cuts
    if not len(own):
        return np.empty((len(population.cdf(np.zeros(1)).values), 0))
    return population.cdf(own).values


def _levels(part: Part) -> list[float]:
    return sorted({*QUANTILE_LEVELS, *part.alone.levels})


def _without_categories(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "categories"}


def _interpolated(table: FloatArray, scores: FloatArray) -> FloatArray:
    """Each row's quantile function, tabulated at `_SCORES`, at the row's own scores (n, k)."""
    place = np.clip((scores - _SCORES[0]) / (_SCORES[1] - _SCORES[0]), 0, len(_SCORES) - 1 - 1e-9)
    left = place.astype(int)
    low, high = (np.take_along_axis(table, some, axis=1) for some in (left, left + 1))
    return low + (place - left) * (high - low)
