"""Which family holds: evidence, posterior probabilities under equal prior weights, and when it is too early to tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import Transform
from dither_client.posterior.sentences import CANNOT_TELL, REFUSED_LOG_ODDS
from dither_client.posterior.wire import NO_FAMILY, FamilyEvidence
from dither_estimator.families import FloatArray
from dither_estimator.particles.evidence import Evidence

__all__ = ["NONE_OF_THESE", "Comparison", "compare"]

NONE_OF_THESE = "none of these"

_PREFERRED_ABOVE = 0.95
"""A family is preferred if its probability exceeds this even with the Monte Carlo errors held against it."""
_STANDARD_ERRORS = 2.0
"""How many standard errors of each log ratio are held against the leading family."""


@dataclass(frozen=True)
class Comparison:
    """Families in the order in which they were given, and in words which of them is preferred."""

    families: tuple[FamilyEvidence, ...]
    verdict: str


def compare(
    names: Sequence[tuple[str, Transform]], evidences: Sequence[Evidence], of: Sequence[str | None] = ()
) -> Comparison:
    """Compare families, each given by name and transform, under equal prior weights; `NO_FAMILY` may be one.

    `of` says in words what each describes, if not the values themselves.
    """
    logs = np.array([evidence.log for evidence in evidences])
    errors = np.array([evidence.error for evidence in evidences])
    probabilities = np.exp(logs - np.logaddexp.reduce(logs))
    rows = zip(names, evidences, probabilities.tolist(), of or [None] * len(names), strict=True)
    families = tuple(FamilyEvidence(*name, each.log, each.error, share, what) for name, each, share, what in rows)
    return Comparison(families, _verdict(families, logs, errors))


def _verdict(families: Sequence[FamilyEvidence], logs: FloatArray, errors: FloatArray) -> str:
    none = np.array([each.family == NO_FAMILY for each in families])
    if none.any() and (logs[~none] < logs[none].max() - REFUSED_LOG_ODDS).all():
        return NONE_OF_THESE
    leader = int(np.argmax(logs))
    against = logs - logs[leader] + _STANDARD_ERRORS * np.hypot(errors, errors[leader])
    against[leader] = 0.0
    if np.exp(-np.logaddexp.reduce(against)) <= _PREFERRED_ABOVE:
        return CANNOT_TELL
    best = families[leader]
    if best.family == NO_FAMILY:
        return NONE_OF_THESE
    return f"{best.family} with transform {best.transform}" + (f", of {best.of}" if best.of else "")
