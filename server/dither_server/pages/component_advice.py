"""Advice on a collection of several numbers of each person before it is created."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dither_client.mechanisms.epsilon import epsilon_text
from dither_estimator.dependence.design import MOST_COMPONENTS, joint_design
from dither_estimator.specification.contradictions import new_specification
from dither_server.pages.advice import respondents_of
from dither_server.pages.new_collection import specification_of

__all__ = ["ComponentAdvice", "advise_on_components"]

_EFFICIENCY = 0.9
"""The least share of a design's precision that is left when so many are asked about one number as are asked here."""
_SURELY = 1.645
"""Half of a 90% interval, in standard deviations."""


@dataclass(frozen=True)
class ComponentAdvice:
    """Half widths of 90% intervals for numbers that are about normal and not correlated; None for those above 1."""

    numbers: int
    """How many numbers this is for: the collection's, or the most that a design is made for."""
    more: bool
    """Whether the collection has more."""
    respondents: int
    epsilon: str
    middle: float | None
    """That of each number's middle, as a share of its spread."""
    spread: float | None
    """That of each number's spread, as a share of it."""
    correlation: float | None
    """That of each correlation."""


def advise_on_components(form: Mapping[str, str]) -> ComponentAdvice:
    """The advice for a form with several numbers. Raises `SpecificationError` or `DesignError`."""
    spec = new_specification(specification_of({"name": "unnamed"} | dict(form)))
    respondents, components = respondents_of(form), len(spec.components)
    planned = min(components, MOST_COMPONENTS)
    design = joint_design(planned, 0.0, spec.epsilon)
    variances = dict(zip(design.normals.names, design.variances.tolist(), strict=True))
    widths = [
        _SURELY * math.sqrt(variances[name] / _EFFICIENCY / respondents) for name in ("mu_1", "sigma_1", "rho_12")
    ]
    middle, spread, correlation = (width if width <= 1 else None for width in widths)
    return ComponentAdvice(
        planned, components > planned, respondents, epsilon_text(spec.epsilon), middle, spread, correlation
    )
