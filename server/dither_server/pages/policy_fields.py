"""The fields of the form for a new collection that say how questions are chosen.

The field `policy` is a choice; where it is `fixed`, the fields `policy_low` and `policy_high` have the two values that
every question lies between. A policy as the programming interface has it, such as `fixed:1:2`, is taken as it is.
"""

import math
from collections.abc import Mapping

from dither_estimator.specification.fields import NONPARAMETRIC
from dither_estimator.specification.specification import SpecificationError
from dither_server.pages.typed_fields import number_in

__all__ = ["POLICIES", "POLICY_TITLES", "policy_of"]

_FIXED = "fixed"

POLICIES: Mapping[str, str] = {
    "": "By the answers so far",
    "thompson": "By the answers, with random draws",
    _FIXED: "Always the same question",
}
"""What the policies are called; the empty one leaves the choice to the server, which takes `adaptive`."""

POLICY_TITLES: Mapping[str, str] = {
    "policy": "How the next question is chosen",
    "policy_low": "The same question from",
    "policy_high": "the same question to",
}
"""What the fields are called."""


def policy_of(form: Mapping[str, str]) -> str | None:
    """The policy as a specification has it; None if none is chosen. Raises `SpecificationError`."""
    if form.get("policy") != _FIXED:
        return form.get("policy")
    low, high = (_end(form, name) for name in ("policy_low", "policy_high"))
    if not low < high:
        raise SpecificationError("policy_low must be below policy_high")
    return ":".join([_FIXED, *(repr(end).removesuffix(".0") for end in (low, high))])


def _end(form: Mapping[str, str], name: str) -> float:
    """The value in the field, on the scale on which the family holds: without a family, in its own units."""
    value = number_in(form.get(name, ""), f"{name} must be a number, such as 100 or -2.5")
    if form.get("transform") != "log" or form.get("family", NONPARAMETRIC.name) == NONPARAMETRIC.name:
        return value
    if value <= 0:
        raise SpecificationError(f"{name} must be above 0 where values compare by ratios")
    return math.log(value)
