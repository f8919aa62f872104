"""The prior shared by families of positive values with a shape and a scale."""

from dither_estimator.families.base import PriorTerms

__all__ = ["shape_scale_prior"]


def shape_scale_prior(shape: float, log_shape_sd: float, scale: float, log_scale_sd: float) -> PriorTerms:
    """Lognormal priors with the given medians and standard deviations of the logarithm."""
    return {
        "shape": {"dist": "lognorm", "s": log_shape_sd, "scale": shape},
        "scale": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }
