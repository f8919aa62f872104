"""The posterior averaged over having no family and the smooth families that may hold, by their evidence.

Without a family half of the prior's weight is on having none, and the other half on all smooth families together
(Hoeting, Madigan, Raftery & Volinsky 1999, *Bayesian Model Averaging*). They have equal parts of it, but those that
have values beyond a declared bound have one part together: whoever declares that values lie between two does not
expect a family that has others. So a population that has a family costs little, and one that has none keeps its own
shape as soon as the answers refuse the families. A family whose density has a kink has no part in it, since the prior
without a family takes kinks for unlikely, too. None has where atoms are declared, and where answers show people at a
bound none that has no values beyond it: under each nobody would have exactly these numbers, and what is nearly a family
would be taken for one without them.

No population follows a family exactly, and the more answers tell, the less likely it is that it does as far as they
tell: from `_EXACT` on the part of all families falls.
"""

import math
from collections.abc import Sequence

import numpy as np

from dither_estimator.checks.family_fit import Description, FamilyFit
from dither_estimator.checks.family_fits import FamilyFits, fit_families
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.place import known_by
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.sampler import resampled
from dither_estimator.nonparametric.support import ANYWHERE, Support

__all__ = ["against_families", "average_distribution", "averaged", "prior_shares", "shares_of"]

_EXACT, _DIRECTIONS = 4_000.0, 6
"""The information, in answers without noise, up to which a population may well follow a family as far as answers tell,
and in how many directions it may deviate: that it deviates less than a small r has a probability like r to this power.
"""
_FEW_PEOPLE, _RARELY = 0.01, 0.05
"""Answers show people at a bound if the probability of a share above the first is more than 1 less the second."""
_PROPOSED = 2
"""How many proposals there are for each draw of a family."""


def average_distribution(
    rng: np.random.Generator,
    counts: Counts,
    support: Support = ANYWHERE,
    size: int = 1_000,
    around: tuple[float, float] | None = None,
) -> tuple[Distribution, FamilyFits]:
    """What `estimate_distribution` returns for the same arguments, averaged with the families, and their fits."""
    without = estimate_distribution(rng, counts, support, size, around)
    fits = fit_families(counts, without)
    return averaged(rng, without, counts, fits), fits


def averaged(rng: np.random.Generator, distribution: Distribution, counts: Counts, found: FamilyFits) -> Distribution:
    """As many draws from the average, of which `distribution` is the part without a family and `found` the families."""
    size, fits = distribution.draw_count, _taking_part(found, distribution)
    prior = prior_shares([fit.description for fit in fits], distribution.support)
    shares = shares_of(found.none + against_families(sum(known_by(counts).values())), fits, prior)
    ends = np.floor(np.cumsum(shares) * size + rng.random())
    parts = []
    likelihood = MassLikelihood.of(counts, distribution.base, BINS, distribution.support) if ends.any() else None
    for fit, number in zip(fits, np.diff(ends, prepend=0.0).astype(int).tolist(), strict=True):
        if likelihood is not None and number:
            parts.append(_draws(rng, fit, distribution, likelihood, number))
    members = np.concatenate(parts) if parts else np.empty((0, distribution.masses.shape[1]))
    kept = rng.permutation(size)[: size - len(members)]
    masses = rng.permutation(np.concatenate([distribution.masses[kept], members]))
    return Distribution(distribution.support, distribution.base, masses)


def _taking_part(found: FamilyFits, distribution: Distribution) -> list[FamilyFit]:
    """The fits that may hold: none where numbers are declared that many people have exactly, as in no smooth family.

    Where answers show people at a bound, those that may hold have values beyond it, as many as people are there.
    Rounded values are at a bound under others, too.
    """
    support = distribution.support
    if support.atoms:
        return []
    smooth = [fit for fit in found.fits if fit.family.smooth]
    if support.decimals is not None:
        return smooth
    at_points = np.quantile(distribution.masses[:, BINS:], _RARELY, axis=0)
    shown = [point for point, least in zip(support.points, at_points, strict=True) if least > _FEW_PEOPLE]
    ends = [fit.description.ends for fit in smooth]
    return [fit for fit, (low, high) in zip(smooth, ends, strict=True) if all(low < bound < high for bound in shown)]


def against_families(information: float) -> float:
    """The log prior odds, in nats, that no family holds as far as answers tell; 0 where these tell little.

    `information` is that of all of them, in answers without noise.
    """
    return _DIRECTIONS / 2 * math.log(max(information / _EXACT, 1.0))


def prior_shares(families: Sequence[Description], support: Support) -> FloatArray:
    """The prior probabilities, shape (families,), if one of them holds and values lie in `support`."""
    least = -math.inf if support.minimum is None else support.minimum
    most = math.inf if support.maximum is None else support.maximum
    beyond = np.array([each.ends[0] < least or each.ends[1] > most for each in families])
    parts = np.where(beyond, 1 / max(beyond.sum(), 1), 1.0)
    return parts / parts.sum()


def shares_of(none: float, fits: Sequence[FamilyFit], prior: FloatArray) -> FloatArray:
    """The posterior probabilities of the families, shape (families,); the rest is that of having none.

    `none` is the log evidence of that, and `prior` (families,) are the probabilities if one of them holds.
    """
    logs = np.array([fit.log_evidence for fit in fits]) - none + np.log(prior)
    return np.exp(logs - np.logaddexp.reduce([0.0, *logs]))


def _draws(
    rng: np.random.Generator, fit: FamilyFit, distribution: Distribution, likelihood: MassLikelihood, number: int
) -> FloatArray:
    """Masses (at most `number`, masses) of members of the family, by their posterior."""
    theta, log_weights = fit.proposals(rng, _PROPOSED * number)
    masses = _masses(fit, theta, distribution)
    usable = np.isfinite(masses).all(axis=1) & np.isfinite(log_weights)
    masses, log_weights = masses[usable], log_weights[usable]
    if not len(masses):
        return masses
    return masses[resampled(rng, log_weights + likelihood(masses), number)]


def _masses(fit: FamilyFit, theta: FloatArray, distribution: Distribution) -> FloatArray:
    """The masses of bins and atoms under each member, shape (n, masses). What lies beyond a bound is at it."""
    support, base = distribution.support, distribution.base
    inside = fit.below(theta, support.smooth_value(base.quantile(np.arange(1, BINS) / BINS)))
    least, most = np.zeros(len(theta)), np.ones(len(theta))
    points = np.zeros((len(theta), len(support.points)))
    low, high = fit.below(theta, np.array(support.ends)).T
    if support.minimum is not None:
        points[:, 0] = least = low
    if support.maximum is not None:
        most = high
        points[:, -1] = 1 - most
    bins = np.diff(np.column_stack([least, inside, most]), axis=1)
    return np.maximum(np.concatenate([bins, points], axis=1), 0.0)
