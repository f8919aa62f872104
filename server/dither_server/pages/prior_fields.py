"""The fields of the form for a new collection that take a prior, one for each parameter: `prior_mu` for `mu`."""

from collections.abc import Mapping
from typing import Any

from dither_estimator.families import families
from dither_estimator.specification.specification import SpecificationError
from dither_server.pages.typed_fields import number_in, parts_in

__all__ = ["PARAMETERS", "PRIOR_FIELDS", "prior_of"]

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    parameter: tuple(family.name for family in families.values() if parameter in family.names)
    for parameter in dict.fromkeys(name for family in families.values() for name in family.names)
}
"""Every parameter that can have a prior, and the families that have that parameter."""

PRIOR_FIELDS: Mapping[str, str] = {f"prior_{name}": name for name in PARAMETERS}
"""The fields, each with its parameter."""


def prior_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The prior of each parameter whose field is filled in. Raises `SpecificationError`."""
    return {name: _prior(name, form[field]) for field, name in PRIOR_FIELDS.items() if field in form}


def _prior(parameter: str, text: str) -> dict[str, Any]:
    """The prior that a text such as `invgamma, a=1, scale=1, of=variance` writes. Raises `SpecificationError`."""
    wrong = f"prior of {parameter} must be written as a distribution and its parameters, such as norm, loc=0, scale=100"
    dist, *rest = parts_in(text)
    prior: dict[str, Any] = {"dist": dist}
    for part in rest:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or name in prior:
            raise SpecificationError(wrong)
        prior[name] = value if name == "of" else number_in(value, wrong)
    return prior
