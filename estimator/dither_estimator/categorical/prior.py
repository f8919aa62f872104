"""The prior of the shares of categories: how much they differ is learnt, too.

Shares are in proportion to `exp(spread · t)` with an independent t of each category, which has Student's distribution
with 4 degrees of freedom, and the logarithm of the spread is normal with mean log 1.5 and sd 1. So shares may be about
equal or span many orders of magnitude, and a few categories may stand apart from all the others. It expects four fifths
of the people in 4 of 10 categories, 8 of 32 and 14 of 64.

Where there are public groups, these are the log weights that all groups have in common. A group's are apart from them
by `between · t`, with an independent t of each category and group, so that a group may differ in one category and be
like the others in the rest; the logarithm of `between` is normal with mean log 0.4 and sd 1. Where the groups' log
weights may depend on a number of each group, the slope of each category is normal with mean 0 and sd 0.5.
"""

import math

import numpy as np

from dither_estimator.families import FloatArray

__all__ = [
    "SD",
    "curvature",
    "log_density",
    "log_density_of_between",
    "log_density_of_spread",
    "log_terms",
    "prior_draws",
    "shared_curvature",
    "shared_log_terms",
    "shared_slopes",
    "shares_of",
    "slopes",
]

_DEGREES = 4.0
SD = math.sqrt(_DEGREES / (_DEGREES - 2))
"""The standard deviation of t."""
_MEDIAN_SPREAD, _SD_OF_LOG_SPREAD = 1.5, 1.0
_MEDIAN_BETWEEN, _SD_OF_LOG_BETWEEN = 0.4, 1.0
_SLOPE_SD = 0.5
_LEAST_LOG = -690.0
"""The log of the smallest share, beside the largest: its exponential is no longer a normal double below."""


def shares_of(log_weights: FloatArray) -> FloatArray:
    """Shares in proportion to the exponentials, shape (…, categories); each row sums to 1."""
    weights = np.exp(np.maximum(log_weights - log_weights.max(axis=-1, keepdims=True), _LEAST_LOG))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def prior_draws(rng: np.random.Generator, categories: int, draws: int) -> FloatArray:
    """Shares from the prior, shape (draws, categories)."""
    spreads = _MEDIAN_SPREAD * np.exp(_SD_OF_LOG_SPREAD * rng.standard_normal((draws, 1)))
    return shares_of(spreads * rng.standard_t(_DEGREES, (draws, categories)))


def log_density(log_weights: FloatArray, spreads: FloatArray) -> FloatArray:
    """That of log weights (…, n, categories), given the spread (n,) of each, but for a constant; shape (…, n)."""
    return np.asarray(log_terms(log_weights, spreads).sum(axis=-1))


def log_terms(log_weights: FloatArray, spreads: FloatArray) -> FloatArray:
    """The part of each log weight in `log_density`, shape (…, n, categories)."""
    each = spreads[:, np.newaxis]
    return np.asarray(-(_DEGREES + 1) / 2 * np.log1p((log_weights / each) ** 2 / _DEGREES) - np.log(each))


def log_density_of_spread(spreads: FloatArray) -> FloatArray:
    """That of the logarithms of spreads, but for a constant."""
    return np.asarray(-0.5 * (np.log(spreads / _MEDIAN_SPREAD) / _SD_OF_LOG_SPREAD) ** 2)


def log_density_of_between(between: FloatArray) -> FloatArray:
    """That of the logarithms of spreads between groups, but for a constant."""
    return np.asarray(-0.5 * (np.log(between / _MEDIAN_BETWEEN) / _SD_OF_LOG_BETWEEN) ** 2)


def slopes(log_weights: FloatArray, spreads: FloatArray) -> FloatArray:
    """The derivative of `log_density` by each log weight, shape (…, n, categories)."""
    scaled = log_weights / spreads[:, np.newaxis]
    return np.asarray(-(_DEGREES + 1) * scaled / (_DEGREES + scaled**2) / spreads[:, np.newaxis])


def curvature(log_weights: FloatArray, spreads: FloatArray) -> FloatArray:
    """About minus its second derivative, and positive: `slopes` over the log weights; greatest at 0."""
    return np.asarray((_DEGREES + 1) / (_DEGREES * spreads[..., np.newaxis] ** 2 + log_weights**2))


def shared_log_terms(row: int, place: FloatArray, spreads: FloatArray) -> FloatArray:
    """As `log_terms` of what all groups share (n, categories): of what is common in row 0, of slopes in row 1."""
    return log_terms(place, spreads) if row == 0 else np.asarray(-0.5 * (place / _SLOPE_SD) ** 2)


def shared_slopes(row: int, place: FloatArray, spreads: FloatArray) -> FloatArray:
    """The derivative of `shared_log_terms`, shape (n, categories)."""
    return slopes(place, spreads) if row == 0 else np.asarray(-place / _SLOPE_SD**2)


def shared_curvature(row: int, spreads: FloatArray) -> FloatArray:
    """Minus its second derivative at 0, shape (n, 1)."""
    return curvature(np.zeros(1), spreads) if row == 0 else np.full((len(spreads), 1), _SLOPE_SD**-2)
