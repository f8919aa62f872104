"""Who could learn a respondent's value or answer, and what is not hidden: of one collection on this server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Exposure", "exposures", "unhidden"]

_TELLING = 3
"""From this ε on the best guess of one of two values is right for 95 of 100, and an answer as good as tells which."""


@dataclass(frozen=True)
class Exposure:
    """What somebody could learn of a respondent: names of texts in the catalogues."""

    who: str
    value: str
    answer: str


def exposures(terms: Mapping[str, Any], *, encrypted: bool) -> list[Exposure]:
    """What each of those who may try could learn, whether answers reach the server over https or not."""
    value = "almost" if _largest_epsilon(terms) >= _TELLING else "no"
    stored = "yes" if terms["keep_answers"] else "counted"
    return [
        Exposure("organisation", value, "yes"),
        Exposure("staff", value, "yes"),
        Exposure("analysts", value, stored),
        Exposure("thief", value, stored),
        Exposure("watcher", "no", "no") if encrypted else Exposure("watcher", value, "yes"),
    ]


def unhidden(terms: Mapping[str, Any]) -> Iterator[str]:
    """The names of the sentences about what is not hidden; they may name `group`, `answer_days` and `days`."""
    yield "part_invited" if terms["admission"] == "invite" else "part"
    if terms["groups"]:
        yield "grouped"
    if terms["epsilon_choices"]:
        yield "chosen"
    yield "address"
    if terms["keep_answers"]:
        yield "kept" if terms["keep_answers_days"] is None else "kept_for_days"
    else:
        yield "dropped"
    if terms["keep_days"] is not None:
        yield "removed"
    yield f"results_{terms['visibility']}"
    yield "browser"


def _largest_epsilon(terms: Mapping[str, Any]) -> float:
    return max(float(epsilon) for epsilon in terms["epsilon_choices"] or [terms["epsilon"]])
