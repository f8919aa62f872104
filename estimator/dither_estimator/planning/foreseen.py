"""What simulated collections know after more and more answers, and how many they need for what they shall know."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dither_estimator.design.design import DesignError

__all__ = ["MAX_RESPONDENTS", "Foreseen", "check_enough", "enough", "first_enough", "medians", "sds_at", "shared"]

MAX_RESPONDENTS = 1_000_000_000
"""Simulated plans for more respondents than this are refused."""


@dataclass(frozen=True)
class Foreseen:
    """What a collection knows after so many answers."""

    answers: int
    sds: Mapping[str, float]


def shared(number: int, parts: int) -> list[int]:
    """The number in parts that differ by at most one."""
    return [number // parts + (part < number % parts) for part in range(parts)]


def enough(known: Foreseen, targets: Mapping[str, float]) -> bool:
    """Whether no standard deviation is above its target."""
    return all(known.sds[name] <= target for name, target in targets.items())


def check_enough(known: Foreseen, targets: Mapping[str, float]) -> None:
    """Raises `DesignError` unless the last that a collection knows is enough."""
    if targets and not enough(known, targets):
        raise DesignError(f"this precision would need more than {MAX_RESPONDENTS:,} respondents")


def first_enough(known: Sequence[Foreseen], targets: Mapping[str, float]) -> float:
    """The number of answers at which all targets are first reached, between the last two looks."""
    before, last = known[-2:]
    if enough(before, targets):
        return before.answers
    return max(
        before.answers * (target / before.sds[name]) ** (1 / _power(name, before, last))
        for name, target in targets.items()
        if before.sds[name] > target
    )


def sds_at(number: int, known: Sequence[Foreseen]) -> dict[str, float]:
    """The standard deviations after a number of answers near those of the last two looks."""
    before, last = known[-2:]
    return {name: sd * (number / last.answers) ** _power(name, before, last) for name, sd in last.sds.items()}


def medians(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each number over several collections."""
    return {name: median(each[name] for each in found) for name in found[0]}


def _power(name: str, before: Foreseen, last: Foreseen) -> float:
    """The power of the number of answers that a standard deviation is, from one look to the next."""
    falls = before.sds[name] > last.sds[name] > 0
    return math.log(last.sds[name] / before.sds[name]) / math.log(last.answers / before.answers) if falls else -0.5
