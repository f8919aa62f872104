"""The languages that a reader asks for, and the best of those that are offered."""

import re
from collections.abc import Iterable, Sequence

__all__ = ["best_language", "preferred_languages"]

_MAX_HEADER = 1_000
"""Characters of `Accept-Language` that are read: browsers send a few dozen."""
_RANGE = re.compile(r"([a-z]{2,3})(?:-[a-z0-9-]+)?(?:\s*;\s*q=([01](?:\.[0-9]{0,3})?))?")


def preferred_languages(accept_language: str | None) -> list[str]:
    """The languages of an `Accept-Language` header, best first, such as `["de", "en"]`; without regions.

    What is no language range, and what has the weight 0, is left out.
    """
    weights: dict[str, float] = {}
    for part in (accept_language or "")[:_MAX_HEADER].lower().split(","):
        if found := _RANGE.fullmatch(part.strip()):
            language, weight = found[1], float(found[2] or 1)
            weights[language] = max(weight, weights.get(language, 0))
    return [language for language in sorted(weights, key=lambda each: -weights[each]) if weights[language]]


def best_language(preferred: Iterable[str], offered: Sequence[str]) -> str:
    """The first language that is preferred and offered; without one, the first that is offered."""
    return next((language for language in preferred if language in offered), offered[0])
