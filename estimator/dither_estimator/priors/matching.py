"""Matching priors: a prior for one family that agrees with another family's about the values' median and spread.

Evidence judges a family together with its prior, so a comparison is fair only if the priors agree about quantities that
both families have. Draws from the first family's prior are mapped to members of the second with the same median and
interquartile range, on the second family's own scale. Each parameter of the second then gets a normal prior (if real)
or a lognormal prior (if positive) with the median and interquartile range of these members. If these members' tails are
long, it gets a distribution with long tails instead: where the first family's prior is a guess that values may leave,
a prior of the second that they may not leave would refuse it, whatever the answers say of its shape.
"""

import math
from typing import Any

import numpy as np

from dither_client import Transform
from dither_estimator.families import Family, FloatArray, PriorTerms
from dither_estimator.families.rescaled import on_scale
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["agreeing_prior"]

_DRAWS = 1_600
_MIN_MATCHED_MEMBERS = 40
"""The fewest matched members of the second family from which a prior is computed."""
_QUARTILES = np.array([0.25, 0.5, 0.75])
_QUARTILE_DISTANCE = 1.3489795003921634
"""The interquartile range of the standard normal."""
_OUTER = np.array([0.01, 0.99])
_LONG_TAIL = 2.05
"""Where an outer quantile lies further from the median than so many interquartile ranges, tails are long.

That of the normal distribution lies 1.72 away, so that one of as many draws does once in ten thousands; of Student's t
with 3 degrees of freedom, of a guessed location, 2.97.
"""
_QUARTILE_DISTANCE_OF_T = 1.5297846568
"""The interquartile range of Student's t with 3 degrees of freedom."""
_LEAST_SD = 1e-6
"""Members whose unconstrained coordinates differ by less are the same."""
_MAX_ITERATIONS = 60
_DIFFERENCE_STEP = 1e-5
_MATCH_TOLERANCE = 1e-6
_MAX_COORDINATE = 50.0
"""Bound on the size of unconstrained coordinates; members beyond it are given up."""


def agreeing_prior(first: Prior, first_transform: Transform, family: Family, transform: Transform) -> PriorTerms:
    """The prior of `family` that matches `first`; each prior holds on its own family's scale.

    A family of one parameter matches the median only. A third parameter keeps its default prior, and so does one that
    is the same in all matched members, as the shape of a Weibull beside exponential members. Raises `InvalidPrior` if
    too few members have a matching median and spread, or one of them stands for many.
    """
    rng = np.random.default_rng(0)
    members = first.family.constrain(first.sample(rng, _DRAWS))
    quartiles = on_scale(first.family, first_transform, transform).quantiles(members, _QUARTILES)
    quartiles = quartiles[np.isfinite(quartiles).all(axis=1) & (quartiles[:, 0] < quartiles[:, 2])]
    refusal = InvalidPrior(f"too few members of family {family.name} match the first family's prior: give it a prior")
    theta = _matched_members(family, quartiles)
    if len(theta) < _MIN_MATCHED_MEMBERS:
        raise refusal
    terms: dict[str, Any] = dict(family.default_prior(transform))
    coordinates = family.unconstrain(theta)[:, :2]
    alike = _distance(coordinates) <= _LEAST_SD * _QUARTILE_DISTANCE
    if alike.all() or (alike.any() and first.family.discrete):  # as after zeros and ones
        raise refusal
    for parameter, column, same in zip(family.parameters, coordinates.T, alike, strict=False):
        if not same:
            terms[parameter.name] = _fitted(column, parameter.support == "real")
    if "scale" in terms:
        _recentre(family, terms, float(np.median(quartiles[quartiles[:, 0] > 0, 1])))
    return terms


def _distance(values: FloatArray) -> FloatArray:
    """The interquartile range of each column."""
    low, high = np.quantile(values, _QUARTILES[[0, 2]], axis=0)
    return np.asarray(high - low)


def _fitted(coordinates: FloatArray, real: bool) -> dict[str, Any]:
    """The prior of a parameter, real or positive, with the quartiles and about the tails of coordinates (n,)."""
    centre, distance = float(np.median(coordinates)), float(_distance(coordinates))
    long_tails = np.abs(np.quantile(coordinates, _OUTER) - centre).max() > _LONG_TAIL * distance
    if real and long_tails:
        return {"dist": "t", "df": 3, "loc": centre, "scale": distance / _QUARTILE_DISTANCE_OF_T}
    if real:
        return {"dist": "norm", "loc": centre, "scale": distance / _QUARTILE_DISTANCE}
    if long_tails:  # the logarithm is Laplace distributed
        return {"dist": "loglaplace", "c": 2 * math.log(2) / distance, "scale": math.exp(centre)}
    return {"dist": "lognorm", "s": distance / _QUARTILE_DISTANCE, "scale": math.exp(centre)}


def _recentre(family: Family, terms: dict[str, Any], median: float) -> None:
    """Rescale the prior of `scale` so that half of its members have a median above `median`.

    Shape and scale are dependent among the matched members but independent in the prior, which shifts the centre.
    """
    prior = parse_prior(family, terms)
    members = family.constrain(prior.sample(np.random.default_rng(0), _DRAWS))
    found = float(np.median(family.quantiles(members, _QUARTILES[1:2])))
    if 0 < found < np.inf:
        terms["scale"] = {**terms["scale"], "scale": terms["scale"]["scale"] * median / found}


def _matched_members(family: Family, quartiles: FloatArray) -> FloatArray:
    """Members (m, d) with the medians and interquartile ranges of the rows of `quartiles` (n, 3).

    Rows that no member matches are left out.
    """
    spread = quartiles[:, 2] - quartiles[:, 0]
    theta = np.repeat(family.standard[None], len(quartiles), axis=0)
    if family.names[:2] == ("mu", "sigma"):
        low, middle, high = family.quantiles(family.standard[None], _QUARTILES)[0]
        theta[:, 1] = spread / (high - low)
        theta[:, 0] = quartiles[:, 1] - middle * theta[:, 1]
        return theta
    positive = quartiles[:, 0] > 0
    if not positive.any():
        return theta[positive]
    return _solved(family, theta[positive], np.log(quartiles[positive]))


def _solved(family: Family, theta: FloatArray, log_quartiles: FloatArray) -> FloatArray:
    """Newton's method for positive values, on all rows' unconstrained coordinates at once, with steps of at most 1.

    It matches the logarithms of the median and of the interquartile range relative to the median.
    """
    d = min(2, theta.shape[1])
    wanted = _features(log_quartiles)[:, :d]
    coordinates = family.unconstrain(theta)

    def misfit(at: FloatArray) -> FloatArray:
        found = family.quantiles(family.constrain(at), _QUARTILES)
        return _features(np.log(np.maximum(found, 1e-300)))[:, :d] - wanted

    for _ in range(_MAX_ITERATIONS):
        now = misfit(coordinates)
        if np.abs(now).max() < _MATCH_TOLERANCE:
            break
        slopes = np.empty((len(now), d, d))
        for j in range(d):
            shifted = coordinates.copy()
            shifted[:, j] += _DIFFERENCE_STEP
            slopes[:, :, j] = (misfit(shifted) - now) / _DIFFERENCE_STEP
        step = np.linalg.solve(slopes + 1e-9 * np.eye(d), now[:, :, None])[:, :, 0]
        coordinates[:, :d] = np.clip(coordinates[:, :d] - np.clip(step, -1.0, 1.0), -_MAX_COORDINATE, _MAX_COORDINATE)
    return family.constrain(coordinates[(np.abs(misfit(coordinates)) < _MATCH_TOLERANCE).all(axis=1)])


def _features(log_quartiles: FloatArray) -> FloatArray:
    """Logs of the median and of the interquartile range over the median, (n, 2), from log quartiles (n, 3)."""
    low, middle, high = log_quartiles.T
    distance = np.log(np.maximum(np.expm1(np.clip(high - low, 0.0, 500.0)), 1e-300)) + low - middle
    return np.column_stack([middle, distance])
