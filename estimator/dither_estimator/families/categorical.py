"""Unordered categories: what is learnt is the share of each (`dither_estimator.categorical`)."""

from typing import ClassVar

from dither_client import Transform
from dither_estimator.families.nonparametric import Nonparametric

__all__ = ["Categorical"]


class Categorical(Nonparametric):
    """Shares of categories: it has no parameters and no scale, and what needs some does not apply to it."""

    name: ClassVar[str] = "categorical"
    transforms: ClassVar[tuple[Transform, ...]] = ("identity",)
    label: ClassVar[str] = "Categories instead of numbers"
    shape: ClassVar[str] = "categories"
