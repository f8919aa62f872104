"""The posterior of a distribution that changes from period to period, from each period's count table.

Sites are the exact likelihoods' Gaussian approximations at the most likely path (Fisher scoring). Chains of the scales
and of whole paths, carried as the noise that makes them, then leave the exact posterior invariant: a step proposes new
scales under the same noise, or noise that is rotated towards new noise (Cotter, Roberts, Stuart & White 2013, *MCMC
methods for functions*), which the sites alone would always accept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dither_estimator.drift.jumps import Jumps
from dither_estimator.drift.walk import Backward, Start, filter_sites
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites
from dither_estimator.hierarchy.pooled_fit import Units, pooled_fit, units_of, unknown
from dither_estimator.hierarchy.proposals import Proposals
from dither_estimator.hierarchy.scaled_likelihood import ScaledLikelihood
from dither_estimator.hierarchy.sites import LENGTHS, scored_sites
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.priors.prior import Prior
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["SCALE", "SWEEPS", "PeriodLikelihood", "TrackedDraws", "log_prior", "track"]

SCALE = 0.1
"""The scale of the half-t distribution of each τ, in units of the pooled fit: a step of a tenth of a σ."""
_DEGREES = 4.0
_LARGEST, _LEAST = np.log(30.0), np.log(1e-4)
"""Logarithms of τ, in these units, are not sought beyond."""
_TRIED = 256
_REFITS = 10
"""How often proposals of τ are fitted again at most, for the same sites."""
_LEAST_EFFECTIVE, _ENOUGH_EFFECTIVE = 32, 150
"""Proposals are fitted to weights that are tempered until so many draws are effective, until so many are without."""
_ROUNDS = 8
"""How often the path is sought again, for walks of the scale that the sites at the last one tell, at most."""
_CLIMBS = 10
_NEAR_ENOUGH = 0.2
"""The path is found once another is better by less, in nats."""
SWEEPS = 3
_TURNS = (1.0, 0.6, 0.3)
"""How far noise is turned towards new noise: all of it in the first sweep, and less in the others."""
_HIGHEST = 8.0
"""The most nats by which a site rises above its value where it was scored: few answers tell little."""
_PRIOR_DRAWS = 4_000
_BLOCK_SIZE = 1 << 17
"""Chains times periods that are run together."""


@dataclass(frozen=True)
class TrackedDraws:
    """Equally likely draws of all periods together."""

    coordinates: FloatArray = field(repr=False)
    """Unconstrained coordinates, shape (draws, periods, d)."""
    scales: FloatArray = field(repr=False)
    """The standard deviation τ of one period's step of each unconstrained coordinate, shape (draws, d)."""
    accepted: float
    """The share of the proposals of the last sweep that were accepted."""


@dataclass(frozen=True)
class PeriodLikelihood(ScaledLikelihood):
    """The exact likelihood of each period's counts, in units of the pooled fit."""

    def sites_at(self, v: FloatArray) -> Sites:
        """Sites with the score and the expected information at v (d, periods)."""
        score, information = self.score_and_information(v)
        ridge = np.trace(information, axis1=1, axis2=2)[:, None, None] * 1e-9 + 1e-12
        step = np.linalg.solve(information + ridge * np.eye(len(v)), score[:, :, None])[:, :, 0]
        too_high = 0.5 * (score * step).sum(axis=1) > _HIGHEST
        outer = score[:, :, None] * score[:, None, :] / (2 * _HIGHEST)
        precision = information + np.where(too_high[:, None, None], outer, 0.0)
        linear = score + np.einsum("tij,jt->ti", precision, v)
        return Sites(np.moveaxis(precision, 0, -1).copy(), linear.T.copy())


def log_prior(log_scales: FloatArray) -> FloatArray:
    """The log density of `log τ` (k, d), up to a constant, shape (k,): τ is half-t with 4 degrees of freedom."""
    ratio = np.exp(2 * (log_scales - np.log(SCALE))) / _DEGREES
    return np.asarray((log_scales - 0.5 * (_DEGREES + 1) * np.log1p(ratio)).sum(axis=1))


def track(
    rng: np.random.Generator,
    prior: Prior,
    tables: Sequence[Counts],
    draws: int,
    units: Units | None = None,
    sweeps: int = SWEEPS,
    log_scales: FloatArray | None = None,
    fit: ParticleSystem | None = None,
) -> TrackedDraws:
    """The posterior given one count table for each of consecutive periods; those without answers are empty.

    `prior` is that of the first period. `units` are by default those of a pooled fit. With `log_scales` (d,), the
    logarithms of τ in these units, the scales are known. `fit` is a pooled fit to the same answers, if there is one.
    """
    if units is None:
        fit = fit or pooled_fit(rng, prior, tables)
        units = _known_units(rng, fit, tables)
        if units is None:
            return _searched(rng, fit, len(tables), draws)
    target = _target(rng, prior, PeriodLikelihood.of(prior, tables, units))
    proposals = None
    if log_scales is None:
        target, proposals, chosen = _with_scales(rng, target, draws)
    else:
        target, _, _ = _climbed(target, None, target.likeliest_steps(log_scales))
        chosen = np.repeat(log_scales[None], draws, axis=0)
    blocks = np.array_split(chosen, -(-draws * len(tables) // _BLOCK_SIZE))
    return _joined([_run(rng, target, block, proposals, sweeps) for block in blocks], units)


def _known_units(rng: np.random.Generator, fit: ParticleSystem, tables: Sequence[Counts]) -> Units | None:
    """The units of a pooled fit, or else of the period with most answers; None if neither knows where values are.

    Periods that lie far apart have no explanation in common, and a fit to all of them may know nothing.
    """
    units = units_of(fit)
    if unknown(fit, units) and len(tables) > 1:
        fit = pooled_fit(rng, fit.prior, [max(tables, key=total_answers)])
        units = units_of(fit)
    return None if unknown(fit, units) else units


@dataclass(frozen=True)
class _Target:
    """The parts of the posterior density."""

    likelihood: PeriodLikelihood
    sites: Sites
    start: Start
    log_prior_ratio: Callable[[FloatArray], FloatArray]
    """The log of the prior of the first period (k, d), divided by its Gaussian approximation, shape (k,)."""
    jumps: Jumps

    def log_density(self, log_scales: FloatArray) -> FloatArray:
        """The log density of `log τ` (k, d), with jumps and paths integrated out under the sites, shape (k,)."""
        return _with_prior(log_scales, logsumexp(self._by_jump(log_scales), axis=1))

    def filtered(self, rng: np.random.Generator, log_scales: FloatArray) -> tuple[FloatArray, Backward]:
        """The log density, and what draws paths, with jumps that are drawn as the sites have them."""
        by_jump = self._by_jump(log_scales)
        steps = self.jumps.steps(_scales(log_scales).T, self.jumps.drawn(rng, by_jump))
        return _with_prior(log_scales, logsumexp(by_jump, axis=1)), filter_sites(self.sites, self.start, steps)[1]

    def likeliest_steps(self, log_scales: FloatArray) -> FloatArray:
        """The scales of all steps (periods - 1, d, 1) of a walk of this scale (d,) with the likeliest jump."""
        likeliest = self._by_jump(log_scales[None]).argmax(axis=1)
        return self.jumps.steps(_scales(log_scales[None]).T, likeliest)

    def _by_jump(self, log_scales: FloatArray) -> FloatArray:
        return self.jumps.log_densities(self.sites, self.start, _scales(log_scales).T)

    def height(self, path: FloatArray, scales: FloatArray) -> FloatArray:
        """The exact log posterior of paths (periods, d, k) of steps of these scales, but for a constant, shape (k,)."""
        first, steps = path[0].T, np.diff(path, axis=0) / scales
        start = self.log_prior_ratio(first) - 0.5 * (self.start.precision * (first - self.start.mean) ** 2).sum(axis=1)
        told = self.likelihood.log_likelihood(np.moveaxis(path, 0, -1)).sum(axis=1)
        return np.asarray(start + told - 0.5 * (steps**2).sum(axis=(0, 1)))

    def correction(self, path: FloatArray) -> FloatArray:
        """The log of the exact posterior of a path (periods, d, k) divided by what sites have, shape (k,)."""
        v = np.moveaxis(path, 0, -1)
        found = (self.likelihood.log_likelihood(v) - self.sites.log_density(v)).sum(axis=1)
        return np.asarray(found + self.log_prior_ratio(path[0].T))


def _scales(log_scales: FloatArray) -> FloatArray:
    """τ, shape (d, k), for (k, d)."""
    return np.exp(np.clip(log_scales, _LEAST, _LARGEST)).T


def _with_prior(log_scales: FloatArray, total: FloatArray) -> FloatArray:
    possible = ((log_scales > _LEAST) & (log_scales < _LARGEST)).all(axis=1)
    return np.where(possible, total + log_prior(log_scales), -np.inf)


def _target(rng: np.random.Generator, prior: Prior, likelihood: PeriodLikelihood) -> _Target:
    units = likelihood.units
    drawn = (prior.sample(rng, _PRIOR_DRAWS) - units.centre) / units.unit
    start = Start(drawn.mean(axis=0), 1 / drawn.var(axis=0))

    def log_ratio(v: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            exact = prior.log_density(units.centre + units.unit * v)
        return np.asarray(exact + 0.5 * (start.precision * (v - start.mean) ** 2).sum(axis=1))

    size, periods = len(units.unit), likelihood.likelihood.size
    sites = scored_sites(likelihood.log_likelihood, likelihood.score_and_information, size, periods)
    return _Target(likelihood, sites, start, log_ratio, Jumps.none(periods))


def _weighed(
    rng: np.random.Generator, target: _Target, proposals: Proposals, draws: int
) -> tuple[Proposals, FloatArray]:
    """Better proposals of `log τ`, and draws of it as the sites have it, by adaptive importance sampling."""
    for _ in range(_REFITS):
        tried = proposals.draw(rng, _TRIED)
        log_weights = target.log_density(tried) - proposals.log_density(tried)
        shares, enough = _tempered(log_weights)
        proposals = Proposals.fitted(tried, shares)
        if enough:
            break
    return proposals, tried[systematic_sample(shares, draws, rng.random())]


def _with_scales(rng: np.random.Generator, target: _Target, draws: int) -> tuple[_Target, Proposals, FloatArray]:
    """Sites at the most likely path of walks of a likely scale, and proposals and draws of `log τ` as they have it."""
    size, path = len(target.sites.linear), None
    proposals = Proposals(np.full(size, np.log(SCALE / 2)), 1.2 * np.eye(size))
    for _ in range(_ROUNDS):
        target = replace(target, jumps=Jumps.likely(target.sites, target.start, proposals.mean))
        proposals, _ = _weighed(rng, target, proposals, draws)
        target, path, gain = _climbed(target, path, target.likeliest_steps(proposals.mean))
        if gain < _NEAR_ENOUGH:
            break
    target = replace(target, jumps=Jumps.likely(target.sites, target.start, proposals.mean))
    return (target, *_weighed(rng, target, proposals, draws))


def _tempered(log_weights: FloatArray) -> tuple[FloatArray, bool]:
    """Normalised weights, to the largest power that leaves enough of them, and whether many are without a power."""
    least, most = 0.0, 1.0
    shares = _normalised(log_weights)
    effective = 1 / (shares**2).sum()
    if effective >= _LEAST_EFFECTIVE:
        return shares, bool(effective >= _ENOUGH_EFFECTIVE)
    for _ in range(20):
        power = (least + most) / 2
        shares = _normalised(power * log_weights)
        if 1 / (shares**2).sum() < _LEAST_EFFECTIVE:
            most = power
        else:
            least = power
    return _normalised(least * np.maximum(log_weights, -1e300)), False


def _normalised(log_weights: FloatArray) -> FloatArray:
    shares = np.exp(log_weights - log_weights.max())
    return np.asarray(shares / shares.sum())


def _climbed(target: _Target, path: FloatArray | None, scales: FloatArray) -> tuple[_Target, FloatArray, float]:
    """Sites at the most likely path (periods, d) of steps of these scales (periods - 1, d, 1), that path, and by how
    much it beats `path`.

    Sites that were made where a likelihood is flat say next to nothing, and would hold the path there: so steps of the
    search that lead down are made shorter.
    """
    d, periods = target.sites.linear.shape

    def middle(target: _Target) -> FloatArray:
        return filter_sites(target.sites, target.start, scales)[1].path(np.zeros((periods, d, 1)))[:, :, 0]

    first = middle(target)
    tried = np.stack([first, first if path is None else path], axis=-1)
    heights = target.height(tried, scales)
    at, height = tried[:, :, int(np.argmax(heights))], float(heights.max())
    before = -np.inf if path is None else float(heights[1])
    for _ in range(_CLIMBS):
        target = replace(target, sites=target.likelihood.sites_at(at.T))
        tried = at[:, :, None] + (middle(target) - at)[:, :, None] * LENGTHS
        heights = target.height(tried, scales)
        best = int(np.argmax(heights))
        gain = float(heights[best]) - height
        if not gain > 0:
            break
        at, height = tried[:, :, best], height + gain
        if gain < _NEAR_ENOUGH:
            break
    return replace(target, sites=target.likelihood.sites_at(at.T)), at, height - before


@dataclass(frozen=True)
class _Chains:
    log_scales: FloatArray
    log_density: FloatArray
    noise: FloatArray
    backward: Backward
    path: FloatArray
    correction: FloatArray
    accepted: float = 1.0


def _run(
    rng: np.random.Generator, target: _Target, log_scales: FloatArray, proposals: Proposals | None, sweeps: int
) -> _Chains:
    """Chains after `sweeps` sweeps, each from one of the `log_scales` (k, d), which stay fixed without proposals."""
    d, periods = target.sites.linear.shape
    log_density, backward = target.filtered(rng, log_scales)
    noise = rng.standard_normal((periods, d, len(log_scales)))
    path = backward.path(noise)
    state = _Chains(log_scales, log_density, noise, backward, path, target.correction(path))
    for sweep in range(sweeps):
        if proposals is not None:
            state = _rescaled(rng, target, state, proposals)
        state = _turned(rng, target, state, _TURNS[min(sweep, len(_TURNS) - 1)])
    return state


def _rescaled(rng: np.random.Generator, target: _Target, state: _Chains, proposals: Proposals) -> _Chains:
    """New scales and jumps under the same noise."""
    log_scales = proposals.draw(rng, len(state.log_scales))
    log_density, backward = target.filtered(rng, log_scales)
    path = backward.path(state.noise)
    new = _Chains(log_scales, log_density, state.noise, backward, path, target.correction(path))
    log_ratio = new.correction + log_density - proposals.log_density(log_scales)
    log_ratio -= state.correction + state.log_density - proposals.log_density(state.log_scales)
    return _chosen(np.log(rng.random(len(log_ratio))) < log_ratio, new, state)


def _turned(rng: np.random.Generator, target: _Target, state: _Chains, share: float) -> _Chains:
    """Chains with the same scales, and with noise of which a share is new."""
    fresh = rng.standard_normal(state.noise.shape)
    noise = np.sqrt(1 - share**2) * state.noise + share * fresh
    path = state.backward.path(noise)
    new = replace(state, noise=noise, path=path, correction=target.correction(path))
    return _chosen(np.log(rng.random(len(new.correction))) < new.correction - state.correction, new, state)


def _chosen(accept: npt.NDArray[np.bool_], new: _Chains, old: _Chains) -> _Chains:
    def pick(first: FloatArray, second: FloatArray) -> FloatArray:
        """Chains are the last axis."""
        return second if first is second else np.where(accept, first, second)

    backward = old.backward
    if new.backward is not backward:
        names = ("mean", "root", "gain", "means", "roots")
        backward = Backward(*(pick(getattr(new.backward, name), getattr(old.backward, name)) for name in names))
    return _Chains(
        log_scales=pick(new.log_scales.T, old.log_scales.T).T,
        log_density=pick(new.log_density, old.log_density),
        noise=pick(new.noise, old.noise),
        backward=backward,
        path=pick(new.path, old.path),
        correction=pick(new.correction, old.correction),
        accepted=float(accept.mean()),
    )


def _joined(blocks: Sequence[_Chains], units: Units) -> TrackedDraws:
    paths = np.concatenate([np.moveaxis(block.path, -1, 0) for block in blocks])
    scales = np.exp(np.concatenate([block.log_scales for block in blocks]))
    accepted = float(np.average([block.accepted for block in blocks], weights=[len(b.log_scales) for b in blocks]))
    return TrackedDraws(units.centre + units.unit * paths, scales * units.unit, accepted)


def _searched(rng: np.random.Generator, fit: ParticleSystem, periods: int, draws: int) -> TrackedDraws:
    """While nobody knows where the values are: all periods at one place, and apart from it as the prior has it."""
    units = units_of(fit)
    d = len(units.unit)
    chosen = rng.permutation(fit.coordinates[systematic_sample(fit.weights, draws, rng.random())])
    scales = SCALE * np.abs(rng.standard_t(_DEGREES, (draws, d)))
    steps = scales[:, None] * rng.standard_normal((draws, periods, d))
    steps[:, 0] = 0
    return TrackedDraws(chosen[:, None] + units.unit * steps.cumsum(axis=1), scales * units.unit, 1.0)
