"""A test of drift: whether one distribution explains the answers of all periods, at however many looks.

The evidence is a Bayes factor of drift against no drift, from each period's score and expected information at the
best constant parameters. The first period has a flat prior under both, so that without drift the evidence is, up to the
Gaussian approximation of the scores, a martingale with mean 1 whatever the parameters are. By Ville's inequality it
ever reaches `x` with a probability of at most 1/x, however often one looks: 25 with at most 4%. In simulated years of
weeks it is less than 1.5%.

It is slow to see a sudden change, for whose date it pays. Beside it therefore stand the scores of the last one, two and
four periods against those of all before: of one distribution, each of their coordinates is standard normal once it is
divided by its standard deviation, whatever the others do. The greatest in a year of weeks is that of fewer independent
numbers than there are scores, since those of following weeks share answers: how many is simulated. What matters most is
allowed most false alarms: two periods, and the coordinate that answers tell most about, which questions are chosen for.
All other scores count less by `_ALLOWANCE`.

Half of the alternative is a random walk with a scale from its prior (`tracking.log_prior`), the same for each
coordinate; the other half a single jump, before each period with the same probability, of one of two sizes. The
likelihood of each is that of the whole sequence of periods.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from dither_estimator.drift.tracking import SCALE, PeriodLikelihood, log_prior
from dither_estimator.drift.walk import Start, log_densities
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites
from dither_estimator.hierarchy.pooled_fit import pooled_fit, units_of, unknown
from dither_estimator.likelihood.counts import Counts
from dither_estimator.priors.prior import Prior

__all__ = ["THRESHOLD", "Constancy", "change_threshold", "changes_of", "constancy", "constant_sites", "evidence_of"]

THRESHOLD = 25.0
"""Evidence that constant parameters ever reach with a probability of at most 4%."""
_ALPHA = 0.037
"""The probability that `changes_of` reaches its threshold in 52 looks, while parameters are constant: about."""
_LOOKS = 58
"""How many independent standard normal numbers are as likely to be far out as a coordinate's scores of a year of weeks,
less allowances: 48 to 62 in simulated years, most with equal weeks, least where large and small ones take turns."""
_WINDOWS = {1: 1, 2: 0, 4: 1}
"""How many of the last periods are compared with all before, and how many allowances are taken off their scores."""
_ALLOWANCE = 0.4
_FLAT = 1e-6
"""The precision of the first period, in units of the pooled fit."""
_WALKS = 8
_JUMPS = (0.15, 0.5)
_HAZARD = 1 / 26
"""A priori probability of a jump before each period: one in half a year of weeks."""
_ROUNDS = 8
_LONGEST_STEP = 1.0
_LEAST_SHARE = 1e-9
"""A difference with less than this share of all information is rounding."""


@dataclass(frozen=True)
class Constancy:
    """What speaks against constant parameters at the end of each of consecutive periods."""

    evidence: FloatArray
    """The log evidence of drift, shape (periods,)."""
    changes: FloatArray
    """What `changes_of` returns, shape (periods,)."""
    change_threshold: float


def constancy(rng: np.random.Generator, prior: Prior, tables: Sequence[Counts]) -> Constancy | None:
    """Both tests after each of consecutive periods; None while nobody knows where the values lie."""
    fit = pooled_fit(rng, prior, tables)
    units = units_of(fit)
    if unknown(fit, units):
        return None
    sites = constant_sites(PeriodLikelihood.of(prior, tables, units))
    return Constancy(evidence_of(sites), changes_of(sites), change_threshold(len(units.unit)))


def change_threshold(dimensions: int) -> float:
    """What `changes_of` reaches in 52 looks with a probability of about 3.7%, in so many dimensions."""
    from scipy.optimize import brentq

    def chance(threshold: float) -> float:
        return float(2 * _LOOKS * (ndtr(-threshold) + (dimensions - 1) * ndtr(-threshold - _ALLOWANCE)))

    return float(brentq(lambda threshold: chance(threshold) - _ALPHA, 0.0, 10.0))


def changes_of(sites: Sites) -> FloatArray:
    """The greatest standardised score, less allowances, of the last one, two or four periods, shape (periods,).

    With the sums η, Λ of the last periods and H, L of those before, `η - Λ (Λ + L)⁻¹ (η + H)` has the covariance
    `Λ - Λ (Λ + L)⁻¹ Λ` if nothing changed. It does not depend on the place of the sites.
    """
    precision, linear = np.moveaxis(sites.precision, -1, 0).cumsum(axis=0), sites.linear.T.cumsum(axis=0)
    told = np.einsum("tii->ti", precision)
    other = np.arange(told.shape[1]) != told.argmax(axis=1)[:, np.newaxis]
    found = np.zeros(len(linear))
    for window, allowances in _WINDOWS.items():
        if len(linear) <= window:
            continue
        whole, total = precision[window:], linear[window:]
        last, score = whole - precision[:-window], total - linear[:-window]
        share = last @ np.linalg.pinv(whole, hermitian=True)
        variance = np.einsum("tii->ti", last - share @ last)
        apart = score - np.einsum("tij,tj->ti", share, total)
        known = variance > _LEAST_SHARE * told[window:]
        standardised = np.abs(apart) / np.sqrt(np.where(known, variance, np.inf))
        counted = standardised - _ALLOWANCE * (allowances + other[window:])
        found[window:] = np.maximum(found[window:], counted.max(axis=1))
    return found


def constant_sites(likelihood: PeriodLikelihood) -> Sites:
    """Each period's score and information at the best constant parameters, relative to which its site is."""
    d, periods = len(likelihood.units.unit), likelihood.likelihood.size
    v = np.zeros(d)
    for _ in range(_ROUNDS):
        score, information = likelihood.score_and_information(np.repeat(v[:, None], periods, axis=1))
        step = np.linalg.solve(information.sum(axis=0) + _FLAT * np.eye(d), score.sum(axis=0))
        v = v + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
    score, information = likelihood.score_and_information(np.repeat(v[:, None], periods, axis=1))
    return Sites(np.moveaxis(information, 0, -1).copy(), score.T.copy())


def evidence_of(sites: Sites) -> FloatArray:
    """The log evidence after each period, shape (periods,), from sites at any one place."""
    d, periods = sites.linear.shape
    steps, shares, none = _alternatives(d, periods)
    start = Start(np.zeros(d), np.full(d, _FLAT))
    found = log_densities(sites, start, np.concatenate([steps, np.zeros((periods - 1, d, 1))], axis=2))
    return np.asarray(logsumexp(found - found[:, -1:], b=np.append(shares, none), axis=1))


def _alternatives(d: int, periods: int) -> tuple[FloatArray, FloatArray, float]:
    """Scales of the steps (periods - 1, d, k), their shares (k,), and the share of jumps that are still to come."""
    log_scales = np.log(SCALE) + np.linspace(-3, 2, _WALKS)
    walks = np.broadcast_to(np.exp(log_scales), (periods - 1, d, _WALKS))
    weights = np.exp(log_prior(log_scales[:, None]))
    at = np.arange(periods - 1)
    jumps = np.zeros((periods - 1, d, len(_JUMPS), periods - 1))
    for size, scale in enumerate(_JUMPS):
        jumps[at, :, size, at] = scale
    chance = 0.5 * _HAZARD * (1 - _HAZARD) ** at
    shares = np.concatenate([0.5 * weights / weights.sum(), *[chance / len(_JUMPS)] * len(_JUMPS)])
    return (
        np.concatenate([walks, jumps.reshape(periods - 1, d, len(_JUMPS) * (periods - 1))], axis=2),
        shares,
        0.5 - float(chance.sum()),
    )
