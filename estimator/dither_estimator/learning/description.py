"""What a posterior says about the population, in the values' own units: quantiles, shares, mean, distribution."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dither_client.posterior.wire import QUANTILES, Bands, DistributionSummary, ParameterSummary, PosteriorReply
from dither_estimator.families import FloatArray
from dither_estimator.learning.population import Population
from dither_estimator.nonparametric.distribution import Draws

__all__ = [
    "POPULATION_FIELDS",
    "QUANTILE_LEVELS",
    "CategoryShares",
    "Unscaled",
    "bands",
    "number_fields",
    "number_summaries",
    "population_fields",
    "quantile_summaries",
    "summary_of",
    "with_population",
]

POPULATION_FIELDS = ("quantiles", "above", "mean_value", "distribution", "atoms", "categories")
"""The fields of `PosteriorReply` that describe the population."""
QUANTILE_LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""The levels of the quantiles that every posterior gives."""

_POINTS = 129
_OUTERMOST = 3.3
"""The normal score of the outermost points: all but a thousandth of the mass lies between them."""
_MAX_INTEGERS = 257
_DIGITS, _ALL_DIGITS = 7, 17
"""Significant digits of a distribution's numbers, more than a plot or a table shows, and those of any float."""

_SHARE_DECIMALS = 12
"""Shares smaller than that are rounding errors."""


class Unscaled(ABC):
    """A population that is no distribution of one number."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The fields of a reply that describe it."""

    @abstractmethod
    def summaries(self) -> dict[str, ParameterSummary]:
        """The numbers that are followed over time."""


@dataclass(frozen=True)
class CategoryShares(Unscaled):
    """A population of categories, which have no order and no scale: only shares."""

    names: tuple[str, ...]
    shares: FloatArray
    """Equally likely shares, shape (draws, categories)."""

    @property
    def draw_count(self) -> int:
        """The number of draws."""
        return len(self.shares)

    def at(self, rows: npt.NDArray[np.intp]) -> "CategoryShares":
        """The draws in these rows."""
        return replace(self, shares=self.shares[rows])

    def fields(self) -> dict[str, Any]:
        return {"categories": self.summaries()}

    def summaries(self) -> dict[str, ParameterSummary]:
        """The share of each category."""
        found = {name: summary_of(column) for name, column in zip(self.names, self.shares.T, strict=True)}
        return {name: summary for name, summary in found.items() if summary is not None}


def with_population(
    reply: PosteriorReply,
    population: Population | Unscaled,
    levels: Sequence[float] = (),
    above: Sequence[float] = (),
) -> PosteriorReply:
    """The reply with what it says about the population, and the quantiles and shares that a goal names.

    What floating point cannot hold, while the posterior is very wide, is left out.
    """
    reply = replace(reply, **population_fields(population, levels, above))
    if not isinstance(population, Unscaled) and (compared := population.comparison) is not None:
        reply = replace(reply, families=compared.families, verdict=compared.verdict)
    return reply


def population_fields(
    population: Population | Unscaled,
    levels: Sequence[float] = (),
    above: Sequence[float] = (),
    points: int = _POINTS,
) -> dict[str, Any]:
    """The fields `POPULATION_FIELDS` of a reply; `points` is about how many points the distribution has; 0 for none."""
    if isinstance(population, Unscaled):
        return population.fields()
    return {
        **number_fields(population, levels, above),
        "distribution": _distribution(population, points) if points else None,
        "atoms": _summaries(tuple(population.atoms), population.atom_shares.values) or None,
    }


def number_fields(population: Population, levels: Sequence[float] = (), above: Sequence[float] = ()) -> dict[str, Any]:
    """The fields of a description that are single numbers: quantiles, shares above, and the mean."""
    shares = 1 - population.cdf(np.array(above)).values if above else np.empty((0, 0))
    mean = population.mean_value
    return {
        "quantiles": quantile_summaries(population, sorted({*QUANTILE_LEVELS, *levels})),
        "above": _summaries(above, shares) or None,
        "mean_value": None if mean is None else summary_of(mean.values),
    }


def number_summaries(population: Population | Unscaled) -> dict[str, ParameterSummary]:
    """What is followed over time without a family: the shares of categories, or some quantiles, by their names."""
    if isinstance(population, Unscaled):
        return population.summaries()
    return {f"quantile_{level}": each for level, each in quantile_summaries(population).items()}


def quantile_summaries(
    population: Population, levels: Sequence[float] = QUANTILE_LEVELS
) -> dict[str, ParameterSummary]:
    """The population's quantiles by level, without those that floating point cannot hold."""
    return _summaries(levels, population.quantile(np.array(levels)).values)


def _summaries(names: Sequence[float], draws: FloatArray) -> dict[str, ParameterSummary]:
    """A summary of each column of draws (n, k), without those that floating point cannot hold."""
    if not len(names):
        return {}
    with np.errstate(over="ignore", invalid="ignore"):
        quantiles = np.quantile(draws, list(QUANTILES.values()), axis=0, method="hazen").T
    found = (_summary(*each) for each in zip(draws.T, quantiles, strict=True))
    return {f"{name:.12g}": summary for name, summary in zip(names, found, strict=True) if summary is not None}


def summary_of(draws: FloatArray) -> ParameterSummary | None:
    """Summarises draws; None if floating point cannot hold the quantiles. It may still not hold the mean and the sd."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _summary(draws, np.quantile(draws, list(QUANTILES.values()), method="hazen"))


def _summary(draws: FloatArray, quantiles: FloatArray) -> ParameterSummary | None:
    if not np.isfinite(quantiles).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        unit = float(np.abs(draws).max()) or 1.0  # so that no sum and no square overflows
        moments = [unit * float((draws / unit).mean()), unit * float((draws / unit).std())]
    mean, sd = moments if np.isfinite(moments).all() else (np.inf, np.inf)
    return ParameterSummary(mean, sd, **dict(zip(QUANTILES, quantiles.tolist(), strict=True)))


def _distribution(population: Population, points: int) -> DistributionSummary | None:
    x = _integers(population) if population.discrete else _points(population, points)
    if x is None:
        return None
    shares = Draws(population.cdf(x).values.round(_SHARE_DECIMALS))
    with np.errstate(over="ignore", invalid="ignore"):
        density = population.density(x)
    if not np.isfinite(density.values).all():
        return None
    return DistributionSummary(tuple(x.tolist()), bands(shares), bands(density))


def _points(population: Population, points: int) -> FloatArray | None:
    """About so many points at equal distances in normal score, and each step.

    None if they are no finite floats or are hardly any. Before a step is the float below it: the distribution function
    jumps in between.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.unique(population.mean_quantiles(ndtr(np.linspace(-_OUTERMOST, _OUTERMOST, points))))
        if not np.isfinite([*found, 2 * found[0], 2 * found[-1], found[-1] - found[0]]).all():
            return None
    steps = np.array([step for step in population.steps if found[0] <= step <= found[-1]])
    x = np.union1d(_shortened(np.setdiff1d(found, steps)), steps)
    if len(x) < 3 and not len(steps):
        return None
    return np.union1d(x, np.nextafter(steps, -np.inf))


def _shortened(x: FloatArray) -> FloatArray:
    """Increasing numbers, rounded to as few digits as keep them apart, but not fewer than `_DIGITS`."""
    rounded = (np.array(_plain(x, digits)) for digits in range(_DIGITS, _ALL_DIGITS))
    return next((some for some in rounded if (np.diff(some) > 0).all()), x)


def _integers(population: Population) -> FloatArray | None:
    if population.yes_or_no:
        return np.array([0.0, 1.0])
    low, high = population.mean_quantiles(ndtr(np.array([-_OUTERMOST, _OUTERMOST]))).tolist()
    if not np.isfinite([low, high]).all() or high >= 2.0**53:
        return None
    step = max(1, -(-int(high - low) // (_MAX_INTEGERS - 1)))
    return np.arange(low, high + step, step)


def bands(draws: Draws) -> Bands:
    quantiles = np.quantile(draws.values, list(QUANTILES.values()), axis=0, method="hazen")
    return Bands(_plain(draws.mean), **dict(zip(QUANTILES, map(_plain, quantiles), strict=True)))


def _plain(numbers: FloatArray, digits: int = _DIGITS) -> tuple[float, ...]:
    return tuple(float(f"{x:.{digits}g}") for x in numbers)
