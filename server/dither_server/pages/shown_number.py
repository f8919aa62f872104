"""Each number whose distribution a collection's page shows, and how its values are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither_client.posterior.digits import rounded
from dither_client.posterior.sentences import title_with_unit, unit_text
from dither_estimator.specification.specification import Specification

__all__ = ["ShownNumber", "shown"]


@dataclass(frozen=True)
class ShownNumber:
    """One of several numbers, or the only one of a collection."""

    name: str
    """Empty if it is the only one."""
    title: str
    """The title of an axis of its values."""
    unit: str
    decimals: int | None
    density: str
    """The title of an axis of its density."""
    note: str
    """What the picture of its density says."""


def shown(specification: Specification, terms: Mapping[str, Any]) -> Sequence[ShownNumber]:
    """The numbers of a collection; none of categories."""
    if specification.categories:
        return []
    if not specification.components:
        return [_number("", unit_text(terms) or "value", specification, terms)]
    return [
        _number(each["name"], title_with_unit(each), part.specification, each)
        for part, each in zip(specification.components, terms["components"], strict=True)
    ]


def _number(name: str, title: str, specification: Specification, asked: Mapping[str, Any]) -> ShownNumber:
    unit, decimals = unit_text(asked), asked.get("decimals")
    if specification.family.discrete:
        return ShownNumber(
            name, title, unit, decimals, "share of the people", "The share of the people with each value."
        )
    atoms = [rounded(atom, 12) for atom in specification.support.atoms]
    exactly = f"Those who have exactly {', '.join(atoms)} are not in the curve. " if atoms else ""
    density = f"density per {unit}" if unit else "density"
    return ShownNumber(name, title, unit, decimals, density, f"{exactly}Areas are shares of the people.")
