"""Everything that is wrong with the form for a new collection, each beside the field that it is about.

Reading a collection stops at the first thing that is wrong. So what is wrong is taken out of the form, or replaced by
something that is right, and the rest is read again, as long as more is found. What follows from that is not told.
"""

import json
import re
from collections.abc import Iterator, Mapping

from dither_estimator.specification.specification import SpecificationError
from dither_server.collections.specification import parse_new_spec
from dither_server.errors import InvalidBody
from dither_server.http.bodies import parse_json
from dither_server.pages.new_collection import TITLES, field_of, named_in, specification_of

__all__ = ["wrong_fields"]

_MOST = 20
"""How often a form is read: each time takes some milliseconds."""
_RIGHT: Mapping[str, str] = {
    "name": "unnamed",
    "epsilon": "1",
    "low": "1",
    "policy_low": "1",
    "panel_answers": "1",
}
"""What takes the place of fields that have to be there, or that are read before another one."""
_TOGETHER: Mapping[str, tuple[str, ...]] = {
    "low": ("low", "high", "range"),
    "high": ("low", "high", "range"),
    "range": ("low", "high", "range"),
    "goal": ("goal_of", "goal"),
    "goal_of": ("goal_of", "goal"),
    "policy": ("policy", "policy_low", "policy_high"),
    "policy_low": ("policy", "policy_low", "policy_high"),
    "policy_high": ("policy", "policy_low", "policy_high"),
    "panel": ("panel", "panel_answers", "panel_periods"),
    "panel_answers": ("panel", "panel_answers", "panel_periods"),
    "panel_periods": ("panel", "panel_answers", "panel_periods"),
}
"""Fields that are read together, with what their fieldset is called: one of them alone would be wrong again."""
_BEGINNINGS: Mapping[str, str] = {"prior": "prior_", "families": "competing_"}
"""How the fields of a fieldset begin."""
_DECIDE = ("family", "mechanism")
"""Fields by which others are right or wrong: without them nothing more can be told."""
_OF_NUMBER = re.compile(r"(component_\d_)?(.*)")


def wrong_fields(form: Mapping[str, str], first: str) -> dict[str, str]:
    """What is wrong with a form that was refused with the sentence `first`, by field, in the order of the form.

    It is empty if that sentence is about no field.
    """
    field = field_of(first, form)
    if field is None:
        return {}
    found = {field: first}
    found |= {other: sentence for other, sentence in _others(form, field) if other != field}
    places = {name: place for place, name in enumerate(TITLES)}
    return {name: found[name] for name in sorted(found, key=lambda name: places.get(name, len(places)))}


def _others(form: Mapping[str, str], field: str | None) -> Iterator[tuple[str, str]]:
    """What else is wrong with a form whose `field` is wrong, each with its field."""
    seen: set[str] = set()
    gone: set[str] = set()
    for _ in range(_MOST):
        if field is None or _OF_NUMBER.sub(r"\2", field) in _DECIDE:
            return
        form, taken = _without(form, field, again=field in seen)
        if not taken:
            return
        seen.add(field)
        gone |= taken - {"name"}  # a word of many sentences
        try:
            parse_new_spec(parse_json(json.dumps(specification_of(form)).encode()))
        except (InvalidBody, SpecificationError) as error:
            sentence = str(error)
        else:
            return
        field = field_of(sentence, form)
        if field is not None and not gone & named_in(sentence, form) and field not in seen:
            yield field, sentence


def _without(form: Mapping[str, str], field: str, again: bool) -> tuple[dict[str, str], set[str]]:
    """The form with something right in place of a field, or else without it and those that go with it; and which."""
    prefix, own = (part or "" for part in _OF_NUMBER.fullmatch(field).groups())  # type: ignore[union-attr]
    if own in _RIGHT and not again and not (own == "name" and prefix) and not (own == "epsilon" and "rho" in form):
        return {**form, field: _RIGHT[own]}, {field}
    names = {prefix + name for name in _TOGETHER.get(own, (own,))}
    if own in _BEGINNINGS:
        names |= {name for name in form if name.startswith(prefix + _BEGINNINGS[own])}
    left = {name: text for name, text in form.items() if name not in names}
    taken = names if len(left) < len(form) else set[str]()
    if own == "rho":
        left.setdefault("epsilon", _RIGHT["epsilon"])
    return left, taken
