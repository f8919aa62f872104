"""The fields of the form for a new collection that say what to learn best.

The field `goal_of` is a choice, and `goal` has its numbers as people write them: `10%, 50%, 90%`, or with a weight for
each, `50%: 2`. With no choice, `goal` is taken as the programming interface has it, such as `quantiles=0.5,0.9`.
"""

from collections.abc import Mapping
from typing import Any

from dither_estimator.specification.specification import SpecificationError
from dither_server.pages.typed_fields import number_in, parts_in, share_in

__all__ = ["GOALS", "GOAL_TITLES", "goal_of"]

_WHOLE = "distribution"

GOALS: Mapping[str, str] = {
    "": "All that describes the shape",
    _WHOLE: "The whole distribution",
    "quantiles": "Quantiles, such as the median",
    "above": "Shares above given values",
    "parameters": "Some parameters of the shape",
}
"""What the goals are called; the empty one leaves the choice to the server."""

GOAL_TITLES: Mapping[str, str] = {"goal_of": "What to learn best", "goal": "Which of them"}
"""What the fields are called."""

_EXAMPLES: Mapping[str, str] = {
    "quantiles": "shares, such as 10%, 50%, 90%",
    "above": "values, such as 1000, 2000",
    "parameters": "parameters, such as mu, or mu: 1, sigma: 2 with a weight for each",
}


def goal_of(form: Mapping[str, str]) -> str | dict[str, Any] | None:
    """The goal as a specification has it; None if none is given. Raises `SpecificationError`."""
    kind, text = form.get("goal_of", ""), form.get("goal", "")
    if kind not in GOALS:
        raise SpecificationError(f"goal_of must be one of {', '.join(filter(None, GOALS))}")
    if kind == _WHOLE:
        if text:
            raise SpecificationError("goal must be empty for the whole distribution")
        return kind
    if not kind or "=" in text:
        return text or None
    wrong = f"goal must have {_EXAMPLES[kind]}"
    named: dict[str, float] = {}
    for part in parts_in(text):
        name, _, weight = (piece.strip() for piece in part.partition(":"))
        own = name if kind == "parameters" else f"{_number(kind, name, wrong)!r}"
        if not own or own in named:
            raise SpecificationError(wrong)
        named[own] = number_in(weight, wrong) if weight else 1.0
    return named if kind == "parameters" else {kind: named}


def _number(kind: str, text: str, wrong: str) -> float:
    return share_in(text, wrong) if kind == "quantiles" else number_in(text, wrong)
