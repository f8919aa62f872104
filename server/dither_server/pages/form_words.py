"""What is wrong with the form for a new collection, in the words of the form: other programs are told of their JSON."""

import re
from collections.abc import Mapping

from dither_client.errors import InvalidValue
from dither_client.typed_numbers import read_typed, written
from dither_server.pages.component_form import COMPONENT_FIELDS
from dither_server.pages.new_collection import FIELD, TITLES, field_of

__all__ = ["in_words"]

_SYMBOLS = ("epsilon", "rho")
"""Names of fields that the form writes as symbols."""
_WORDS: Mapping[str, str] = {
    r"^name: Field required": "{name} is required",
    r"^name:": "{name}:",
    r"range must be \[low, high\], two finite numbers with low below high": "{low} must be below {high}",
    r"range must lie above 0": "{low} must be above 0",
    r"range must not begin below 0": "{low} must not be below 0",
    r"range must not begin below minimum": "{low} must not be below {minimum}",
    r"range must not end above maximum": "{high} must not be above {maximum}",
    r"range must be of numbers": "{low} and {high} must be numbers",
    r"low of the range": "{low}",
    r"high of the range": "{high}",
    r"transform of (\w+) must be one of identity": r"{transform} must be by differences for \1",
    r"when transform is log": "where values compare by ratios",
    r"leave transform out": "compare values by differences",
}
"""What the form calls that which sentences about JSON call otherwise, with places for the titles of its fields."""


def in_words(sentence: str, form: Mapping[str, str]) -> str:
    """An error message about a form, with the titles of its fields, and a wrong range as it was read."""
    own = re.match(r"component_\d_", field_of(sentence, form) or "")
    titles = {name: f"“{title}”" for name, title in (COMPONENT_FIELDS if own else TITLES).items()}
    told = sentence
    for said, words in _WORDS.items():
        told = re.sub(said, words.format(**titles), told)
    read = _range_read(form, own[0] if own else "") if "range must" in sentence else ""
    return FIELD.sub(lambda name: _titled(name[0]), told.removesuffix(".") + read)


def _range_read(form: Mapping[str, str], prefix: str) -> str:
    """What the ends of the range were read as; empty if they are no numbers, which is told instead."""
    try:
        low, high = (written(read_typed(form.get(prefix + end, "")).value) for end in ("low", "high"))
    except InvalidValue:
        return ""
    return f"; they were read as {low} and {high}"


def _titled(name: str) -> str:
    return f"“{TITLES[name]}”" if name in TITLES and ("_" in name or name in _SYMBOLS) else name
