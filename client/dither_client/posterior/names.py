"""What distributions, mechanisms and numbers of a population are called, for people.

Families are named here, and not by their own classes, because the client reads posteriors where no estimator is
installed. A family that is not named here is called as in a specification.
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dither_client.mechanisms.epsilon import listed, parse_epsilon
from dither_client.mechanisms.registry import QUERY_TYPES
from dither_client.typed_numbers import written

__all__ = [
    "SHARES_LEAN",
    "UNASSUMED",
    "a_distribution",
    "answers_text",
    "assumption",
    "distribution_name",
    "has_log_median",
    "is_yes_or_no",
    "mechanism_name",
    "moment",
    "number_name",
    "period_name",
    "term_text",
    "what_was_learnt",
]

_MEDIAN = "quantile_0.5"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_LARGEST_INTEGER = 1e15
"""Larger numbers among the terms have exponents."""
_SYMMETRIC = ("normal", "laplace", "logistic", "student_t")
"""The families whose `mu` is the median on the scale on which they hold."""
_NAMES = {
    ("normal", "log"): "lognormal",
    ("laplace", "identity"): "Laplace",
    ("laplace", "log"): "log-Laplace",
    ("logistic", "log"): "log-logistic",
    ("student_t", "identity"): "Student t",
    ("student_t", "log"): "log Student t",
    ("gumbel", "identity"): "Gumbel",
    ("gumbel", "log"): "log-Gumbel",
    ("weibull", "identity"): "Weibull",
    ("bernoulli", "identity"): "Bernoulli",
    ("poisson", "identity"): "Poisson",
}
"""What families are called on each scale, where that is not the name that they have in a specification."""
SHARES_LEAN = (
    "Each share leans on the others: one that is much smaller or larger than most is told nearer to them than it is, "
    "unless there are many answers."
)
"""What shares of categories lean on: their prior, which learns how unequal shares are, as one number for all."""
UNASSUMED = {
    "categorical": f". {SHARES_LEAN}",
    "bernoulli": ", and on no assumption about the share.",
    "nonparametric": ". The distribution may have any shape that is fairly smooth.",
}
"""The families that hold whatever the population is, and how a sentence that says what was learnt goes on."""


def distribution_name(family: str, transform: str) -> str:
    """A family on its scale as its distribution is called in words: `lognormal`, `log-logistic`, `Poisson`."""
    name, _, degrees = family.partition(":")
    called = _NAMES.get((name, transform), name.replace("_", " "))
    return f"{called} with {degrees} degrees of freedom" if degrees else called


def a_distribution(family: str, transform: str) -> str:
    """A family on its scale with its article: `a normal distribution`, `an exponential distribution`."""
    name = distribution_name(family, transform)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} distribution"


def mechanism_name(mechanism: str) -> str:
    """A mechanism in words: `Laplace`, `randomized response`."""
    kind = QUERY_TYPES.get(mechanism)
    return (kind and kind.in_words) or mechanism.replace("_", " ")


def has_log_median(family: str, transform: str) -> bool:
    """Whether the family's `mu` is the logarithm of the population's median."""
    return transform == "log" and family.partition(":")[0] in _SYMMETRIC


def is_yes_or_no(family: str) -> bool:
    """Whether people have 0 or 1."""
    return family == "bernoulli"


def number_name(name: str) -> str:
    """A number of the population in words: `quantile_0.1` is what 10% have at most."""
    if name == "mean_value":
        return "Average"
    if name == _MEDIAN:
        return "Half have at most"
    if not name.startswith("quantile_"):
        return name
    return f"{100 * float(name.removeprefix('quantile_')):.10g}% have at most"


def period_name(kind: str, label: str) -> str:
    """A calendar period of some kind as sentences name it: `2026-02-14`, `the week 2026-W07`."""
    return label if kind == "day" else f"the {kind} {label}"


def answers_text(answers: int) -> str:
    """A number of answers: `1,204 answers`."""
    return f"{answers:,} answer{'' if answers == 1 else 's'}"


def what_was_learnt(
    answers: int, by_epsilon: Mapping[Fraction, int] | Mapping[str, int] | None = None, members: int = 0
) -> str:
    """How much was learnt: `1,204 answers at ε = 1`, and what institutions counted of so many members.

    Of `by_epsilon`, how many answers came at each ε, those are told at which some came.
    """
    learnt = answers_text(answers)
    if known := listed(parse_epsilon(epsilon) for epsilon, number in (by_epsilon or {}).items() if number):
        learnt += f" at ε = {known}"
    if members:
        counts = f"the counts of {members:,} members of institutions"
        learnt = f"{learnt} and {counts}" if answers else counts
    return learnt


def assumption(family: str, transform: str) -> str:
    """What is assumed of the values, as a clause; empty where the distribution may be any, or any smooth one."""
    return "" if family in UNASSUMED else f"the values follow {a_distribution(family, transform)}"


def moment(time: str) -> str:
    """An RFC 3339 time in UTC to the minute: `2026-01-31 12:00 UTC`."""
    return f"{time[:10]} {time[11:16]} UTC"


def term_text(value: Any) -> str:
    """One of a collection's terms: a yes or no, a number, a time, a list, or what else it is as JSON has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return written(value)
    if isinstance(value, str) and _TIME.fullmatch(value):
        return moment(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value):
        texts = [term_text(each) for each in value]
        return ("; " if any("," in text for text in texts) else ", ").join(texts)
    value = _plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _plain(value: Any) -> Any:
    """The value with whole numbers as people write them: 0, not 0.0."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_INTEGER else value
