"""The posterior of all groups of a collection, from their count tables alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dither_estimator.families import Family, FloatArray
from dither_estimator.hierarchy.chains import DEGREES, Chains, Target, start, sweep
from dither_estimator.hierarchy.collapsed import Rates, Sites, collapse
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.hierarchy.proposals import Proposals, find_mode
from dither_estimator.hierarchy.scales import draw, free_coordinates, root
from dither_estimator.hierarchy.sites import LogLikelihood, matched_sites, scored_sites
from dither_estimator.hierarchy.small_matrices import apply, apply_transposed
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.particles.moments import Moments
from dither_estimator.particles.system import ParticleSystem, init, systematic_resample, update
from dither_estimator.priors.prior import Prior

__all__ = ["PooledDraws", "Units", "pool_groups"]

_PRIOR_DRAWS = 4_000
_POOLED_PARTICLES = 400
_SURE = 1.2
"""Groups are told apart once the pooled fit knows each coordinate to this many of its units, in sd."""
_POOLED_QUERIES = 300
"""The most questions from which the pooled fit, which only gives a start and units, is made."""
_MATCHES = 4
_REFITS = 2
_MIN_SWEEPS, _MAX_SWEEPS = 3, 40
_SWEEPS_TIMES_GROUPS = 250
"""Few groups tell little of T, and then sites matter more: sweeps times groups are so many, within the limits above."""
_SLOPE_SD = 0.5
"""The prior sd of a slope, in units of the pooled fit."""
_DIFFERENCE = 1e-3
_BLOCK_SIZE = 1 << 14
"""Chains times groups that are run together, so that all their numbers stay in the cache."""
_TRIED = 256
"""Values of T that are weighed at once; the chains start from them."""


@dataclass(frozen=True)
class Units:
    """Where the pooled fit lies, and how wide it is: the origin and the unit of each coordinate, shape (d,)."""

    centre: FloatArray
    unit: FloatArray


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
    """The share of proposals of what groups share that were accepted in the last sweep."""
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
) -> PooledDraws:
    """The posterior given one count table for each group.

    `prior` is that of the middle of the groups. `z` (groups,) is what their middles may depend on. `units` are by
    default those of a pooled fit, and `sweeps` as many as the number of groups needs.
    """
    size, d = len(tables), len(prior.parts)
    if units is None:
        fit = _pooled_fit(rng, prior, tables)
        units = _units(fit)
        if (Moments.of(fit.coordinates, fit.weights).sd > _SURE * units.unit).any():
            return _searched(rng, fit, units, size, draws)
    likelihood = GroupLikelihood.of(prior.family, tables)

    def log_likelihood(v: FloatArray) -> FloatArray:
        return likelihood.log_likelihood(_outer(units, v))

    def told(v: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = units.centre[:, None] + units.unit[:, None] * v
        score, information = likelihood.score_and_information(at, _DIFFERENCE * units.unit)
        return score * units.unit, information * np.outer(units.unit, units.unit)

    rates = _rates(rng, prior, units, z, size)
    sites, proposals, weights = _fitted(log_likelihood, scored_sites(told, d, size), rates)
    free, proposals = _first(rng, sites, rates, proposals, weights, draws)
    target = Target(log_likelihood, sites, rates, proposals, _prior_ratio(prior, units, rates))
    count = sweeps or int(np.clip(_SWEEPS_TIMES_GROUPS // size, _MIN_SWEEPS, _MAX_SWEEPS))
    blocks = np.array_split(free, -(-draws * size // _BLOCK_SIZE))
    return _joined([_read(_run(rng, target, block, weights, count), units, sites) for block in blocks])


def _run(rng: np.random.Generator, target: Target, free: FloatArray, weights: FloatArray, sweeps: int) -> Chains:
    state = start(rng, target, free, weights)
    for _ in range(sweeps):
        state = sweep(rng, target, state)
    return state


def _pooled_fit(rng: np.random.Generator, prior: Prior, tables: Sequence[Counts]) -> ParticleSystem:
    """All groups taken as one."""
    pairs = [(query, row) for table in tables for query, row in table.items()]
    step = -(-len(pairs) // _POOLED_QUERIES)
    counts: Counts = {}
    for query, row in pairs[:: max(step, 1)]:
        counts = merge_counts(counts, {query: row})
    system = init(rng, prior, _POOLED_PARTICLES)
    return update(rng, system, counts) if counts else system


def _units(fit: ParticleSystem) -> Units:
    centre = fit.weights @ fit.coordinates
    return Units(centre, _unit(fit.prior.family, centre))


def _searched(rng: np.random.Generator, fit: ParticleSystem, units: Units, size: int, draws: int) -> PooledDraws:
    """While nobody knows where the groups are: all at one place, and apart from it as the prior of T says."""
    d = len(units.unit)
    chosen = fit.coordinates[systematic_resample(rng, fit.weights, draws)]
    factor = root(draw(rng, draws, d), d)
    noise = rng.standard_normal((d, draws, size)) / np.sqrt(rng.gamma(DEGREES / 2, 2 / DEGREES, (draws, size)))
    apart = np.moveaxis(apply(factor[:, :, :, None], noise), 0, -1) * units.unit
    coordinates = rng.permutation(chosen)[:, None] + apart
    return PooledDraws(coordinates, np.ones((size, d)), coordinates.std(axis=1, ddof=1), 1.0, 1.0)


def _unit(family: Family, centre: FloatArray) -> FloatArray:
    """1 for logarithms and logits; for a location, the scale of the family's member at the centre."""
    theta = family.constrain(centre[None])
    low, high = family.quantiles(theta, np.array([0.16, 0.84]))[0]
    return np.array([1.0 if each.support != "real" else max((high - low) / 2, 1e-300) for each in family.parameters])


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


def _read(state: Chains, units: Units, sites: Sites) -> PooledDraws:
    factor = state.collapsed.factor
    kept = [1 - _dot_rows(factor, sites.precision, i).mean(axis=0) for i in range(len(factor))]
    coordinates = np.moveaxis(_outer(units, state.v), 0, -1)
    between = coordinates.std(axis=1, ddof=1)
    return PooledDraws(coordinates, np.stack(kept, axis=1).clip(0, 1), between, state.together, state.alone)


def _dot_rows(factor: FloatArray, precision: FloatArray, i: int) -> FloatArray:
    """The i-th element of the diagonal of `F Fᵀ Λ`, shape (k, groups): how much of an estimate is the group's own."""
    told = apply_transposed(factor, precision[:, i, None])
    return np.asarray((factor[i] * told).sum(axis=0))


def _joined(blocks: Sequence[PooledDraws]) -> PooledDraws:
    shares = np.array([len(block.coordinates) for block in blocks], dtype=float)
    shares /= shares.sum()
    return PooledDraws(
        np.concatenate([block.coordinates for block in blocks]),
        np.einsum("b,bgi->gi", shares, [block.borrowed for block in blocks]),
        np.concatenate([block.between for block in blocks]),
        float(shares @ [block.together for block in blocks]),
        float(shares @ [block.alone for block in blocks]),
    )
