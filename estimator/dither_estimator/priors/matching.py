"""Priors that agree: for one family, what another family's prior says of the median and the spread of the values.

Evidence weighs a family together with its prior, so two families are compared fairly only if their priors say the same
of what both have. Draws of the first family's prior are taken to members of the second with the same median and the
same distance between the quartiles, on the second's own scale. Each parameter of the second then gets the law of its
kind (normal on the line, lognormal above 0) with the median and the distance between the quartiles that these members
have.
"""

from typing import Any

import numpy as np

from dither_client import Transform
from dither_estimator.families import Family, FloatArray, PriorTerms
from dither_estimator.families.rescaled import on_scale
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["agreeing_prior"]

_DRAWS = 400
_LEAST = 40
"""Fewer members of the second family than these say too little."""
_QUARTILES = np.array([0.25, 0.5, 0.75])
_QUARTILE_DISTANCE = 1.3489795003921634
"""Of the standard normal."""
_ITERATIONS = 60
_STEP = 1e-5
_NEAR = 1e-6
_FARTHEST = 50.0
"""Logarithms of parameters beyond this are given up."""


def agreeing_prior(first: Prior, first_transform: Transform, family: Family, transform: Transform) -> PriorTerms:
    """The prior of `family` that agrees with `first`; each prior holds on its own family's scale.

    A family of one parameter has the median alone, a third parameter keeps its default prior. Raises `InvalidPrior`
    where members with the same median and spread are too few.
    """
    rng = np.random.default_rng(0)
    members = first.family.constrain(first.sample(rng, _DRAWS))
    quartiles = on_scale(first.family, first_transform, transform).quantiles(members, _QUARTILES)
    quartiles = quartiles[np.isfinite(quartiles).all(axis=1) & (quartiles[:, 0] < quartiles[:, 2])]
    theta = _matched_members(family, quartiles)
    if len(theta) < _LEAST:
        raise InvalidPrior(f"the family {family.name} has few members like those of the first: give it a prior")
    terms: dict[str, Any] = dict(family.default_prior(transform))
    coordinates = family.unconstrain(theta)
    for column, parameter in zip(coordinates.T, family.parameters[:2], strict=False):
        low, middle, high = np.quantile(column, _QUARTILES).tolist()
        sd = (high - low) / _QUARTILE_DISTANCE
        terms[parameter.name] = (
            {"dist": "norm", "loc": middle, "scale": sd}
            if parameter.support == "real"
            else {"dist": "lognorm", "s": sd, "scale": float(np.exp(middle))}
        )
    if "scale" in terms:
        _recentre(family, terms, float(np.median(quartiles[:, 1])))
    return terms


def _recentre(family: Family, terms: dict[str, Any], median: float) -> None:
    """Scales the prior of `scale` so that half of the members have a higher median than this.

    The members' shape and scale go together, and the prior's are independent, so that the centre has moved.
    """
    prior = parse_prior(family, terms)
    members = family.constrain(prior.sample(np.random.default_rng(0), _DRAWS))
    found = float(np.median(family.quantiles(members, _QUARTILES[1:2])))
    if 0 < found < np.inf:
        terms["scale"] = {**terms["scale"], "scale": terms["scale"]["scale"] * median / found}


def _matched_members(family: Family, quartiles: FloatArray) -> FloatArray:
    """Members (m, d) whose medians and distances between the quartiles are those of rows of `quartiles` (n, 3).

    Less the rows to which no member belongs.
    """
    spread = quartiles[:, 2] - quartiles[:, 0]
    theta = np.repeat(family.standard[None], len(quartiles), axis=0)
    if family.names[:2] == ("mu", "sigma"):
        low, middle, high = family.quantiles(family.standard[None], _QUARTILES)[0]
        theta[:, 1] = spread / (high - low)
        theta[:, 0] = quartiles[:, 1] - middle * theta[:, 1]
        return theta
    positive = quartiles[:, 0] > 0
    return _solved(family, theta[positive], np.log(quartiles[positive]))


def _solved(family: Family, theta: FloatArray, log_quartiles: FloatArray) -> FloatArray:
    """For values above 0: Newton's method on the unconstrained coordinates of all rows at once, in steps of at most 1.

    It works on the logarithms of the median and of the quartiles' distance relative to it.
    """
    d = min(2, theta.shape[1])
    wanted = _features(log_quartiles)[:, :d]
    coordinates = family.unconstrain(theta)

    def misfit(at: FloatArray) -> FloatArray:
        found = family.quantiles(family.constrain(at), _QUARTILES)
        return _features(np.log(np.maximum(found, 1e-300)))[:, :d] - wanted

    for _ in range(_ITERATIONS):
        now = misfit(coordinates)
        if np.abs(now).max() < _NEAR:
            break
        slopes = np.empty((len(now), d, d))
        for j in range(d):
            shifted = coordinates.copy()
            shifted[:, j] += _STEP
            slopes[:, :, j] = (misfit(shifted) - now) / _STEP
        step = np.linalg.solve(slopes + 1e-9 * np.eye(d), now[:, :, None])[:, :, 0]
        coordinates[:, :d] = np.clip(coordinates[:, :d] - np.clip(step, -1.0, 1.0), -_FARTHEST, _FARTHEST)
    return family.constrain(coordinates[(np.abs(misfit(coordinates)) < _NEAR).all(axis=1)])


def _features(log_quartiles: FloatArray) -> FloatArray:
    """The log of the median, and of the quartiles' distance over the median, shape (n, 2), from logs (n, 3)."""
    low, middle, high = log_quartiles.T
    distance = np.log(np.maximum(np.expm1(np.clip(high - low, 0.0, 500.0)), 1e-300)) + low - middle
    return np.column_stack([middle, distance])
