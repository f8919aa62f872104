"""The base that fits counts best: the mode of its parameters and the atoms' shares."""

import math

import numpy as np
from scipy.special import logit, ndtr

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import BASE_PARAMETERS, FittedBase
from dither_estimator.nonparametric.base_posterior import BasePosterior
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.place import known_by
from dither_estimator.nonparametric.support import Support

__all__ = ["fit_base"]

_INITIAL_SHAPE, _HEAVY = np.array([0.0, 0.0, -0.5]), 1.0
"""Nearly that of a normal distribution; and heavy tails: where some people are far from most, there are two modes."""
_BETTER = 0.1
"""Heavy tails are taken if they fit better by more than what a search leaves open."""
_MAX_STEPS = 60
_MAX_STEP = 1.0
"""No parameter moves further in one step; the location in units of the scale."""
_RELATIVE = 1e-3
"""Damping is of this share of the information, and of a unit, since answers may tell nothing of some parameter."""
_MAX_DAMPING = 1e6
_TOLERANCE = 1e-3
"""A step that gains less in the log posterior is the last."""

_TELL_OF_OTHERS = 1_500.0
"""The least information, in answers without noise, with which there may be two parts: with less, deviations from one
come as near."""
_OTHERS_LEVELS = 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995
_OTHERS_BEYOND = np.array([1.0, 2.5, 6.0])
_OTHERS_RATIOS = np.array([0.04, 0.12, 0.35, 1.0, 3.0])
"""Others are looked for at these quantiles, as far beyond them in widths of all, and as much wider than the base."""
_PROMISING = 4.0
"""No other people are looked for if none would raise the log-likelihood by more than this."""
_TRIED = 2
"""How many searches start from others, with so many of the ratios that promise most."""
_ALIKE = 0.1
"""One more search starts from a normal half of whose people lie in its middle, with so much smaller a scale: heavy
tails hide them."""
_OTHERS_SHARES = 0.03, 0.5
"""The least and the largest share of others to begin with."""
_LEAST = 1e-9
"""A share of the largest information; less is rounding."""


def fit_base(counts: Counts, support: Support, near: FloatArray | None = None) -> FittedBase:
    """The base of highest posterior density given `counts`, under a flat prior of location and log scale.

    It has two parts if there are enough answers and these have the greater evidence. `near` are the parameters of a
    base where it is looked for, which keeps two parts, or a location and a log scale (2,); without them it is looked
    for where the questions were.
    Raises `ValueError` if there are no counts.
    """
    posterior = BasePosterior(Observations.of(counts, support), support)
    if near is not None and len(near) > BASE_PARAMETERS:
        return posterior.base(_lowest(posterior, posterior.at(near)))
    places = posterior.places() if near is None else [near[:2]]
    starts = [posterior.at(np.concatenate([place, _INITIAL_SHAPE])) for place in places]
    best = _with_one_part(posterior, min(starts, key=posterior.height))
    if sum(known_by(counts).values()) < _TELL_OF_OTHERS:
        return posterior.base(best)
    evidence = posterior.log_evidence(best)
    for start in _with_others(posterior, best):
        found = _lowest(posterior, start)
        if posterior.log_evidence(found) > evidence:
            best, evidence = found, posterior.log_evidence(found)
    return posterior.base(best)


def _with_one_part(posterior: BasePosterior, light: FloatArray) -> FloatArray:
    """The lowest point with one part that is reached from a point with light tails, or with heavy ones."""
    heavy = light.copy()
    heavy[BASE_PARAMETERS - 1] = _HEAVY
    light, heavy = _lowest(posterior, light), _lowest(posterior, heavy)
    return heavy if posterior.height(heavy) < posterior.height(light) - _BETTER else light


def _lowest(posterior: BasePosterior, point: FloatArray) -> FloatArray:
    """The lowest point that is reached from another.

    By Fisher's scoring with Marquardt's damping, which follows how much of a promised gain was kept (Nielsen 1999).
    """
    height, damping, more = posterior.height(point), 1.0, 2.0
    gradient, information = posterior.derivatives(point)
    for _ in range(_MAX_STEPS):
        damped = information + damping * np.diag(1 + _RELATIVE * np.diagonal(information))
        step = -np.linalg.solve(damped, gradient)
        step = step / np.float64(max(1.0, np.abs(step).max() / _MAX_STEP))
        promised = -float(gradient @ step) - 0.5 * float(step @ information @ step)
        proposed = posterior.moved(point, step)
        gain = height - posterior.height(proposed)
        if gain > 0:
            point, height = proposed, height - gain
            damping, more = damping * max(1 / 3, 1 - (2 * gain / promised - 1) ** 3), 2.0
            if gain < _TOLERANCE:
                break
            gradient, information = posterior.derivatives(point)
        elif promised < _TOLERANCE or damping > _MAX_DAMPING:
            break
        else:
            damping, more = damping * more, 2 * more
    return point


def _with_others(posterior: BasePosterior, point: FloatArray) -> list[FloatArray]:
    """Points with two parts from which to look for the lowest, if there may be any: others who explain most.

    That is judged by score tests: how much the log-likelihood would grow, to second order, if some of the people were
    such others, and all other parameters followed.
    """
    base, all_else = posterior.base(point), float(posterior.shares(point)[-1])
    inside = base.quantile(np.array(_OTHERS_LEVELS))
    beyond = (inside[-1] - inside[0]) * _OTHERS_BEYOND
    places = np.concatenate([inside[0] - beyond, inside, inside[-1] + beyond])
    ratios, locations = map(np.ravel, np.meshgrid(_OTHERS_RATIOS, places, indexing="ij"))

    def apart(edges: FloatArray) -> FloatArray:
        others = ndtr((edges[..., np.newaxis] - locations) / (ratios * base.scale))
        return all_else * (others - base.cdf(edges)[..., np.newaxis])

    size = len(point)
    gradient, information = posterior.learnt(point, apart)
    known = information[:size, :size] + posterior.prior(point)[1]
    across, own = information[:size, size:], np.diagonal(information)[size:]
    if not own.any():
        return []
    left = np.maximum(own - (across * np.linalg.solve(known, across)).sum(axis=0), _LEAST * own.max())
    slopes = np.maximum(gradient[size:], 0.0)
    shares, gains = (slopes / left).clip(*_OTHERS_SHARES), slopes**2 / left / 2
    if gains.max() < _PROMISING:
        return []
    best = gains.reshape(len(_OTHERS_RATIOS), -1).argmax(axis=1) + len(places) * np.arange(len(_OTHERS_RATIOS))
    bell = np.concatenate([point[:2], _INITIAL_SHAPE, point[BASE_PARAMETERS:]])
    return [
        np.insert(bell, BASE_PARAMETERS, [0.0, point[0], point[1] + math.log(_ALIKE)]),
        *(
            np.insert(point, BASE_PARAMETERS, [logit(shares[i]), locations[i], math.log(ratios[i] * base.scale)])
            for i in best[np.argsort(-gains[best])][:_TRIED]
        ),
    ]
