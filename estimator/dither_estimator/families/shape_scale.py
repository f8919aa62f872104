"""Families of positive values with a shape and a scale."""

import math
from typing import ClassVar

from dither_estimator.families.base import Family, Parameter, PriorTerms

__all__ = ["ShapeScale", "relative_middle", "shape_scale_prior"]

_MOST_RELATIVE_MIDDLE = 1e4
"""Narrower ranges count as this, so that distribution functions of such shapes are exact."""


class ShapeScale(Family):
    """A family of positive values that a scale multiplies, and whose distribution has one more parameter, its shape."""

    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("shape", "positive"), Parameter("scale", "positive"))
    support: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @property
    def shapes(self) -> tuple[int, ...]:
        return (0,)


def shape_scale_prior(shape: float, log_shape_sd: float, scale: float, log_scale_sd: float) -> PriorTerms:
    """Lognormal priors with the given medians and standard deviations of the logarithm."""
    return {
        "shape": {"dist": "lognorm", "s": log_shape_sd, "scale": shape},
        "scale": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }


def relative_middle(low: float, high: float) -> float:
    """The middle of a range of positive values divided by half its width: 1 if it begins at 0, more if it is narrow.

    What lies below 0 does not count.
    """
    least, most = max(low, 0.0), max(abs(low), abs(high))
    return (least + most) / max(most - least, (least + most) / _MOST_RELATIVE_MIDDLE)
