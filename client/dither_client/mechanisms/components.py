"""The components of a collection: the several numbers that each respondent holds, with a name for each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dither_client.errors import InvalidQuery, InvalidValue
from dither_client.forgetting import forgetful
from dither_client.mechanisms.bounds import ANYTHING, Bounds
from dither_client.mechanisms.query import Transform, check_transform, check_value

__all__ = ["MAX_COMPONENTS", "Component", "check_component_names", "check_components", "held_number", "numbers_of"]

MAX_COMPONENTS = 8
"""The most numbers of one respondent that a collection asks about."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Component:
    """One of the numbers, as the terms describe it. Two are equal if they limit questions and values alike."""

    name: str
    transform: Transform
    bounds: Bounds = ANYTHING
    question: str | None = field(default=None, compare=False)
    """The words that ask for the number."""
    unit: str | None = field(default=None, compare=False)
    period_of_value: str | None = field(default=None, compare=False)
    decimals: int | None = field(default=None, compare=False)
    """How many decimals the number may be typed with, and is shown with; None for any."""

    @staticmethod
    def from_json(data: object) -> "Component":
        """Reads what `to_json` wrote; raises `ValueError` and the like for anything else."""
        assert isinstance(data, Mapping)
        minimum, maximum = (None if data[name] is None else float(str(data[name])) for name in ("minimum", "maximum"))
        return Component(str(data["name"]), check_transform(data["transform"]), Bounds(minimum, maximum))

    def to_json(self) -> dict[str, object]:
        """What limits questions and values, as a JSON object for a ledger."""
        bounds = {"minimum": self.bounds.minimum, "maximum": self.bounds.maximum}
        return {"name": self.name, "transform": self.transform, **bounds}


def check_component_names(names: Sequence[object]) -> None:
    """Raises `ValueError` unless there are 2 to `MAX_COMPONENTS` different names of letters, digits, `_` and `-`."""
    if not 2 <= len(names) <= MAX_COMPONENTS:
        raise ValueError(f"there must be 2 to {MAX_COMPONENTS} components, not {len(names)}")
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        raise ValueError("a component's name has 1 to 64 letters, digits, underscores and hyphens")
    if len(set(names)) < len(names):
        raise ValueError("components must have different names")


def check_components(components: object) -> tuple[int, ...]:
    """Increasing numbers of components. Raises `InvalidQuery`."""
    if isinstance(components, str) or not isinstance(components, Sequence):
        raise InvalidQuery("components must be a list of whole numbers")
    for component in components:
        if isinstance(component, bool) or not isinstance(component, int) or not 0 <= component < MAX_COMPONENTS:
            raise InvalidQuery(f"a component's number must be 0 to {MAX_COMPONENTS - 1}")
    if list(components) != sorted(set(components)):
        raise InvalidQuery("the numbers of components must increase")
    return tuple(components)


@forgetful
def numbers_of(components: Sequence[Component], value: object) -> tuple[float, ...]:
    """The numbers of a mapping by name, in the order of the components; each has to be within its bounds.

    Raises `InvalidValue`, with a text that names a component and repeats no value.
    """
    names = [component.name for component in components]
    if not isinstance(value, Mapping):
        raise InvalidValue(f"the value must have a number for each of {', '.join(names)}")
    for given in value:
        if given not in names:
            shown = f": {given}" if isinstance(given, str) and _NAME.fullmatch(given) and given[0].isalpha() else ""
            raise InvalidValue(f"the value has a name that is no component{shown}; components are {', '.join(names)}")
    numbers = []
    for component in components:
        if component.name not in value:
            raise InvalidValue(f"the value lacks the component {component.name}")
        number = check_value(value[component.name], component.name)
        component.bounds.check(number, component.name)
        numbers.append(number)
    return tuple(numbers)


def held_number(value: object, component: int) -> float:
    """The number of a component among those that a respondent holds. Raises `InvalidValue`."""
    if isinstance(value, str) or not isinstance(value, Sequence) or component >= len(value):
        raise InvalidValue("the question is about one of several numbers: the value must have a number for each")
    return check_value(value[component])
