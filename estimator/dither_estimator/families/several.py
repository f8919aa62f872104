"""Several numbers of each person, each with a family of its own (`dither_estimator.dependence`)."""

from typing import ClassVar

from dither_client import Transform
from dither_estimator.families.nonparametric import Nonparametric

__all__ = ["Several"]


class Several(Nonparametric):
    """A collection of components: it has no parameters and no scale of its own, but each component has."""

    name: ClassVar[str] = "components"
    transforms: ClassVar[tuple[Transform, ...]] = ("identity",)
    shape: ClassVar[str] = "components"
