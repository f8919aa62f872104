"""Which parameters answers cannot tell, however many there are: those that shares below few cuts do not determine."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from dither_estimator.families import Family, FloatArray

__all__ = ["cannot_tell"]

_MOST_CUTS = 64
"""The most cuts whose slopes are computed."""
_LEAST_SLOPE = 1e-4
"""Where no share changes faster than this with a parameter, slopes are too inexact to compare (`cdf_gradient`)."""
_DEPENDENT = 1e-5
"""Columns of slopes whose smallest singular value is below this share of the largest depend on each other."""
_TAKES_PART = 1e-3
"""The least component of a parameter in a direction along which no share changes."""


def cannot_tell(family: Family, members: FloatArray, cuts: Collection[float]) -> tuple[str, ...]:
    """The parameters that the shares of people below `cuts` do not determine.

    Answers at some cuts say nothing of a population but the shares below each. With at least as many cuts as
    parameters, only those are named with which no share changes at any of `members` (n, d), as of a coin whose cuts lie
    beyond 1. With fewer, a parameter counts as determined if at one of the members no direction in which none of the
    shares changes has a component along it; members far from every cut, whose shares hardly change, are left out.
    """
    slopes = family.cdf_gradient(members, _some(cuts)) * _units(family, members)[:, None, :]
    sizes = np.linalg.norm(slopes, axis=1)
    unknown = (sizes == 0).all(axis=0)
    moves = ~unknown
    usable = (sizes > _LEAST_SLOPE)[:, moves].all(axis=1)
    if slopes.shape[1] < moves.sum() and usable.any():
        directions = slopes[usable][:, :, moves] / sizes[usable][:, None, moves]
        unknown[moves] = _undetermined(directions).all(axis=0)
    return tuple(name for name, missing in zip(family.names, unknown, strict=True) if missing)


def _units(family: Family, members: FloatArray) -> FloatArray:
    """What a unit of each coordinate is to each member: of a location, the width of its middle half; shape (n, d)."""
    coordinates = family.unconstrain(members)
    width = np.diff(family.quantiles(members, np.array([0.25, 0.75])), axis=1)[:, 0]
    return np.column_stack(
        [
            width if parameter.support == "real" else np.exp(parameter.log_jacobian(coordinates[:, j]))
            for j, parameter in enumerate(family.parameters)
        ]
    )


def _some(cuts: Collection[float]) -> FloatArray:
    """The cuts, or some of them that lie evenly among very many: what these tell, all of them tell."""
    ordered = np.array(sorted(set(cuts)))
    return ordered[np.unique(np.linspace(0, len(ordered) - 1, _MOST_CUTS).astype(int))]


def _undetermined(slopes: FloatArray) -> npt.NDArray[np.bool_]:
    """Which columns of each of `slopes` (n, k, d) take part in a direction in which nothing changes, shape (n, d)."""
    _, singular, directions = np.linalg.svd(slopes, full_matrices=True)
    still = np.ones(directions.shape[:2], dtype=bool)
    still[:, : singular.shape[1]] = singular <= _DEPENDENT * singular[:, :1]
    return ((np.abs(directions) > _TAKES_PART) & still[:, :, None]).any(axis=1)
