"""Families of positive values with a shape and a scale."""

from typing import ClassVar

from dither_estimator.families.base import Family, Parameter, PriorTerms

__all__ = ["ShapeScale", "shape_scale_prior"]


class ShapeScale(Family):
    """A family of positive values that a scale multiplies, and whose distribution has one more parameter, its shape."""

    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("shape", "positive"), Parameter("scale", "positive"))

    @property
    def shapes(self) -> tuple[int, ...]:
        return (0,)


def shape_scale_prior(shape: float, log_shape_sd: float, scale: float, log_scale_sd: float) -> PriorTerms:
    """Lognormal priors with the given medians and standard deviations of the logarithm."""
    return {
        "shape": {"dist": "lognorm", "s": log_shape_sd, "scale": shape},
        "scale": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }
