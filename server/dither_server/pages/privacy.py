"""What an answer costs, and what respondents are told of their privacy: one rule for all pages and the report."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.digits import rounded
from dither_estimator.specification.specification import Specification

__all__ = ["panel_cost", "privacy_sentences", "times", "whole_cost"]

_COMPARED = {
    False: "It is compared with a few thresholds",
    True: "The group of categories that it belongs to is looked up",
}
"""What happens to a value on the device, by whether it is a category."""


def times(epsilon: float | Fraction) -> str:
    """How many times as likely an answer is at most for one person as for another one."""
    ratio = math.exp(epsilon)
    return rounded(ratio, 3 if ratio < 100 else 2)


def whole_cost(specification: Specification) -> str | None:
    """The ε of all answers of somebody in a panel; None without one."""
    panel = specification.panel
    return None if panel is None else epsilon_text(panel.answers * specification.epsilon)


def panel_cost(specification: Specification) -> str | None:
    """What an answer and all answers of a person cost, for those who read results; None where people answer once."""
    if not _several(specification):
        return None
    each = epsilon_text(specification.epsilon)
    return f"ε = {each} for each answer and {whole_cost(specification)} in all for each person"


def privacy_sentences(specification: Specification, terms: Mapping[str, Any]) -> list[str]:
    """The terms as a respondent reads them."""
    held = f"Your value stays on your device. {_COMPARED[bool(specification.categories)]} there"
    if specification.components:
        names = ", ".join(each.name for each in specification.components)
        held = f"Your numbers ({names}) stay on your device. One or a few of them are compared with thresholds there"
    each_time = " each time" if _several(specification) else ""
    sentences = [f"{held}, noise is added, and one answer is sent{each_time}.", _cost(specification)]
    if terms["notice"] is not None:
        sentences.append(terms["notice"])
    sentences.append(
        "Each answer is kept with its noise, its question and its time, and without a name."
        if terms["keep_answers"]
        else "Answers are counted and then dropped."
    )
    if terms["keep_answers_days"] is not None or terms["keep_days"] is not None:
        sentences.append(terms["retention"])
    sentences.append(
        "The result is public."
        if terms["visibility"] == "public"
        else "Only the analysts of this collection see the result."
    )
    return sentences


def _several(specification: Specification) -> bool:
    """Whether each person answers several times."""
    return specification.panel is not None and specification.panel.answers > 1


def _cost(specification: Specification) -> str:
    """What an answer costs; what all of a panel do is in the notice."""
    least, most = specification.epsilon_choices[0], specification.epsilon_choices[-1]
    epsilon, odds = epsilon_text(least), times(least)
    if least < most:
        epsilon, odds = f"{epsilon} to {epsilon_text(most)}, as you choose", f"{odds} to {times(most)}"
    several = _several(specification)
    return (
        f"{'Each' if several else 'The'} answer costs ε = {epsilon}: whatever it is, it is at most {odds} times as "
        f"likely for you as for anyone else.{'' if several else ' You can answer once.'}"
    )
