"""The part of the form for a new collection that describes several numbers of each person.

The fields of the second number are `component_2_name`, `component_2_family` and so on, and those of its prior
`component_2_prior_mu` and so on.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dither_client.mechanisms.components import MAX_COMPONENTS, check_component_names
from dither_server.pages.goal_fields import GOAL_TITLES
from dither_server.pages.prior_fields import PRIOR_FIELDS

__all__ = ["COMPONENT_FIELDS", "COMPONENT_TITLES", "component_field_of", "components_of", "numbers_in"]

COMPONENT_FIELDS: Mapping[str, str] = {
    "name": "Name",
    "question": "Question",
    "unit": "Unit",
    "period_of_value": "Period",
    "family": "Shape of the distribution",
    "transform": "How values compare",
    "low": "Most values from",
    "high": "to",
    "minimum": "Least possible value",
    "maximum": "Largest possible value",
    "decimals": "Decimals that may be typed",
    "atoms": "Values that many people have exactly",
    **GOAL_TITLES,
    "prior": "Prior",
}
"""The fields of one number, and what they are called beside it."""

_NUMBERS = range(1, MAX_COMPONENTS + 1)

COMPONENT_TITLES: Mapping[str, str] = {
    f"component_{number}_{name}": f"number {number}, {title}"
    for number in _NUMBERS
    for name, title in COMPONENT_FIELDS.items()
}
"""What the fields of all numbers are called elsewhere."""

_FILLED_IN = (*COMPONENT_FIELDS, *PRIOR_FIELDS)
_FIELD = re.compile(rf"component_({'|'.join(map(str, _NUMBERS))})_({'|'.join(_FILLED_IN)})")
_ABOUT = re.compile(r"the component (.*?): (.*)", re.DOTALL)
"""Any name, also one that is wrong itself."""
_OF_NAMES = re.compile("a component's name|components must have different names")
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted([*COMPONENT_FIELDS, 'range'], key=len, reverse=True))})\b")


def numbers_in(form: Mapping[str, str]) -> list[int]:
    """The numbers of which a field is filled in, increasing."""
    return sorted({int(found[1]) for found in map(_FIELD.fullmatch, form) if found})


def components_of(form: Mapping[str, str]) -> list[dict[str, str]]:
    """The fields of each number that are filled in, by the names that they have in a form for that number alone."""
    return [_fields(form, number) for number in numbers_in(form)]


def component_field_of(sentence: str, form: Mapping[str, str]) -> str | None:
    """The field of a number that an error message is about; None if it is not about one of several numbers."""
    if about := _ABOUT.match(sentence):
        own = [number for number in numbers_in(form) if form.get(f"component_{number}_name") == about[1]]
        named = _NAMED.search(about[2])
        return f"component_{own[0]}_{'low' if named[0] == 'range' else named[0]}" if own and named else None
    if not _OF_NAMES.search(sentence):
        return None
    wrong = _wrong_name(numbers_in(form), form)
    return None if wrong is None else f"component_{wrong}_name"


def _fields(form: Mapping[str, str], number: int) -> dict[str, Any]:
    names = {name: f"component_{number}_{name}" for name in _FILLED_IN}
    return {name: form[own] for name, own in names.items() if own in form}


def _wrong_name(numbers: Sequence[int], form: Mapping[str, str]) -> int | None:
    """The first number whose name is none, or that of one before it."""
    before: list[str] = []
    for number in numbers:
        name = form.get(f"component_{number}_name", "")
        other = "b" if name == "a" else "a"
        try:
            check_component_names([name, other])
        except ValueError:
            return number
        if name in before:
            return number
        before.append(name)
    return None
