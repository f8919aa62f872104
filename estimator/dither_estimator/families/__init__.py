"""Families of distributions. Adding one is one small module and a line in `families`."""

from collections.abc import Mapping
from types import MappingProxyType

from dither_estimator.families.base import Family, FloatArray, Parameter
from dither_estimator.families.gumbel import Gumbel
from dither_estimator.families.laplace import LaplaceFamily
from dither_estimator.families.location_scale import LocationScale
from dither_estimator.families.logistic import Logistic
from dither_estimator.families.normal import Normal

__all__ = [
    "Family",
    "FloatArray",
    "Gumbel",
    "LaplaceFamily",
    "LocationScale",
    "Logistic",
    "Normal",
    "Parameter",
    "families",
]

families: Mapping[str, Family] = MappingProxyType(
    {family.name: family for family in (Normal(), LaplaceFamily(), Logistic(), Gumbel())}
)
"""Every family by its name in a specification."""
