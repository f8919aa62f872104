"""All mechanisms that collections can use, by their names in a specification; simpler ones come first."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from dither_estimator.design.gaussian import GaussianDesign
from dither_estimator.design.laplace import LaplaceDesign
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.randomized_response import RandomizedResponseDesign
from dither_estimator.design.staircase import StaircaseDesign

__all__ = ["MECHANISMS", "STATING_RHO", "USUAL", "WITHOUT_FAMILY", "WITH_FAMILY", "Mechanism"]

MECHANISMS: Mapping[str, MechanismDesign] = MappingProxyType(
    {kind.name: kind for kind in (LaplaceDesign(), RandomizedResponseDesign(), StaircaseDesign(), GaussianDesign())}
)

WITH_FAMILY = LaplaceDesign.name
WITHOUT_FAMILY = RandomizedResponseDesign.name
"""The mechanisms that collections have unless they name another."""

USUAL = f"{WITH_FAMILY}; without a family {WITHOUT_FAMILY}"
"""That, for the help of commands."""

STATING_RHO = tuple(name for name, kind in MECHANISMS.items() if kind.rho_bounds)
"""The mechanisms for which ρ can be given instead of ε."""

if TYPE_CHECKING:
    Mechanism: TypeAlias = str
else:
    Mechanism = Literal[tuple(MECHANISMS)]
