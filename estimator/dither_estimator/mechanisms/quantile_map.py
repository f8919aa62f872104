"""The map that transports questions between members of a family: to the points with the same probability below."""

import numpy as np

from dither_estimator.families import Family, FloatArray

__all__ = ["points_above", "share_below"]

_MAX_INTEGERS = 1_024
"""If members span more integers than this, a fraction of an integer does not matter."""


def share_below(family: Family, member: FloatArray, edges: FloatArray) -> FloatArray:
    """The probability below each edge (k,) under a member (d,).

    Integers count as spread evenly over half a unit on either side, so that edges between the same two integers stay
    apart.
    """
    if not family.discrete:
        return np.asarray(family.cdf(member[None], edges)[0])
    number = np.floor(edges - 0.5)
    below, above = family.cdf(member[None], np.concatenate([number, number + 1.0]))[0].reshape(2, -1)
    return below + (edges - 0.5 - number) * (above - below)


def points_above(family: Family, members: FloatArray, shares: FloatArray) -> FloatArray:
    """The points (n, k) below which members (n, d) have these probabilities (k,): the inverse of `share_below`."""
    quantiles = family.quantiles(members, shares)
    if not family.discrete:
        return quantiles
    first, last = quantiles.min() - 1.0, quantiles.max()
    if not last - first <= _MAX_INTEGERS:
        return quantiles
    cdf = family.cdf(members, np.arange(first, last + 1.0))
    places = (quantiles - first).astype(np.int64)
    above, below = (np.take_along_axis(cdf, places - shift, axis=1) for shift in (0, 1))
    inside = np.clip((shares - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    return quantiles - 0.5 + inside
