"""Competing families for the same answers: the field `families` of a specification.

The first family's posterior chooses the questions about θ and sets their scale. Each other family is evaluated at the
same cuts mapped to its own scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither_client import Transform
from dither_estimator.families import Family, PriorTerms, find_family
from dither_estimator.families.rescaled import on_scale
from dither_estimator.priors.matching import agreeing_prior
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["MAX_FAMILIES", "CompetingFamily", "InvalidFamilies", "first_family", "parse_competing"]

MAX_FAMILIES = 8
_ENTRY = ("family", "transform", "prior")


class InvalidFamilies(ValueError):
    """`families` is not a list of families that can be compared."""


@dataclass(frozen=True)
class CompetingFamily:
    """A family that competes with the first; `prior.family` expresses it on the scale of the questions."""

    transform: Transform
    """The scale on which the family holds."""
    prior: Prior


def first_family(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The specification `data` with the fields of the first of its `families`, if it lists any.

    Raises `InvalidFamilies`.
    """
    entries = data.get("families")
    if entries is None:
        return data
    if not isinstance(entries, list | tuple) or not 2 <= len(entries) <= MAX_FAMILIES:
        raise InvalidFamilies(f"families must be a list of 2 to {MAX_FAMILIES} families to compare")
    for entry in entries:
        if not isinstance(entry, Mapping) or not {"family"} <= set(entry) <= set(_ENTRY):
            raise InvalidFamilies("each of families must be an object with family and optionally transform and prior")
    first = {"transform": "identity", **{field: value for field, value in entries[0].items() if value is not None}}
    for field in _ENTRY:
        if data.get(field) is not None and data[field] != first.get(field):
            raise InvalidFamilies(f"{field} must be left out or equal that of the first of families")
    return {**data, **first}


def parse_competing(data: Mapping[str, Any], prior: Prior, transform: Transform) -> tuple[CompetingFamily, ...]:
    """The families after the first, whose prior and transform are given.

    A family without a prior gets one that matches the first's (`priors.matching`); one of integers gets the prior
    for the `range` or its default. Raises `InvalidFamilies` or `InvalidPrior`.
    """
    competing: list[CompetingFamily] = []
    seen = {(prior.family.name, transform)}
    for entry in (data.get("families") or ())[1:]:
        family, own = _family(entry)
        if (family.name, own) in seen:
            raise InvalidFamilies(f"families lists {family.name} with transform {own} twice")
        seen.add((family.name, own))
        terms = entry.get("prior")
        if terms is None:
            terms = _prior_terms(family, own, data.get("range"), prior, transform)
        competing.append(CompetingFamily(own, Prior(on_scale(family, own, transform), _parsed(family, terms).parts)))
    return tuple(competing)


def _family(entry: Mapping[str, Any]) -> tuple[Family, Transform]:
    try:
        family = find_family(entry["family"])
    except ValueError as error:
        raise InvalidFamilies(str(error)) from None
    own = entry.get("transform") or "identity"
    if own not in family.transforms:
        raise InvalidFamilies(f"transform of {family.name} must be one of {', '.join(family.transforms)}")
    return family, own


def _parsed(family: Family, terms: PriorTerms) -> Prior:
    try:
        return parse_prior(family, terms)
    except InvalidPrior as error:
        raise InvalidPrior(f"{family.name} among families: {error}") from None


def _prior_terms(
    family: Family, own: Transform, limits: Sequence[Any] | None, prior: Prior, transform: Transform
) -> PriorTerms:
    if not family.discrete:
        return agreeing_prior(prior, transform, family, own)
    if limits is None:
        return family.default_prior(own)
    low, high = (float(end) for end in limits)
    return family.range_prior(low, high, guessed=True)
