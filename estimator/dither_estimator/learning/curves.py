"""Curves for people to look at: the density of each parameter, and the population's with its uncertainty."""

from dataclasses import dataclass

import numpy as np

from dither_client import Transform
from dither_client.posterior.wire import QUANTILES
from dither_estimator.families import Family, FloatArray, Parameter
from dither_estimator.learning.summary import weighted_quantiles
from dither_estimator.particles.moments import weighted_mean

__all__ = ["Curve", "PopulationCurve", "parameter_density", "population_curve", "population_quantiles"]

_POINTS = 96
_MOST = 1_000
"""Particles that a curve is made of: as many of more are enough for the eye."""
_ENDS = np.array([0.005, 0.995])
"""Quantiles of the population between which it is shown, on the scale on which the family holds."""
_LONG = np.array([0.005, 0.97])
"""The same of a logarithm's population, whose upper tail would leave no room for the rest."""
_WIDEST = 1e300
_MOST_VALUES = 400
"""Whole numbers beyond these are not shown."""


@dataclass(frozen=True)
class Curve:
    """A density at some points, both of shape (n,)."""

    x: FloatArray
    density: FloatArray


@dataclass(frozen=True)
class PopulationCurve:
    """What is known of the population's density at `x` (n,), in the values' own units.

    `quantiles` has the names of every summary, and of each the pointwise quantile over the posterior, shape (n,); of
    whole numbers it is the probability of each.
    """

    x: FloatArray
    quantiles: dict[str, FloatArray]


def parameter_density(parameter: Parameter, values: FloatArray, weights: FloatArray) -> Curve:
    """The density of particles `values` (n,) with normalised `weights` (n,), between about their 0.1% and 99.9%.

    A Gaussian kernel estimate in the unconstrained coordinate, with Silverman's bandwidth for the effective sample
    size (Silverman 1986, equation 3.31).
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


def population_curve(
    family: Family, transform: Transform, theta: FloatArray, weights: FloatArray
) -> PopulationCurve | None:
    """The population's density under particles (n, d) with normalised weights (n,).

    At each point it is the mean density of a cell of the own units' line, a difference of the distribution function,
    so it needs no derivative and is exact for whole numbers. None where the posterior is so wide that floating point
    has no room for the cells.
    """
    theta, weights = _fewer(theta, weights)
    edges = _edges(family, transform, theta, weights)
    if edges is None:
        return None
    cuts = np.log(edges) if transform == "log" else edges
    masses = np.diff(family.cdf(theta, cuts), axis=1)
    densities = masses / np.diff(edges)
    levels = list(QUANTILES.values())
    found = np.array([weighted_quantiles(column, weights, levels) for column in densities.T])
    middles = (edges[1:] + edges[:-1]) / 2
    return PopulationCurve(middles, dict(zip(QUANTILES, found.T, strict=True)))


def population_quantiles(
    family: Family, transform: Transform, theta: FloatArray, weights: FloatArray, probabilities: FloatArray
) -> FloatArray:
    """What is known of the population's own quantiles, in the values' own units, shape (k, 3), of k probabilities.

    Of each the posterior's 5%, 50% and 95% quantile, for particles (n, d) with normalised `weights` (n,).
    """
    theta, weights = _fewer(theta, weights)
    found = family.quantiles(theta, probabilities)
    if transform == "log":
        with np.errstate(over="ignore"):
            found = np.exp(found)
    return np.array([weighted_quantiles(column, weights, [0.05, 0.5, 0.95]) for column in found.T])


def _edges(family: Family, transform: Transform, theta: FloatArray, weights: FloatArray) -> FloatArray | None:
    """The edges of the cells, in the values' own units."""
    ends = family.quantiles(theta, _LONG if transform == "log" else _ENDS)
    low, high = (float(weighted_quantiles(column, weights, [0.5])[0]) for column in ends.T)
    if transform == "log":
        with np.errstate(over="ignore"):
            low, high = np.exp([low, high]).tolist()
    if not np.isfinite([low, high]).all() or high - low > _WIDEST:
        return None
    if family.discrete:
        return np.arange(low, min(high, low + _MOST_VALUES) + 2) - 0.5
    edges = np.linspace(low, high, _POINTS + 1)
    return edges if (np.diff(edges) > 0).all() and (transform == "identity" or low > 0) else None


def _fewer(theta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most `_MOST` particles (n, d): of more, a systematic sample of equal weights."""
    if len(weights) <= _MOST:
        return theta, weights
    cumulative = np.cumsum(weights)
    chosen = np.searchsorted(cumulative / cumulative[-1], (np.arange(_MOST) + 0.5) / _MOST)
    return theta[chosen], np.full(_MOST, 1.0 / _MOST)
