"""All groups taken as one: where they are, and in which units they may differ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts, counts_beyond, merge_counts
from dither_estimator.particles.system import ParticleSystem, init, update
from dither_estimator.priors.prior import Prior

__all__ = ["Units", "member_units", "pooled_fit", "units_of", "unknown"]

_PARTICLES = 400
_QUERIES = 300
"""The most questions from which the fit, which only gives a start and units, is made."""
_SURE = 1.2
"""Groups are told apart once the fit knows each coordinate to this many of its units, in sd."""
_CENTRAL, _CENTRAL_SDS = (0.05, 0.95), 3.29
"""The quantiles by which it is told how well a coordinate is known, and how many sds of a normal are between them: a
single particle very far away does not count."""


@dataclass(frozen=True)
class Units:
    """Where the pooled fit lies, and how wide it is: the origin and the unit of each coordinate, shape (d,)."""

    centre: FloatArray
    unit: FloatArray


def pooled_fit(
    rng: np.random.Generator, prior: Prior, tables: Sequence[Counts], earlier: ParticleSystem | None = None
) -> ParticleSystem:
    """All groups taken as one; sooner where there is an `earlier` fit, to some of the same answers."""
    pairs = [(query, row) for table in tables for query, row in table.items()]
    counts: Counts = {}
    for query, row in pairs[:: max(-(-len(pairs) // _QUERIES), 1)]:
        counts = merge_counts(counts, {query: row})
    new = None if earlier is None else counts_beyond(counts, earlier.counts)
    if earlier is None or new is None:  # other questions have been left out of the earlier one
        earlier, new = init(rng, prior, _PARTICLES), dict(counts)
    return update(rng, earlier, new) if new else earlier


def units_of(fit: ParticleSystem) -> Units:
    """Where a pooled fit lies, and how wide the member of the family is there."""
    centre = _quantiles(fit, 0.5)
    return Units(centre, member_units(fit.prior.family, centre[None])[0])


def member_units(family: Family, coordinates: FloatArray) -> FloatArray:
    """The units at coordinates (n, d), of the same shape: 1 for logarithms and logits; for a location, the scale.

    0 for a scale that floating point cannot hold.
    """
    found = np.ones(coordinates.shape)
    locations = [parameter.support == "real" for parameter in family.parameters]
    if any(locations):
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = family.quantiles(family.constrain(coordinates), np.array([0.16, 0.84])).T
            scale = np.maximum((high - low) / 2, 1e-300)
        found[:, locations] = np.where(np.isfinite(scale), scale, 0.0)[:, None]
    return found


def unknown(fit: ParticleSystem, units: Units) -> bool:
    """Whether nobody knows yet where the values are, so that nothing can be told apart."""
    low, high = _quantiles(fit, _CENTRAL)
    return bool((high - low > _SURE * _CENTRAL_SDS * units.unit).any())


def _quantiles(fit: ParticleSystem, levels: float | tuple[float, ...]) -> FloatArray:
    """Quantiles of each coordinate, a row for each level."""
    return np.asarray(
        np.quantile(fit.coordinates, levels, axis=0, weights=fit.weights, method="inverted_cdf"), dtype=float
    )
