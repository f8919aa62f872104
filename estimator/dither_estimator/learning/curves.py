"""Curves for display: the density of each parameter, and the population's density with its uncertainty."""

from dataclasses import dataclass

import numpy as np

from dither_client.posterior.wire import QUANTILES
from dither_estimator.families import FloatArray, Parameter
from dither_estimator.learning.population import Population
from dither_estimator.weighted.moments import weighted_mean
from dither_estimator.weighted.sample import systematic_sample, weighted_quantiles

__all__ = ["Curve", "PopulationCurve", "parameter_density", "population_curve"]

_POINTS = 96
_SHOWN_POINTS = 192
"""The points of a population's density: so many that no corner is seen between them."""
_MAX_PARTICLES = 1_000
"""The most particles from which a curve is computed; more would not change what is seen."""
_SHOWN_LEVELS = np.array([0.005, 0.03, 0.25, 0.5, 0.75, 0.97, 0.995])
"""Quantiles of the population that say what is shown: from the first to the last, or less of a long tail."""
_LONG_TAIL = 4.0
"""A tail that is longer than the other by this factor would leave no room for the rest."""
_HARDLY_ANYBODY = 0.001
"""The share of the people below 0 up to which a logarithmic axis may leave them out."""
_MAX_WIDTH = 1e300
_MOST_ORDERS = 1e12
"""The largest value by the least on a logarithmic axis: with more orders of magnitude nothing could be read."""
_WIDEST = 1e4
"""A linear axis that is longer than what half of the people have by this factor would show nothing of them."""
_STEEP = 20.0
"""The largest value by the least up to which a linear axis leaves room for all."""
_MAX_INTEGERS = 400
"""The most steps between the integers that are shown; of more, only every second, third, ... is."""


@dataclass(frozen=True)
class Curve:
    """A density at points `x`, both of shape (n,)."""

    x: FloatArray
    density: FloatArray


@dataclass(frozen=True)
class PopulationCurve:
    """The posterior of the population's density at `x` (n,), in the values' own units.

    `quantiles` maps the names used in every summary to pointwise posterior quantiles, shape (n,); for discrete families
    they are quantiles of each value's probability. On a logarithmic axis they are of the density per doubling of the
    value, so that areas under it are shares there, too.
    """

    x: FloatArray
    quantiles: dict[str, FloatArray]
    logarithmic: bool
    """Whether the axis should be logarithmic: on a linear one the upper tail would leave no room for the rest."""


def parameter_density(parameter: Parameter, values: FloatArray, weights: FloatArray) -> Curve:
    """The density of particles `values` (n,) with normalised `weights` (n,), between about their 0.1% and 99.9%.

    A Gaussian kernel estimate in the unconstrained coordinate, with Silverman's bandwidth for the effective sample size
    (Silverman 1986, equation 3.31).
    """
    values, weights = _fewer(values[:, np.newaxis], weights)
    coordinate = parameter.unconstrain(values[:, 0])
    low, first, third, high = weighted_quantiles(coordinate, weights, [0.001, 0.25, 0.75, 0.999])
    deviation = float(np.sqrt(weights @ (coordinate - weighted_mean(coordinate, weights)) ** 2))
    spread = min(deviation, (third - first) / 1.349) or deviation or abs(low) or 1.0
    bandwidth = 0.9 * spread * (1.0 / np.sum(weights**2)) ** -0.2
    at = np.linspace(low - 2 * bandwidth, high + 2 * bandwidth, _POINTS)
    kernels = np.exp(-0.5 * ((at[:, np.newaxis] - coordinate) / bandwidth) ** 2)
    density = kernels @ weights / (bandwidth * np.sqrt(2 * np.pi))
    return Curve(parameter.constrain(at), density * np.exp(-parameter.log_jacobian(at)))


def population_curve(population: Population, decimals: int | None = None) -> PopulationCurve | None:
    """The population's density, between the tails; a logarithmic axis begins no lower than values have `decimals`.

    None if the posterior is so wide that nothing could be read, or that floating point cannot tell apart the points.
    """
    shown = _shown(population, 0.0 if decimals is None else 10.0**-decimals)
    if shown is None:
        return None
    x, logarithmic = shown
    densities = population.density(x).values
    if logarithmic:
        densities = densities * (x * np.log(2))
    if not np.isfinite(densities).all():
        return None
    quantiles = np.quantile(densities, list(QUANTILES.values()), axis=0, method="hazen")
    return PopulationCurve(x, dict(zip(QUANTILES, quantiles, strict=True)), logarithmic)


def _shown(population: Population, finest: float) -> tuple[FloatArray, bool] | None:
    """The points at which the population is shown, evenly spaced on an axis, and whether that is logarithmic.

    Nobody has a value between 0 and `finest`, so a logarithmic axis begins there, whatever the tail is taken to be.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, low, first, middle, third, high, highest = population.points(_SHOWN_LEVELS).tolist()
        left, right = middle - lowest, highest - middle
    if (
        not population.discrete
        and right > _LONG_TAIL * left
        and (positive := _positive(population, finest)) is not None
    ):
        least, highest = positive
        if highest > _STEEP * least:
            x = np.geomspace(least, highest, 2 * _SHOWN_POINTS + 1)[1::2]
            return (x, True) if (np.diff(x) > 0).all() else None
    elif right > _LONG_TAIL * left:
        highest = high
    elif left > _LONG_TAIL * right:
        lowest = low
    if not np.isfinite([lowest, highest]).all() or highest - lowest > _MAX_WIDTH:
        return None
    if population.discrete:
        step = max(1.0, np.ceil((highest - lowest) / _MAX_INTEGERS))
        x = np.arange(lowest, highest + step, step)
    else:
        if third > first and highest - lowest > _WIDEST * (third - first):
            return None
        edges = np.linspace(lowest, highest, _SHOWN_POINTS + 1)
        x = (edges[1:] + edges[:-1]) / 2
    return (x, False) if (np.diff(x) > 0).all() else None


def _positive(population: Population, finest: float) -> tuple[float, float] | None:
    """The ends of what is shown of the people above 0, who have `finest` at least.

    None if some lie below 0, or hardly any above. The share at 0 or below is that of the mean distribution, whose
    quantiles `points` are where people have 0 exactly.
    """
    at_zero = population.cdf(np.array([np.nextafter(0.0, -1.0), 0.0])).values
    below, upto = float(np.median(at_zero[:, 0])), float(np.mean(at_zero[:, 1]))
    if below > _HARDLY_ANYBODY or upto > 1 - _HARDLY_ANYBODY:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, *_, highest = population.points(upto + (1 - upto) * _SHOWN_LEVELS).tolist()
    least = max(lowest, finest)
    return (least, highest) if 0 < least < highest < _MOST_ORDERS * least else None


def _fewer(theta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thin the particles (n, d) to `_MAX_PARTICLES` by a systematic sample with equal weights, if there are more."""
    if len(weights) <= _MAX_PARTICLES:
        return theta, weights
    return theta[systematic_sample(weights, _MAX_PARTICLES)], np.full(_MAX_PARTICLES, 1.0 / _MAX_PARTICLES)
