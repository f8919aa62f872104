"""Priors for those who give none: wide by default, or from a rough range where most people lie.

All have moments of every order, so that posterior variances exist whatever the answers say: the likelihood of a
clipped answer does not vanish as the scale grows (design section 3).
"""

from typing import Any

from dither_client import Transform
from dither_estimator.families import Family
from dither_estimator.priors import Prior, parse_prior

__all__ = ["default_prior", "prior_from_range"]


def default_prior(family: Family, transform: Transform) -> Prior:
    """Covers `|mu|` up to 1e5 and scales from 0.1 to 1e5; for logarithms, every number that one would meet."""
    if transform == "identity":
        return _location_scale_prior(family, location=0.0, location_sd=1e5, scale=100.0, log_scale_sd=3.0)
    return _location_scale_prior(family, location=0.0, location_sd=30.0, scale=1.0, log_scale_sd=1.5)


def prior_from_range(family: Family, limits: tuple[float, float]) -> Prior:
    """The range, on the transformed scale, is read as about two scales either side of the centre, roughly."""
    low, high = limits
    width = high - low
    return _location_scale_prior(
        family, location=low + width / 2, location_sd=width / 2, scale=width / 4, log_scale_sd=1.0
    )


def _location_scale_prior(
    family: Family, location: float, location_sd: float, scale: float, log_scale_sd: float
) -> Prior:
    parts: dict[str, dict[str, Any]] = {
        "mu": {"dist": "norm", "loc": location, "scale": location_sd},
        "sigma": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }
    return parse_prior(family, parts)
