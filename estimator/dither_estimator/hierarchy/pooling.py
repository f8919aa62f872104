"""The posterior of all groups of a collection, from their count tables alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.chains import Chains, Target, start, sweep
from dither_estimator.hierarchy.collapsed import Rates, Sites, collapse
from dither_estimator.hierarchy.given_groups import DEGREES
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.hierarchy.pooled_fit import Units, pooled_fit, units_of, unknown
from dither_estimator.hierarchy.proposals import Proposals, find_mode
from dither_estimator.hierarchy.scales import free_coordinates, root
from dither_estimator.hierarchy.sites import LogLikelihood, matched_sites, scored_sites
from dither_estimator.hierarchy.small_matrices import apply_transposed
from dither_estimator.hierarchy.sought import near, sought_groups
from dither_estimator.likelihood.counts import Counts
from dither_estimator.particles.system import ParticleSystem, systematic_resample
from dither_estimator.priors.prior import Prior

__all__ = ["PooledDraws", "pool_groups"]

_PRIOR_DRAWS = 4_000
_MATCHES = 4
_REFITS = 2
_SETTLING, _SETTLING_OF_EACH, _MOST_SETTLING = 40, 2, 150
"""Sweeps before states are kept, more for each group, and at most: chains start with T as sites have it, which know
scales badly, and with many groups a sweep moves it little."""
_CHAINS_OF_ONE, _CHAINS = 1 << 15, (32, 2_048)
"""The fewest and the most chains; in between as many as this divided by the square of the number of groups. A chain
gives several draws: of a group hardly anything remains after a sweep, and then fewer chains can settle."""
_GROUPS_TOGETHER = 256
"""With more groups the step with every group carried along is rarely accepted, and is taken in fewer sweeps."""
_SLOPE_SD = 0.5
"""The prior sd of a slope, in units of the pooled fit."""
_DIFFERENCE = 1e-3
_BLOCK_SIZE = 1 << 14
"""Values of T times groups that are weighed together, so that all their numbers stay in the cache."""
_TRIED = 256
"""Values of T that are weighed at once; the chains start from them."""


@dataclass(frozen=True)
class PooledDraws:
    """Equally likely draws of all groups together."""

    coordinates: FloatArray = field(repr=False)
    """Unconstrained coordinates, shape (draws, groups, d)."""
    borrowed: FloatArray
    """How much of each group's estimate comes from the others, 0 to 1, shape (groups, d)."""
    between: FloatArray
    """The standard deviation of the groups' coordinates, draw by draw, shape (draws, d)."""
    together: float
    """The share of proposals of what groups share that were accepted in the sweeps that were kept."""
    alone: float
    """The share of proposals of single groups."""


def pool_groups(
    rng: np.random.Generator,
    prior: Prior,
    tables: Sequence[Counts],
    draws: int,
    z: FloatArray | None = None,
    units: Units | None = None,
    sweeps: int | None = None,
    for_questions: bool = False,
) -> PooledDraws:
    """The posterior given one count table for each group.

    `prior` is that of the middle of the groups. `z` (groups,) is what their middles may depend on. `units` are by
    default those of a pooled fit; `sweeps` are made before states of the chains become draws, by default enough for so
    many groups. While a pooled fit does not know where the values are, they are those of `sought_groups`, which learns
    nothing of how groups differ; with `for_questions` all groups are then looked for around the pooled fit, which finds
    them with fewer answers.
    """
    size, d = len(tables), len(prior.parts)
    if units is None:
        fit = pooled_fit(rng, prior, tables)
        units = units_of(fit)
        if unknown(fit, units):
            found = _around(rng, fit, size, draws) if for_questions else sought_groups(rng, prior, tables, draws)
            return PooledDraws(*found, found[0].std(axis=1, ddof=1), 1.0, 1.0)
    likelihood = GroupLikelihood.of(prior.family, tables)

    def log_likelihood(v: FloatArray) -> FloatArray:
        return likelihood.log_likelihood(_outer(units, v))

    def told(v: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = units.centre[:, None] + units.unit[:, None] * v
        score, information = likelihood.score_and_information(at, _DIFFERENCE * units.unit)
        return score * units.unit, information * np.outer(units.unit, units.unit)

    rates = _rates(rng, prior, units, z, size)
    sites, proposals, weights = _fitted(log_likelihood, scored_sites(told, d, size), rates)
    chains = min(draws, int(np.clip(_CHAINS_OF_ONE // size**2, *_CHAINS)))
    free, proposals = _first(rng, sites, rates, proposals, weights, chains)
    target = Target(log_likelihood, sites, rates, proposals, _prior_ratio(prior, units, rates))
    states = _states(rng, target, free, weights)
    if sweeps is None:
        sweeps = min(_SETTLING + _SETTLING_OF_EACH * size, _MOST_SETTLING)
    return _read(list(islice(states, sweeps, sweeps - (-draws // chains))), draws, units, sites)


def _states(rng: np.random.Generator, target: Target, free: FloatArray, weights: FloatArray) -> Iterator[Chains]:
    """What the chains go through from free coordinates (k, f) of T, given weights (groups,) to start with."""
    state = start(rng, target, free, weights)
    every = 1 + len(weights) // _GROUPS_TOGETHER
    for number in count():
        yield (state := sweep(rng, target, state, together=number % every == 0))


def _around(rng: np.random.Generator, fit: ParticleSystem, size: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Groups around a pooled fit, as `sought_groups` has them: where to ask, not what is known of a group."""
    found = near(rng, fit, draws * size).reshape(draws, size, -1)
    return found, np.ones(found.shape[1:])


def _outer(units: Units, v: FloatArray) -> FloatArray:
    return np.asarray(units.centre[:, None, None] + units.unit[:, None, None] * v)


def _rates(rng: np.random.Generator, prior: Prior, units: Units, z: FloatArray | None, size: int) -> Rates:
    drawn = (prior.sample(rng, _PRIOR_DRAWS) - units.centre) / units.unit
    slopes = 0 if z is None else 1
    mean = np.concatenate([drawn.mean(axis=0), np.zeros(slopes * len(units.unit))])
    precision = np.concatenate([1 / drawn.var(axis=0), np.full(slopes * len(units.unit), 1 / _SLOPE_SD**2)])
    return Rates(np.empty((0, size)) if z is None else np.asarray(z)[None], mean, precision)


def _prior_ratio(prior: Prior, units: Units, rates: Rates) -> Callable[[FloatArray], FloatArray]:
    """The log of the prior of the middle m (k, d), divided by its Gaussian approximation, up to a constant."""
    d = len(units.unit)

    def log_ratio(m: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            exact = prior.log_density(units.centre + units.unit * m)
        return np.asarray(exact + 0.5 * (rates.precision[:d] * (m - rates.mean[:d]) ** 2).sum(axis=1))

    return log_ratio


def _fitted(log_likelihood: LogLikelihood, sites: Sites, rates: Rates) -> tuple[Sites, Proposals, FloatArray]:
    """Sites, where T lies given them, and the weights (groups,) that groups then have on average."""
    d, size = sites.linear.shape
    weights = np.ones(size)
    at = np.concatenate([np.full(d, np.log(0.3)), np.zeros(free_coordinates(d) - d)])
    proposals = Proposals(at, np.eye(len(at)))
    for turn in range(_MATCHES + 1):
        proposals = find_mode(partial(_log_density, sites, rates, weights), proposals.mean)
        found = collapse(proposals.mean[None], weights[None], sites, rates)
        means = rates.means(found.mean, d)
        centre = found.centre(means)
        lower = root(proposals.mean[None], d)[:, :, 0]
        inverse = np.linalg.inv(lower)
        apart = np.einsum("ij,jg->ig", inverse, (centre - means)[:, 0])
        spread = np.einsum("ij,jkg->ikg", inverse, found.factor[:, :, 0])
        weights = (DEGREES + d) / (DEGREES + (apart**2).sum(axis=0) + (spread**2).sum(axis=(0, 1)))
        if turn < _MATCHES:
            sites = matched_sites(log_likelihood, sites, means[:, 0], lower @ lower.T, weights)
    return sites, proposals, weights


def _first(
    rng: np.random.Generator, sites: Sites, rates: Rates, proposals: Proposals, weights: FloatArray, draws: int
) -> tuple[FloatArray, Proposals]:
    """Free coordinates of T from the sites given the weights, by adaptive importance sampling."""
    for _ in range(_REFITS):
        free = proposals.draw(rng, _TRIED)
        log_weights = _log_density(sites, rates, weights, free) - proposals.log_density(free)
        shares = np.exp(log_weights - log_weights.max())
        shares /= shares.sum()
        proposals = proposals.refitted(free, shares)
    return free[systematic_resample(rng, shares, draws)], proposals


def _log_density(sites: Sites, rates: Rates, weights: FloatArray, free: FloatArray) -> FloatArray:
    """That of free coordinates (n, f) of T given the groups' weights, shape (n,)."""
    blocks = np.array_split(free, -(-free.shape[0] * len(weights) // _BLOCK_SIZE))
    spread = [np.broadcast_to(weights, (len(block), len(weights))) for block in blocks]
    found = [collapse(block, each, sites, rates).log_density for block, each in zip(blocks, spread, strict=True)]
    return np.concatenate(found)


def _read(kept: Sequence[Chains], draws: int, units: Units, sites: Sites) -> PooledDraws:
    own = [
        [_dot_rows(state.collapsed.factor, sites.precision, i).mean(axis=0) for i in range(len(units.unit))]
        for state in kept
    ]
    coordinates = np.concatenate([np.moveaxis(_outer(units, state.v), 0, -1) for state in kept])[:draws]
    return PooledDraws(
        coordinates,
        (1 - np.mean(own, axis=0).T).clip(0, 1),
        coordinates.std(axis=1, ddof=1),
        float(np.mean([state.together for state in kept])),
        float(np.mean([state.alone for state in kept])),
    )


def _dot_rows(factor: FloatArray, precision: FloatArray, i: int) -> FloatArray:
    """The i-th element of the diagonal of `F Fᵀ Λ`, shape (k, groups): how much of an estimate is the group's own."""
    told = apply_transposed(factor, precision[:, i, None])
    return np.asarray((factor[i] * told).sum(axis=0))
