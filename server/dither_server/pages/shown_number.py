"""Each number whose distribution a collection's page shows, and how its values are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither_client.posterior.digits import rounded
from dither_client.posterior.sentences import narrow_goal_sentence, title_with_unit, unit_text
from dither_estimator.specification.specification import Specification

__all__ = ["ShownNumber", "narrow_goals", "shown"]


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
    goal: str
    """What its bands do not hold for, since questions were about something else; empty where there is nothing."""


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


def narrow_goals(specification: Specification, terms: Mapping[str, Any]) -> list[str]:
    """What the bands of each number do not hold for, in sentences."""
    return [
        f"{each.name}: {each.goal}" if each.name else each.goal for each in shown(specification, terms) if each.goal
    ]


def _number(name: str, title: str, specification: Specification, asked: Mapping[str, Any]) -> ShownNumber:
    unit, decimals = unit_text(asked), asked.get("decimals")
    goal = _narrow_goal(specification, unit)
    if specification.family.discrete or (specification.nonparametric and decimals == 0):
        return ShownNumber(
            name, title, unit, decimals, "share of the people", "The share of the people with each value.", goal
        )
    atoms = [rounded(atom, 12) for atom in specification.support.atoms]
    exactly = f"Those who have exactly {', '.join(atoms)} are not in the curve. " if atoms else ""
    density = f"density per {unit}" if unit else "density"
    return ShownNumber(name, title, unit, decimals, density, f"{exactly}Areas are shares of the people.", goal)


def _narrow_goal(specification: Specification, unit: str) -> str:
    """Where bands may be too narrow because a goal without a family asks for something else."""
    goal = specification.goal
    if not specification.nonparametric or goal.distribution:
        return ""
    return narrow_goal_sentence(goal.levels, goal.values, unit)
