"""Which family holds: evidence, probabilities under equal weights beforehand, and when it is too early to tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import Transform
from dither_client.posterior.wire import FamilyEvidence
from dither_estimator.families import FloatArray
from dither_estimator.particles.evidence import Evidence

__all__ = ["CANNOT_TELL", "Comparison", "compare"]

CANNOT_TELL = "cannot tell yet"

_SURE = 0.95
"""A family is preferred when its probability is above this, with the Monte Carlo errors against it."""
_ERRORS = 2.0
"""How many standard errors of each log ratio are held against the leading family."""


@dataclass(frozen=True)
class Comparison:
    """Families in the order in which they were given, and which of them is preferred, in words."""

    families: tuple[FamilyEvidence, ...]
    verdict: str


def compare(names: Sequence[tuple[str, Transform]], evidences: Sequence[Evidence]) -> Comparison:
    """The comparison of families, each with a name and a transform, that weighed the same before the answers."""
    logs = np.array([evidence.log for evidence in evidences])
    errors = np.array([evidence.error for evidence in evidences])
    probabilities = np.exp(logs - np.logaddexp.reduce(logs))
    rows = zip(names, evidences, probabilities.tolist(), strict=True)
    families = tuple(FamilyEvidence(*name, evidence.log, evidence.error, share) for name, evidence, share in rows)
    return Comparison(families, _verdict(names, logs, errors))


def _verdict(names: Sequence[tuple[str, Transform]], logs: FloatArray, errors: FloatArray) -> str:
    leader = int(np.argmax(logs))
    against = logs - logs[leader] + _ERRORS * np.hypot(errors, errors[leader])
    against[leader] = 0.0
    if np.exp(-np.logaddexp.reduce(against)) <= _SURE:
        return CANNOT_TELL
    family, transform = names[leader]
    return f"{family} with transform {transform}"
