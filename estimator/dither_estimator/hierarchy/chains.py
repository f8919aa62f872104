"""Markov chains of the whole hierarchy, all at once, which leave its exact posterior invariant.

A sweep has these steps, in which sites only propose:

- T and β together, from what the sites say or by a step of a random walk, with every group carried along: a group
  keeps its normal scores in its posterior given T and β, so that its likelihood hardly changes however many groups
  there are;
- each group alone: from its Gaussian posterior given T and β, by a step of a random walk, or, since a few answers
  hardly bound a scale below, from where T and β alone place it;
- each group's weight `λ_g ~ Gamma(ν/2, ν/2)`, which makes the groups' distribution a Student t with ν = 4, exactly;
- T and β again, with every group where it is: `dither_estimator.hierarchy.given_groups`.

T is known from the groups' places as well as the groups are known, and from their scores as badly: one of the two steps
moves it far (interweaving: Yu & Meng 2011, *To center or not to center*).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Collapsed, Rates, Sites, collapse
from dither_estimator.hierarchy.given_groups import DEGREES, LogPriorRatio, means_given, scales_given
from dither_estimator.hierarchy.proposals import Proposals
from dither_estimator.hierarchy.sites import LogLikelihood
from dither_estimator.hierarchy.small_matrices import apply, lower_inverse

__all__ = ["Chains", "Target", "start", "sweep"]

_WALK_SHARE = 0.2
"""How often a group takes a step of a random walk instead of an independent proposal."""
_WALK_TOGETHER, _LOG_STEP_TOGETHER = 0.5, np.log(0.3)
"""How often T takes a step of a random walk with all groups carried along, and the logarithm of its usual length."""
_AFRESH_SHARE = 0.3
"""How often a group's place is proposed as if it had no answers, with a weight that is new, too."""
_LOG_STEP_SD = 1.0
"""The sd of the logarithm of a random walk's step, in posterior sds: some are long, as tails are."""


@dataclass(frozen=True)
class Target:
    """What the posterior is made of."""

    log_likelihood: LogLikelihood
    sites: Sites
    rates: Rates
    proposals: Proposals
    log_prior_ratio: LogPriorRatio


@dataclass(frozen=True)
class Chains:
    """The states of k chains."""

    free: FloatArray
    """Free coordinates of T, shape (k, f)."""
    beta: FloatArray
    """Means and slopes, shape (k, p d)."""
    weights: FloatArray
    """λ, shape (k, groups)."""
    v: FloatArray
    """The groups' coordinates, shape (d, k, groups)."""
    correction: FloatArray
    """The logarithm of the likelihood divided by the site, shape (k, groups)."""
    collapsed: Collapsed
    """What follows from T and λ; of no use once λ has changed."""
    together: float = 0.0
    """The share of proposals of T and β that were accepted when there were any last."""
    alone: float = 0.0
    """The share of independent proposals for groups that were accepted."""


def start(rng: np.random.Generator, target: Target, free: FloatArray, beta: FloatArray, v: FloatArray) -> Chains:
    """Starts chains at free coordinates (k, f), β (k, p d) and the groups' coordinates (d, k, groups)."""
    _d, k, groups = v.shape
    collapsed = collapse(free, np.ones((k, groups)), target.sites, target.rates)
    state = Chains(free, beta, np.ones((k, groups)), v, _correction(target, v), collapsed)
    return _reweighted(rng, target, state)


def sweep(rng: np.random.Generator, target: Target, state: Chains, together: bool = True) -> Chains:
    """The chains after a sweep, `together` with a step of T and β with every group carried along."""
    state = replace(state, collapsed=collapse(state.free, state.weights, target.sites, target.rates))
    if together:
        state = _together(rng, target, state)
    state = _reweighted(rng, target, _each(rng, target, state))
    free, weights = scales_given(
        rng, state.v - target.rates.means(state.beta, len(state.v)), state.weights, state.free, target.proposals.root
    )
    beta = means_given(rng, state.v, weights, free, state.beta, target.rates, target.log_prior_ratio)
    return replace(state, free=free, weights=weights, beta=beta)


def _together(rng: np.random.Generator, target: Target, state: Chains) -> Chains:
    d, k, _ = state.v.shape
    walks = rng.random((k, 1)) < _WALK_TOGETHER
    length = np.exp(_LOG_STEP_TOGETHER + _LOG_STEP_SD * rng.standard_normal((k, 1)))
    step = length * (rng.standard_normal(state.free.shape) @ target.proposals.root.T)
    free = np.where(walks, state.free + step, target.proposals.draw(rng, k))
    new = collapse(free, state.weights, target.sites, target.rates)
    beta = np.where(walks, new.beta(state.collapsed.scores(state.beta)), new.draw(rng))
    scores = apply(state.collapsed.inverse_factor, state.v - state.collapsed.centre(target.rates.means(state.beta, d)))
    v = new.centre(target.rates.means(beta, d)) + apply(new.factor, scores)
    correction = _correction(target, v)
    log_ratio = (
        (new.log_density - state.collapsed.log_density)
        + (target.log_prior_ratio(beta[:, :d]) - target.log_prior_ratio(state.beta[:, :d]))
        + (correction - state.correction).sum(axis=1)
    )
    log_ratio -= np.where(
        walks[:, 0], 0.0, target.proposals.log_density(free) - target.proposals.log_density(state.free)
    )
    accept = np.log(rng.random(k)) < log_ratio
    return replace(
        state,
        free=np.where(accept[:, None], free, state.free),
        beta=np.where(accept[:, None], beta, state.beta),
        v=np.where(accept[:, None], v, state.v),
        correction=np.where(accept[:, None], correction, state.correction),
        collapsed=_chosen(accept, new, state.collapsed),
        together=float(accept.mean()),
    )


def _each(rng: np.random.Generator, target: Target, state: Chains) -> Chains:
    _, k, groups = state.v.shape
    means = target.rates.means(state.beta, len(state.v))
    centre = state.collapsed.centre(means)
    scores = apply(state.collapsed.inverse_factor, state.v - centre)
    kind = rng.random((k, groups))
    walks, afresh = kind < _WALK_SHARE, kind > 1 - _AFRESH_SHARE
    noise = rng.standard_normal(state.v.shape)
    steps = np.exp(_LOG_STEP_SD * rng.standard_normal((k, groups)))
    proposed = np.where(walks, scores + steps * noise, noise)
    wider = np.sqrt(state.weights / rng.gamma(DEGREES / 2, 2 / DEGREES, (k, groups)))
    v = np.where(
        afresh,
        means + wider * apply(state.collapsed.spread, noise),
        centre + apply(state.collapsed.factor, proposed),
    )
    correction = _correction(target, v)
    log_ratio = correction - state.correction
    log_ratio += np.where(walks, 0.5 * ((scores**2).sum(axis=0) - (proposed**2).sum(axis=0)), 0.0)
    log_ratio += np.where(afresh, target.sites.log_density(v) - target.sites.log_density(state.v), 0.0)
    accept = np.log(rng.random((k, groups))) < log_ratio
    independent = ~(walks | afresh)
    return replace(
        state,
        v=np.where(accept, v, state.v),
        correction=np.where(accept, correction, state.correction),
        alone=float(accept[independent].mean()) if independent.any() else 0.0,
    )


def _reweighted(rng: np.random.Generator, target: Target, state: Chains) -> Chains:
    """λ given everything else; the spread of the collapsed part belongs to the weights that it was made with."""
    d = len(state.v)
    apart = state.v - target.rates.means(state.beta, d)
    distance = (apply(lower_inverse(state.collapsed.spread), apart) ** 2).sum(axis=0) / state.weights
    weights = rng.gamma((DEGREES + d) / 2, 2 / (DEGREES + distance))
    return replace(state, weights=weights)


def _correction(target: Target, v: FloatArray) -> FloatArray:
    return np.asarray(target.log_likelihood(v) - target.sites.log_density(v))


def _chosen(accept: npt.NDArray[np.bool_], new: Collapsed, old: Collapsed) -> Collapsed:
    def pick(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.where(accept[:, None], first, second)

    return replace(
        new,
        factor=pick(new.factor, old.factor),
        inverse_factor=pick(new.inverse_factor, old.inverse_factor),
        spread=pick(new.spread, old.spread),
    )
