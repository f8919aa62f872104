"""The posterior of all groups of a collection, from their count tables alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.chains import Chains, Target, start, sweep
from dither_estimator.hierarchy.collapsed import Rates, Sites, collapse
from dither_estimator.hierarchy.given_groups import DEGREES, LogPriorRatio
from dither_estimator.hierarchy.marginal import Marginal
from dither_estimator.hierarchy.pooled_fit import Units, pooled_fit, units_of, unknown
from dither_estimator.hierarchy.proposals import Proposals, climbed, weighed_around
from dither_estimator.hierarchy.scaled_likelihood import ScaledLikelihood
from dither_estimator.hierarchy.scales import free_coordinates, root
from dither_estimator.hierarchy.sites import WIDE, LogLikelihood, matched_sites, scored_sites
from dither_estimator.hierarchy.small_matrices import apply, apply_transposed, lower_inverse, product
from dither_estimator.hierarchy.sought import near, sought_groups
from dither_estimator.likelihood.counts import Counts
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.priors.prior import Prior
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["PooledDraws", "pool_groups"]

_PRIOR_DRAWS = 4_000
_WEIGHINGS, _MATCHES = 5, 2
_FIRST_SCALE = 0.3
"""The scale of T at which sites are matched first."""
_SETTLING, _SETTLING_OF_ALL = 3, 60
"""Sweeps before states are kept, and how many more for one group, half as many for two, and so on. Chains start from
the posterior but for what the grids leave out, which is more where there are few groups and little is known."""
_CHAINS_OF_ONE, _CHAINS = 1 << 13, (64, 2_048)
"""The fewest and the most chains; in between as many as this divided by the number of groups. A chain gives several
draws: of a group hardly anything remains after a sweep, of T much."""
_TRIED = 2
"""How many values of T and β are weighed for each chain that starts from one of them."""
_GROUPS_TOGETHER = 64
"""With more groups the step with every group carried along moves T little, and is taken in fewer sweeps."""
_SLOPE_SD = 0.5
"""The prior sd of a slope, in units of the pooled fit."""


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
    fit: ParticleSystem | None = None,
) -> PooledDraws:
    """The posterior given one count table for each group.

    `prior` is that of the middle of the groups. `z` (groups,) is what their middles may depend on. `units` are by
    default those of a pooled fit; `sweeps` are made before states of the chains become draws, by default enough for so
    many groups. While a pooled fit does not know where the values are, they are those of `sought_groups`, which learns
    nothing of how groups differ. Questions are for looking for all groups around one place, which finds them with fewer
    answers: whoever chooses them gives a `fit` of all groups taken as one, and gets what lies around it.
    """
    size, d = len(tables), len(prior.parts)
    if units is None:
        whole = fit or pooled_fit(rng, prior, tables)
        units = units_of(whole)
        if unknown(whole, units):
            found = _around(rng, fit, size, draws) if fit else sought_groups(rng, prior, tables, draws)
            return PooledDraws(*found, found[0].std(axis=1, ddof=1), 1.0, 1.0)
    likelihood = ScaledLikelihood.of(prior, tables, units)
    log_likelihood = likelihood.log_likelihood
    sites = scored_sites(log_likelihood, likelihood.score_and_information, d, size)
    rates = _rates(rng, prior, units, z, size)
    log_prior_ratio = _prior_ratio(prior, units, rates)
    sites, mode, axes, marginal = _fitted(log_likelihood, sites, rates, log_prior_ratio)
    chains = min(draws, int(np.clip(_CHAINS_OF_ONE // size, *_CHAINS)))
    at, shares = weighed_around(rng, marginal.log_density, mode, axes, _TRIED * chains)
    f = free_coordinates(d)
    proposals = Proposals.fitted(at[:, :f], shares)
    at = at[rng.permutation(systematic_sample(shares, chains, rng.random()))]
    target = Target(log_likelihood, sites, rates, proposals, log_prior_ratio)
    states = _states(rng, target, start(rng, target, at[:, :f], at[:, f:], marginal.places(rng, at)))
    if sweeps is None:
        sweeps = _SETTLING + _SETTLING_OF_ALL // size
    return _read(list(islice(states, sweeps, sweeps - (-draws // chains))), draws, likelihood, sites)


def _states(rng: np.random.Generator, target: Target, state: Chains) -> Iterator[Chains]:
    """What the chains go through from here."""
    every = 1 + state.weights.shape[1] // _GROUPS_TOGETHER
    for number in count():
        yield (state := sweep(rng, target, state, together=number % every == 0))


def _around(rng: np.random.Generator, fit: ParticleSystem, size: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Groups around a pooled fit, as `sought_groups` has them: where to ask, not what is known of a group."""
    found = near(rng, fit, draws * size).reshape(draws, size, -1)
    return found, np.ones(found.shape[1:])


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


def _fitted(
    log_likelihood: LogLikelihood, sites: Sites, rates: Rates, log_prior_ratio: LogPriorRatio
) -> tuple[Sites, FloatArray, FloatArray, Marginal]:
    """Sites, the mode (f + p d,) of T and β, its axes, and their density."""
    d = len(sites.linear)
    f = free_coordinates(d)
    free = np.concatenate([np.full(d, np.log(_FIRST_SCALE)), np.zeros(f - d)])
    weights = _first_weights(sites)
    for _ in range(_WEIGHINGS):  # before sites are matched: a group far away would be matched half-way to the others
        at = np.concatenate([free, collapse(free[None], weights[None], sites, rates).mean[0]])
        weights = _weights(at, weights, sites, rates)
    for _ in range(_MATCHES):
        lower = root(at[None, :f], d)[:, :, 0]
        means = rates.means(at[None, f:], d)[:, 0]
        sites = matched_sites(log_likelihood, sites, means, lower @ lower.T, weights)
        marginal = Marginal.of(log_likelihood, sites, rates, log_prior_ratio, at, weights)
        at, axes = climbed(marginal.told, at)
        weights = _weights(at, weights, sites, rates)
    return sites, at, axes, marginal


def _first_weights(sites: Sites) -> FloatArray:
    """Groups' weights if each is where its site alone has it, and their middle is that of the pooled fit."""
    d = len(sites.linear)
    precision = np.moveaxis(sites.precision, -1, 0) + np.eye(d) / WIDE**2
    apart = np.linalg.solve(precision, sites.linear.T[:, :, None])[:, :, 0] / _FIRST_SCALE
    return np.asarray((DEGREES + d) / (DEGREES + (apart**2).sum(axis=1)))


def _weights(at: FloatArray, weights: FloatArray, sites: Sites, rates: Rates) -> FloatArray:
    """What groups' weights are on average, about, given free coordinates of T and β."""
    d = len(sites.linear)
    free, beta = np.split(at[None], [free_coordinates(d)], axis=1)
    found = collapse(free, weights[None], sites, rates)
    means = rates.means(beta, d)
    inverse = lower_inverse(root(free, d))[:, :, :, None]
    apart, spread = apply(inverse, found.centre(means) - means), product(inverse, found.factor)
    return np.asarray((DEGREES + d) / (DEGREES + (apart**2).sum(axis=0) + (spread**2).sum(axis=(0, 1)))[0])


def _read(kept: Sequence[Chains], draws: int, likelihood: ScaledLikelihood, sites: Sites) -> PooledDraws:
    own = [
        [_dot_rows(state.collapsed.factor, sites.precision, i).mean(axis=0) for i in range(len(sites.linear))]
        for state in kept
    ]
    coordinates = np.concatenate([np.moveaxis(likelihood.outer(state.v), 0, -1) for state in kept])[:draws]
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
