"""What the questions of a collection shall make known: values that follow from θ, and weights of their variances."""

import numpy as np

from dither_estimator.design.goal import Goal
from dither_estimator.families import Family, FloatArray
from dither_estimator.policies.variance_reduction import with_normal_scores

__all__ = ["WHOLE_SHARE", "aims"]

WHOLE_SHARE = 0.1
"""How much the whole distribution counts beside a quantile or a share, relative to it.

Questions about one number alone leave the rest of the distribution unknown, and so where the next ones should lie.
"""
_POINTS = (np.arange(16) + 0.5) / 16


def aims(goal: Goal, family: Family, theta: FloatArray, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values (n, m) of equally weighted particles `theta` (n, d) whose variances count, and their weights (m,).

    The variances of parameters are those of the parameters in location-scale families and of their unconstrained
    `coordinates` (n, d), in the units of the median member, in others.
    """
    if goal.of_parameters:
        typical = np.median(theta, axis=0)[np.newaxis]
        own = theta if family.location_scale else coordinates / family.units(typical)
        return with_normal_scores(own, goal.vector(family))
    parts = []
    if goal.quantiles:
        parts.append(_quantiles(goal, family, theta))
    if goal.above:
        parts.append((1 - family.cdf(theta, np.array(goal.cuts)), np.array([weight for _, weight in goal.above])))
    whole = _whole(family, theta)
    if goal.distribution:
        parts.append((whole, np.full(len(_POINTS), goal.distribution / len(_POINTS))))
    values, weights = zip(*parts, strict=True)
    found, their = with_normal_scores(np.concatenate(values, axis=1), np.concatenate(weights))
    if goal.distribution:
        return found, their
    rest, other = with_normal_scores(whole, np.full(len(_POINTS), 1 / len(_POINTS)))
    return np.concatenate([found, rest], axis=1), np.concatenate([their, WHOLE_SHARE * other])


def _quantiles(goal: Goal, family: Family, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Quantiles, or beside shares, the shares below where they lie on average."""
    values = family.quantiles(theta, np.array(goal.levels))
    if goal.of_shares:
        values = family.cdf(theta, np.median(values, axis=0))
    return values, np.array([weight for _, weight in goal.quantiles])


def _whole(family: Family, theta: FloatArray) -> FloatArray:
    """The distribution function at points that cut the population, as the particles predict it, into equal parts."""
    people = family.quantiles(theta, _POINTS)
    return family.cdf(theta, np.quantile(people, _POINTS))
