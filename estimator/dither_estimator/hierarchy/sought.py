"""Groups while a fit to all of them does not know yet where the values lie.

There is no unit then in which groups could differ, so nothing is learnt of how they do. The prior of a group is, in
equal parts, the collection's and a place near the others as the prior of T has it. Its own answers weigh the two.

The collection's alone would miss too often where groups are alike: questions are asked where all groups seem to be, and
a prior that is far wider than that takes noise in few answers for values far away.
"""

from collections.abc import Sequence

import numpy as np

from dither_estimator.families import Family, FloatArray
from dither_estimator.hierarchy.given_groups import DEGREES
from dither_estimator.hierarchy.pooled_fit import member_units, pooled_fit
from dither_estimator.hierarchy.scales import draw, root
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.system import ParticleSystem, init, update
from dither_estimator.priors.prior import Prior
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["groups_around", "near", "sought_groups"]

_FITS = 8
"""The most fits to other groups: a fit without an eighth of the groups stands for those without each of them."""
_MOST_PLACES, _ALL_PLACES = 20_000, 500_000
"""Places near the others that are weighed for each group, and for all of them together."""


def near(rng: np.random.Generator, fit: ParticleSystem, size: int) -> FloatArray:
    """Where a group may lie whose middle is that of a fit, apart from it as the prior of T says; shape (size, d)."""
    middles = rng.permutation(fit.coordinates[systematic_sample(fit.weights, size, rng.random())])
    return groups_around(rng, fit.prior.family, middles, 1)[:, 0]


def groups_around(rng: np.random.Generator, family: Family, middles: FloatArray, groups: int) -> FloatArray:
    """Draws `groups` groups around each of the middles (n, d), with a T from its prior; shape (n, groups, d)."""
    size, d = middles.shape
    factor = root(draw(rng, size, d), d)
    apart = np.einsum("ijn,ngj->ngi", factor, rng.standard_normal((size, groups, d)))
    apart /= np.sqrt(rng.gamma(DEGREES / 2, 2 / DEGREES, (size, groups, 1)))
    return np.asarray(middles[:, None] + member_units(family, middles)[:, None] * apart)


def sought_groups(
    rng: np.random.Generator, prior: Prior, tables: Sequence[Counts], draws: int
) -> tuple[FloatArray, FloatArray]:
    """Draws of each group (draws, groups, d), and how much of it comes from the others (groups, d)."""
    answered = [place for place, table in enumerate(tables) if table]
    parts = [answered[first::_FITS] for first in range(min(_FITS, len(answered)))]
    parts.append([place for place, table in enumerate(tables) if not table])
    size = min(_MOST_PLACES, max(draws, _ALL_PLACES // len(tables)))
    coordinates = np.empty((draws, len(tables), len(prior.parts)))
    borrowed = np.empty((len(tables), len(prior.parts)))
    for part in parts:
        others = [table for place, table in enumerate(tables) if place not in part]
        fit = pooled_fit(rng, prior, others)
        for place in part:
            coordinates[:, place], borrowed[place] = _group(rng, prior, tables[place], near(rng, fit, size), draws)
    return coordinates, borrowed


def _group(
    rng: np.random.Generator, prior: Prior, table: Counts, places: FloatArray, draws: int
) -> tuple[FloatArray, FloatArray]:
    """One group's draws (draws, d) given `places` (n, d) near the others, and what of them is borrowed (d,)."""
    system, told = init(rng, prior, draws), np.zeros(len(places))
    if table:
        system = update(rng, system, table)
        likelihood = CountLikelihood.of(prior.family, table)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            told = likelihood.log_likelihood(prior.family.constrain(places))
        told = np.where(np.isnan(told), -np.inf, told)
    log_weights = np.concatenate([system.log_weights + system.log_evidence, told - np.log(len(places))])
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    here = weights[draws:]
    chosen = rng.permutation(systematic_sample(weights, draws, rng.random()))
    found = np.concatenate([system.coordinates, places])[chosen]
    return found, here.sum() * _left(places, here / max(here.sum(), 1e-300))


def _left(places: FloatArray, weights: FloatArray) -> FloatArray:
    """How wide weighted places (n, d) are, as a share of the variance without the weights, by interquartile ranges."""
    if weights.sum() == 0:
        return np.zeros(places.shape[1])
    low, high = np.quantile(places, [0.25, 0.75], axis=0)
    after = np.quantile(places, [0.25, 0.75], axis=0, weights=weights, method="inverted_cdf")
    return np.asarray((((after[1] - after[0]) / (high - low)) ** 2).clip(0, 1))
