"""The components of a collection: several numbers of each person, each with a small specification of its own."""

from collections.abc import Mapping
from typing import Any

from dither_client.mechanisms.components import check_component_names
from dither_client.tables.file_errors import unknown_field
from dither_estimator.design.registry import WITH_FAMILY, WITHOUT_FAMILY
from dither_estimator.specification.fields import SEVERAL, SpecificationError

__all__ = ["COMPONENT_TEXTS", "component_fields", "refuse_fields_beside_components"]

COMPONENT_TEXTS = ("question", "unit", "period_of_value", "decimals")
"""Fields of a component that the statistics do not use."""
_STATISTICS = ("family", "transform", "prior", "range", "minimum", "maximum", "atoms", "goal")
_SHARED = ("epsilon", "mechanism", "policy", "particles")
"""Fields of the collection that hold for each of its components."""
_NOT_BESIDE_COMPONENTS = (
    *_STATISTICS, "epsilon_choices", "rho", "levels", "misfit_check", "misfit_looks", "families", "discriminate",
    "member_cuts", "categories", "groups", "period", "drift", "panel", "unit", "period_of_value", "decimals",
)  # fmt: skip
_TOLD = {"family": SEVERAL.name, "transform": "identity", "goal": SEVERAL.name}
"""What the terms of such a collection say in place of a single number's fields."""


def refuse_fields_beside_components(data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if a field is given that a collection with components cannot have.

    Its own terms are no such case.
    """
    for name in _NOT_BESIDE_COMPONENTS:
        value = data.get(name)
        off = value is False and name not in (*_STATISTICS, *COMPONENT_TEXTS)
        if not (value is None or off or value == _TOLD.get(name)):
            each = " or give it for each component" if name in (*_STATISTICS, *COMPONENT_TEXTS) else ""
            raise SpecificationError(f"{name} cannot go with components: leave {name} out{each}")


def component_fields(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of the specification of each component alone, by its name. Raises `SpecificationError`."""
    components = data["components"]
    if not isinstance(components, list | tuple) or not all(isinstance(each, Mapping) for each in components):
        raise SpecificationError(
            'components must be a list of objects such as {"name": "wage", "family": "normal", "transform": "log"}'
        )
    try:
        check_component_names([each.get("name") for each in components])
    except ValueError as error:
        raise SpecificationError(str(error)) from None
    known = ("name", *_STATISTICS, *COMPONENT_TEXTS)
    for each in components:
        if unknown := sorted(set(map(str, each)) - set(known)):
            raise SpecificationError(f"the component {each['name']} has {unknown_field(unknown[0], known)}")
    shared = {name: data[name] for name in _SHARED if name in data}
    if shared.get("mechanism") is None:
        every = all(each.get("family") is not None for each in components)
        shared["mechanism"] = WITH_FAMILY if every else WITHOUT_FAMILY
    return {each["name"]: {**each, **shared} for each in components}
